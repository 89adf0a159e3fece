import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { certificateWarnings, readCertificate, watchCertificate } from '../../src/server/certificate.ts'
import { cli, startCli, startServer, testFolder } from '../cli/support.ts'
import { CERTIFICATE, KEY } from '../egress/certificate.ts'
import { readAnswer } from '../http/support.ts'
import { freshDatabase, postgresUrl } from '../support/postgres.ts'
import { SECOND_CERTIFICATE, SECOND_KEY } from './certificates.ts'

vi.setConfig({ testTimeout: 30_000 })

const API_KEY = 'a-shared-key-for-tests'

/** The files of a certificate, which `replace` overwrites. */
function certificateIn(folder: string, minVersion: 'TLSv1.2' | 'TLSv1.3' = 'TLSv1.2') {
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem'), minVersion }
  const replace = (cert: string, key: string) => {
    writeFileSync(files.cert, cert)
    writeFileSync(files.key, key, { mode: 0o600 })
  }
  replace(CERTIFICATE, KEY)
  return { files, replace }
}

function temporaryCertificate() {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-tls-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return certificateIn(folder)
}

async function connection(url: string, options: object = {}): Promise<TLSSocket> {
  const socket = connect({
    host: '127.0.0.1',
    port: Number(new URL(url).port),
    ca: [CERTIFICATE, SECOND_CERTIFICATE],
    ...options,
  })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

const nameOf = (socket: TLSSocket) => socket.getPeerCertificate().subject.CN

describe('a server with a certificate', () => {
  /** A server with TLS in its own folder, and the variables by which clients trust it. */
  async function serve(env: Record<string, string> = {}, options: readonly string[] = []) {
    const home = testFolder()
    const { files, replace } = certificateIn(home)
    const settings = {
      ASYNCGATE_API_KEY: API_KEY,
      ASYNCGATE_TLS_CERT_FILE: files.cert,
      ASYNCGATE_TLS_KEY_FILE: files.key,
      ...env,
    }
    const server = await startServer(['serve', ...options], home, settings)
    onTestFinished(async () => void (await server.stop()))
    return { home, server, replace, settings, trust: { NODE_EXTRA_CA_CERTS: files.cert } }
  }

  it('announces https, sends HSTS, and marks the console cookie as secure', async () => {
    const { server } = await serve({ ASYNCGATE_ADMIN_KEYS: 'anna=the-key-of-anna-0001' })
    expect(server.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    const send = async (method: string, path: string, body = '') => {
      const sent = request(`${server.url}${path}`, {
        method,
        ca: CERTIFICATE,
        agent: new Agent(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
      sent.end(body)
      return readAnswer((await once(sent, 'response'))[0])
    }
    expect((await send('GET', '/health')).headers).toMatchObject({
      'strict-transport-security': 'max-age=31536000; includeSubDomains',
    })
    const signedIn = await send('POST', '/console/login', 'key=the-key-of-anna-0001')
    expect(signedIn.headers['set-cookie']?.[0]).toMatch(
      /^__Host-asyncgate_console_.*; Path=\/; .*; HttpOnly; SameSite=Strict; Secure$/,
    )
  })

  it('is found and used by commands that trust its authority, and others learn what to do', async () => {
    const { home, trust } = await serve()
    const key = { ASYNCGATE_API_KEY: API_KEY }
    const listed = await startCli(['tasks', 'list', '--as', 'agent:a'], home, { ...key, ...trust }).ended
    expect(listed).toMatchObject({ code: 0 })
    const refused = await startCli(['tasks', 'list', '--as', 'agent:a'], home, key).ended
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toContain('is not trusted')
    expect(refused.stderr).toContain('NODE_EXTRA_CA_CERTS')
  })

  it('uses a new certificate after SIGHUP, and keeps open connections', async () => {
    const { server, replace } = await serve()
    const before = await connection(server.url)
    expect(nameOf(before)).toBe('site.test')
    replace(SECOND_CERTIFICATE, SECOND_KEY)
    server.process.kill('SIGHUP')
    await vi.waitFor(async () => expect(nameOf(await connection(server.url))).toBe('second.test'))
    before.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const [answer] = await once(before, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 OK/)
  })

  it.skipIf(!postgresUrl())('passes SIGHUP on to all of its processes', async () => {
    const database = await freshDatabase('tls')
    onTestFinished(() => database.drop())
    const { server, replace } = await serve({ ASYNCGATE_DATABASE_URL: database.url }, ['--processes', '2'])
    replace(SECOND_CERTIFICATE, SECOND_KEY)
    server.process.kill('SIGHUP')
    await vi.waitFor(async () => {
      // Connections are distributed among the processes in turn.
      for (let n = 0; n < 4; n++) expect(nameOf(await connection(server.url))).toBe('second.test')
    }, 4000)
  })

  it('keeps the certificate in use if the new one is broken, and logs it', async () => {
    const { server, replace } = await serve()
    replace(SECOND_CERTIFICATE, KEY)
    server.process.kill('SIGHUP')
    let log = ''
    server.process.stderr?.on('data', (text) => {
      log += text
    })
    await vi.waitFor(() => expect(log).toContain('the one before stays in use'), 5000)
    expect(nameOf(await connection(server.url))).toBe('site.test')
  })

  it('refuses TLS 1.1 always and TLS 1.2 on request', async () => {
    const usual = await serve()
    expect((await connection(usual.server.url, { maxVersion: 'TLSv1.2' })).getProtocol()).toBe('TLSv1.2')
    const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }
    await expect(connection(usual.server.url, old)).rejects.toThrow()
    const strict = await serve({ ASYNCGATE_TLS_MIN_VERSION: '1.3' })
    expect((await connection(strict.server.url)).getProtocol()).toBe('TLSv1.3')
    await expect(connection(strict.server.url, { maxVersion: 'TLSv1.2' })).rejects.toThrow()
  })

  it('does not start with files that do not match, and doctor says why', async () => {
    const folder = testFolder()
    const { files, replace } = certificateIn(folder)
    const env = {
      ASYNCGATE_API_KEY: API_KEY,
      ASYNCGATE_TLS_CERT_FILE: files.cert,
      ASYNCGATE_TLS_KEY_FILE: files.key,
      ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
    }
    expect((await cli(['doctor', '--port', '0'], env)).stdout).toMatch(
      /tls +ok {2}DNS:site\.test.*2120-01-01/,
    )
    replace(CERTIFICATE, SECOND_KEY)
    const served = await cli(['serve', '--port', '0'], env)
    expect(served.code).not.toBe(0)
    expect(served.stderr).toContain('are not a certificate and its private key')
    expect((await cli(['doctor', '--port', '0'], env)).stdout).toMatch(/tls +FAILED.*are not a certificate/)
    const { ASYNCGATE_TLS_KEY_FILE: _, ...half } = env
    expect((await cli(['serve'], half)).stderr).toContain('TLS_CERT_FILE needs TLS_KEY_FILE.')
  })
})

describe('certificate files', () => {
  it('are read again when they change', async () => {
    const { files, replace } = temporaryCertificate()
    const used: string[] = []
    const watch = watchCertificate(files, {
      use: ({ names }) => used.push(names),
      onError: (error) => used.push(String(error)),
      pollMs: 20,
    })
    onTestFinished(() => watch.stop())
    expect(watch.initial.names).toContain('site.test')
    replace(SECOND_CERTIFICATE, SECOND_KEY)
    await vi.waitFor(() => expect(used).toEqual([expect.stringContaining('second.test')]), 5000)
  })

  it('give warnings if the certificate has expired or others may read the key', () => {
    const { files } = temporaryCertificate()
    const warnings = (now?: number) => certificateWarnings(readCertificate(files), files, now)
    expect(warnings()).toEqual([])
    expect(warnings(Date.UTC(2119, 11, 25))).toEqual([expect.stringContaining('expires on 2120-01-01')])
    expect(warnings(Date.UTC(2120, 0, 2))).toEqual([expect.stringContaining('expired on 2120-01-01')])
    chmodSync(files.key, 0o644)
    expect(warnings()).toEqual([expect.stringContaining('chmod 600')])
  })
})
