import { readdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { GistApi } from '../../src/channels/gist-api.ts'
import { httpChannel } from '../../src/channels/http.ts'
import { guardedFetch } from '../../src/egress/fetch.ts'
import type { EgressSettings } from '../../src/egress/settings.ts'
import { guardedMcpFetch } from '../../src/gateway/transports/http-fetch.ts'
import { httpMemory } from '../../src/memory/http-memory.ts'
import { receiptGateClient } from '../../src/receiptgate/client.ts'
import { httpGet } from '../../src/reference-workers/http-get.ts'
import { documentFetcher } from '../../src/server/authorization-server.ts'
import { providerFetch } from '../../src/server/external-sign-in.ts'
import { jsonFetcher } from '../../src/server/oauth.ts'
import { postTo } from '../../src/webhooks/post.ts'
import { openTestGate, outcomeOf, work } from '../reference-workers/support.ts'
import { site } from './site.ts'
import { NAMES, TRICKS } from './tricks.ts'

vi.setConfig({ testTimeout: 60_000 })

const lookup = vi.hoisted(() => vi.fn())
vi.mock('node:dns/promises', async (original) => ({ ...(await original<object>()), lookup }))

beforeEach(() => {
  lookup.mockImplementation(async (name: string) => {
    const addresses = NAMES[name] ?? (/^localhost$/i.test(name) ? ['127.0.0.1', '::1'] : [])
    return addresses.map((address) => ({ address }))
  })
})

/** Only the rules about addresses protect. */
const OPEN: Partial<EgressSettings> = {
  allow_http: true,
  allowed_ports: 'any',
  allowed_private: ['allowed.test'],
  connect_timeout_ms: 1000,
}

/** A listener on every address of this machine. */
async function listener() {
  const connected: (string | undefined)[] = []
  const server = createServer((socket) => {
    connected.push(socket.localAddress)
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '::', resolve))
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port, connected }
}

async function readAll(content: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of content);
}

const TASK = '01234567-89ab-7def-8123-456789abcdef'
const memoryNote = {
  kind: 'observation',
  content: 'x',
  dedupe_key: 'x',
  principal_ai: 'x',
  domain: 'x',
  task_id: TASK,
  type: 'x',
  completed_at: '2026-01-01T00:00:00Z',
  encoding: 'text',
  media_type: 'text/plain',
  result_pointer: null,
} as const

const READING = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const

/** Requests to a URL that a caller, a worker or another server has named. */
const NAMED: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  'the guard': (url) => guardedFetch(url, { settings: OPEN }),
  'the result channel http': async (url) => {
    const found = await httpChannel({ egress: OPEN }).get(url.startsWith('http') ? url : `http:${url}`)
    return readAll(found.read())
  },
  'a file of a gist': (url) =>
    new GistApi({ token: 't', apiUrl: 'https://api.test', egress: OPEN }).raw(
      { raw_url: url, size: 1, truncated: true },
      1000,
    ),
  'an upstream': (url) =>
    guardedMcpFetch({
      origin: 'https://upstream.test',
      headers: {},
      egress: OPEN,
      connectTimeoutMs: 1000,
      maxBytes: 1000,
      exchange: () => undefined,
    })(url),
  'a document that an identity provider names': (url) => jsonFetcher('https://issuer.test', OPEN)(url),
  'a completion webhook': (url) =>
    postTo({ url, secret: 'a-secret-of-some-length', egress: OPEN, isGuarded: true })(
      { id: 'x', body: '{}' },
      AbortSignal.timeout(5000),
    ),
  'the metadata document of an OAuth client': (url) => documentFetcher(OPEN)(url),
  'an endpoint that an identity provider names': (url) =>
    providerFetch('https://issuer.test', OPEN)(url, READING),
}

