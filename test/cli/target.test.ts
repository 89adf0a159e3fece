import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { isProof, PROOF_HEADER } from '../../src/auth/local-proof.ts'
import { hintFor, refusal } from '../../src/cli/refusal.ts'
import { findTarget } from '../../src/cli/target.ts'
import { GateError } from '../../src/client/gate-error.ts'
import { ERRORS } from '../../src/core/errors.ts'
import { OPERATIONS } from '../../src/features/catalogue.ts'
import { openLocalKey } from '../../src/server/local-key.ts'
import { runningServers, writeServerFile } from '../../src/server/server-file.ts'
import { cli, startCli, startServer, testFolder } from './support.ts'

const DEFAULT = 'http://127.0.0.1:8080'
const asked = { url: undefined, key: undefined }

afterEach(() => {
  vi.unstubAllEnvs()
})

/** A fake AsyncGate without tasks, which records the keys that it receives. */
async function listener() {
  const keys: (string | undefined)[] = []
  const proofs: (string | undefined)[] = []
  const server = createServer(({ url, headers }, response) => {
    response.setHeader('content-type', 'application/json')
    const isHealth = url?.startsWith('/health')
    if (!isHealth) {
      keys.push(headers.authorization)
      proofs.push(headers[PROOF_HEADER]?.toString())
    }
    response.end(isHealth ? '{"status":"healthy","version":"1.0.0"}' : '{"tasks":[],"next_cursor":null}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}`, port, keys, proofs }
}

function record(folder: string, content: object): void {
  mkdirSync(folder, { recursive: true })
  const whole = { pid: process.pid, started_at: new Date().toISOString(), ...content }
  writeFileSync(join(folder, 'server.json'), JSON.stringify(whole))
}

/** A data folder that the settings name. */
function dataOf(): string {
  const data = testFolder()
  vi.stubEnv('ASYNCGATE_DATABASE_URL', `sqlite:${join(data, 'asyncgate.db')}`)
  return data
}

describe('the server file', () => {
  it('the server file is private, is found by commands, and is removed when the server stops', async () => {
    const home = testFolder()
    const server = await startServer(['dev'], home)
    const file = join(home, '.asyncgate', 'server.json')
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      url: server.url,
      pid: server.process.pid,
      started_at: expect.stringMatching(/Z$/),
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const created = await startCli(['tasks', 'create', 'echo', '--json'], home).ended
    expect(created).toMatchObject({ code: 0, stderr: '' })
    await server.stop()
    expect(existsSync(file)).toBe(false)
  })

  it('the server file is not replaced or removed by a second server', async () => {
    const folder = testFolder()
    const first = await listener()
    record(folder, { url: first.url, pid: process.ppid })
    const remove = await writeServerFile(join(folder, 'server.json'), { url: DEFAULT })
    remove()
    expect(await runningServers(folder)).toMatchObject([{ url: first.url }])
  })

  it('the server file contains an address that accepts connections', async () => {
    const folder = testFolder()
    const path = join(folder, 'server.json')
    await writeServerFile(path, { url: 'http://0.0.0.0:8123' })
    expect(JSON.parse(readFileSync(path, 'utf8')).url).toBe('http://127.0.0.1:8123')
  })
})

describe('commands without a URL', () => {
  it('a command uses the server that runs in its folder', async () => {
    const { url } = await listener()
    record(dataOf(), { url })
    expect(await findTarget(asked)).toEqual({ url, key: null, option: '' })
  })

  it.each([
    ['of a dead process', { url: 'http://127.0.0.1:9', pid: 2 ** 22 + 1 }],
    ['of a server that does not respond', { url: 'http://127.0.0.1:9' }],
    ['that is damaged', { url: 'nowhere' }],
  ])('a command ignores a server file %s', async (_, content) => {
    record(dataOf(), content)
    expect(await findTarget(asked)).toMatchObject({ url: DEFAULT })
  })

  it('the order is --url, ASYNCGATE_URL, the settings of the server, a running server', async () => {
    const { url } = await listener()
    const data = dataOf()
    record(data, { url })
    const file = join(data, 'settings.yaml')
    writeFileSync(file, 'host: 0.0.0.0\nport: 8123\n')
    expect(await findTarget({ ...asked, file })).toMatchObject({ url: 'http://127.0.0.1:8123' })
    vi.stubEnv('ASYNCGATE_URL', 'http://127.0.0.1:8124/')
    expect(await findTarget({ ...asked, file })).toMatchObject({ url: 'http://127.0.0.1:8124', option: '' })
    expect(await findTarget({ ...asked, file, url: 'http://localhost:8125' })).toMatchObject({
      url: 'http://localhost:8125',
      option: ' --url http://localhost:8125',
    })
  })

  it('port 0 of the settings is ignored', async () => {
    const { url } = await listener()
    const data = dataOf()
    record(data, { url })
    const file = join(data, 'settings.yaml')
    writeFileSync(file, 'port: 0\n')
    expect(await findTarget({ ...asked, file })).toMatchObject({ url })
  })

  it('an invalid URL is reported', async () => {
    const { code, stderr } = await cli(['tasks', 'list', '--url', 'elsewhere'])
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('"elsewhere" is not a URL.'),
    })
  })
})

describe('stored keys', () => {
  it('the key of the config file is sent only to the server of that file', async () => {
    const data = dataOf()
    const file = join(data, 'settings.yaml')
    const theirs = await listener()
    writeFileSync(file, `port: 8123\napi_key: a-key-of-the-file\n`)
    expect(await findTarget({ ...asked, file })).toMatchObject({ key: 'a-key-of-the-file' })
    const same = await findTarget({ ...asked, file, url: 'http://localhost:8123' })
    expect(same.key).toBe('a-key-of-the-file')
    const other = await findTarget({ ...asked, file, url: theirs.url })
    expect(other).toMatchObject({ key: null, withheld: expect.stringContaining('was not sent') })
    vi.stubEnv('ASYNCGATE_API_KEY', 'a-key-that-was-given')
    expect((await findTarget({ ...asked, file, url: theirs.url })).key).toBe('a-key-that-was-given')
  })

  it('the key of the user is not sent, only a proof for that address', async () => {
    const home = testFolder()
    const ours = await listener()
    vi.stubEnv('ASYNCGATE_CONFIG_DIR', join(home, 'config'))
    const { key } = openLocalKey(() => {})
    const env = { ASYNCGATE_CONFIG_DIR: join(home, 'config') }
    const list = (...args: string[]) => startCli(['tasks', 'list', ...args], home, env).ended
    expect(await list('--url', ours.url.replace('127.0.0.1', 'localhost'))).toMatchObject({ code: 0 })
    expect(await list('--url', ours.url, '--as', 'agent:alice')).toMatchObject({ code: 0 })
    expect(ours.keys).toEqual([undefined, undefined])
    const [proof = '', forAgent] = ours.proofs
    expect(forAgent).toBeUndefined()
    expect(proof).not.toContain(key)
    const [now, startedAt] = [Date.now(), 0]
    const at = { address: '127.0.0.1', port: ours.port }
    expect(isProof(proof, key, at, { now, startedAt })).toBe(true)
    expect(isProof(proof, key, { ...at, port: at.port + 1 }, { now, startedAt })).toBe(false)
  })

  it('the key of the user is not used for a server on another machine', async () => {
    vi.stubEnv('ASYNCGATE_CONFIG_DIR', join(testFolder(), 'config'))
    openLocalKey(() => {})
    const of = (url: string) => findTarget({ ...asked, url, isPerson: true })
    expect(await of('http://gate.example:8080')).not.toHaveProperty('local')
    expect(await of('https://127.0.0.1:8080')).not.toHaveProperty('local')
    expect(await of('http://127.0.0.1:8080')).toHaveProperty('local')
    expect(await of('http://[::1]:8080')).toMatchObject({ local: { at: { address: '::1', port: 8080 } } })
  })
})

describe('hints of server errors', () => {
  it('a hint names commands and printed details, never an operation or a field of the API', () => {
    const operations = OPERATIONS.map(({ name }) => name).filter((name) => name.includes('_'))
    const foreign = Object.entries(ERRORS).filter(([code, { hint }]) => {
      const shown = hintFor(code) ?? hint
      return shown.includes('details.') || operations.some((name) => shown.includes(name))
    })
    expect(foreign.map(([code]) => code)).toEqual([])
  })

  it('a hint includes the details of the server', async () => {
    const text = JSON.stringify({ code: 'FORBIDDEN', message: 'No.', details: { required_role: 'admin' } })
    const error = GateError.of({ status: 403, headers: new Headers(), text })
    expect(refusal(error)).toMatchObject({
      exitCode: 4,
      message: 'No. (FORBIDDEN)',
      hint: expect.stringMatching(/^ {2}required_role: admin\nUse a key with the required role/),
    })
  })
})