/** Requests to a URL of the settings, which may be private. */
const CONFIGURED: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  'a webhook': (url) =>
    postTo({ url, secret: 'a-secret-of-some-length' })({ id: 'x', body: '{}' }, AbortSignal.timeout(5000)),
  'the memory': (url) => httpMemory({ url, onError: () => {} }).store(memoryNote),
  ReceiptGate: (url) => receiptGateClient({ url, token: null, timeoutMs: 5000 }).receiptsOf(TASK),
  'the gist API': (url) => new GistApi({ token: 't', apiUrl: url }).check(),
  'the result channel http': (url) =>
    httpChannel({ putUrl: url }).put(TASK, Buffer.from('x'), { media_type: 'text/plain' }),
  'an identity provider': (url) => jsonFetcher(url, {})(url),
  'an identity provider where people sign in': (url) => providerFetch(url, {})(url, READING),
}

describe.each(Object.entries(NAMED))('%s', (_name, request) => {
  it('connects to no address of this machine, however the URL is written', async () => {
    const { port, connected } = await listener()
    for (const trick of TRICKS) {
      const url = trick.replace('PORT', String(port))
      await expect(request(url), url).rejects.toThrow()
    }
    expect(connected).toEqual([])
  })

  it('connects where the operator allows it', async () => {
    const { port, connected } = await listener()
    await request(`http://allowed.test:${port}/`).catch(() => undefined)
    expect(connected).toHaveLength(1)
  })

  it('follows no redirect to this machine', async () => {
    const { port, connected } = await listener()
    for (const trick of TRICKS) {
      const location = encodeURI(trick.replace('PORT', String(port)).trim()).replaceAll('%0A', '')
      const from = await site((_, response) => response.writeHead(302, { location }).end())
      await request(`http://allowed.test:${from.port}/`).catch(() => undefined)
      expect(from.requests.length, location).toBeGreaterThan(0)
    }
    expect(connected).toEqual([])
  })
})

describe('http_get', () => {
  it('connects to no address of this machine, however the URL is written', async () => {
    const { port, connected } = await listener()
    const gate = await openTestGate()
    onTestFinished(() => gate.close())
    work(gate, [httpGet(OPEN)])
    for (const trick of TRICKS) {
      const url = trick.replace('PORT', String(port))
      const { status } = await outcomeOf(gate, 'http_get', { url }, { max_attempts: 1 })
      expect(status, url).toBe('failed')
    }
    expect(connected).toEqual([])
  })
})

describe.each(Object.entries(CONFIGURED))('%s of the settings', (_name, request) => {
  it('may be private, and redirects to nothing else', async () => {
    const { port, connected } = await listener()
    for (const status of [301, 302, 303, 307, 308]) {
      const location = `http://127.0.0.1:${port}/`
      const { url, requests } = await site((_, response) => response.writeHead(status, { location }).end())
      await request(`${url}/`).catch(() => undefined)
      expect(requests).toHaveLength(1)
    }
    expect(connected).toEqual([])
  })
})

describe('outgoing connections', () => {
  const root = fileURLToPath(new URL('../../src/', import.meta.url))
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  const filesWith = (pattern: RegExp) =>
    files.filter((name) => pattern.test(readFileSync(join(root, name), 'utf8'))).toSorted()

  it('every user of the guard is tested here', () => {
    expect(filesWith(/\bguardedFetch\(/)).toEqual([
      'channels/gist-api.ts',
      'channels/http.ts',
      'egress/fetch.ts',
      'gateway/transports/http-fetch.ts',
      'memory/service-request.ts',
      'receiptgate/client.ts',
      'reference-workers/http-get.ts',
      'server/authorization-server.ts',
      'server/external-sign-in.ts',
      'server/oauth.ts',
      'webhooks/post.ts',
    ])
  })

  it('only clients of AsyncGate and connections to hosts of the settings pass the guard by', () => {
    const direct =
      /(?<![.#\w])fetch\((?!\))|from 'undici'|\bnet\.connect\(|\btls\.connect\(|\bcreateConnection\(|\bhttps?\.request\(|\bcreateTransport\(|new ImapFlow\(|new S3Client\(|new WebSocket\(/
    expect(filesWith(direct).filter((name) => !name.startsWith('egress/'))).toEqual([
      'channels/s3.ts',
      'cli/client.ts',
      'email/imap.ts',
      'email/smtp.ts',
      'server/server-file.ts',
      'testing/open-tasks.ts',
    ])
  })
})
