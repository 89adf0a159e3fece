import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Authenticator, type Credential } from '../../src/auth/credential.ts'
import { Fault } from '../../src/core/errors.ts'
import { isSecretOf } from '../../src/features/keys/secret-hash.ts'
import { Clients, FAILURE_LIMIT } from '../../src/http/clients.ts'
import { processKeys, verifierOf } from '../support/caller-keys.ts'
import { describeGates } from '../support/gates.ts'
import { KEY, servers } from './support.ts'

const AUTH = { api_key: KEY, allow_insecure_dev: false }
const wrong = (n: number) => ({ authorization: `Bearer wrong-key-number-${n}` })
const right = { authorization: `Bearer ${KEY}` }

describeGates(
  'failed attempts to authenticate',
  (open) => {
    const serve = servers(open)

    it('500 wrong keys of one address are refused with 401 up to the limit, then with 429', async () => {
      const time = { now: Date.UTC(2026, 0, 1) }
      const clients = new Clients({ now: () => time.now })
      const { send, get } = await serve({ auth: AUTH, clients })
      const counts = new Map<number, number>()
      for (let n = 0; n < 500; n++) {
        const { status } = await send('GET', '/v1/tasks', undefined, wrong(n))
        counts.set(status, (counts.get(status) ?? 0) + 1)
      }
      expect(Object.fromEntries(counts)).toEqual({ 401: FAILURE_LIMIT.calls, 429: 500 - FAILURE_LIMIT.calls })
      const refused = await send('GET', '/v1/tasks', undefined, wrong(0))
      expect(refused.headers['retry-after']).toBe('1')
      expect(refused.body).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', limit: 100, window: '1m' })
      // The address must not learn that it has found the key.
      expect((await get('/v1/tasks', {}, right)).status).toBe(429)
      time.now += 60_000
      expect((await get('/v1/tasks', {}, right)).status).toBe(200)
    })

    it('a key that was accepted from the address before still works', async () => {
      const { send, get } = await serve({
        auth: AUTH,
        clients: new Clients({ failureLimit: { calls: 1, window_seconds: 3600 } }),
      })
      expect((await get('/v1/tasks', {}, right)).status).toBe(200)
      for (const n of [1, 2, 3]) await send('GET', '/v1/tasks', undefined, wrong(n))
      expect((await send('GET', '/v1/tasks', undefined, wrong(4))).status).toBe(429)
      expect((await get('/v1/tasks', {}, right)).status).toBe(200)
    })

    it('requests without a key count, over REST and MCP together', async () => {
      const clients = new Clients({ failureLimit: { calls: 2, window_seconds: 3600 } })
      const { send } = await serve({ auth: AUTH, clients })
      const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
      expect((await send('GET', '/v1/tasks')).status).toBe(401)
      expect((await send('POST', '/mcp', list)).status).toBe(401)
      expect((await send('GET', '/v1/tasks')).status).toBe(429)
      const refused = await send('POST', '/mcp', list)
      expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1800'])
      expect(refused.body).toMatchObject({ error: { data: { code: 'RATE_LIMIT_EXCEEDED' } } })
    })

    it('clients behind a trusted proxy are limited separately, and the audit log has their address', async () => {
      const clients = new Clients({
        trustedProxies: ['127.0.0.0/8'],
        failureLimit: { calls: 1, window_seconds: 3600 },
      })
      const { gate, send } = await serve({ auth: AUTH, clients })
      const from = (address: string) => send('GET', '/v1/tasks', undefined, { 'x-forwarded-for': address })
      const statuses = []
      for (const address of ['203.0.113.1', '203.0.113.1', '203.0.113.2'])
        statuses.push((await from(address)).status)
      expect(statuses).toEqual([401, 429, 401])
      const root = { tenant: 'default', principal: { kind: 'human', id: 'root' }, role: 'admin' } as const
      const { events } = await gate.listAudit(root, { event: 'auth_failure' })
      expect(events.map(({ ip }) => ip).sort()).toEqual(['203.0.113.1', '203.0.113.2'])
    })
  },
  ['sqlite'],
)

describe('expensive verifications', () => {
  const limit = 3

  /** A server whose verifier refuses every key, once `finish` is called. */
  function flooded() {
    const clients = new Clients({ failureLimit: { calls: limit, window_seconds: 3600 } })
    const started: (() => void)[] = []
    const attempt = async (address: string) =>
      clients.authenticate(requestOf(address), (admit) => {
        admit()
        return new Promise<Credential>((_, reject) => {
          started.push(() => reject(new Fault('UNAUTHENTICATED')))
        })
      })
    const outcomes = (attempts: readonly Promise<unknown>[]) =>
      Promise.all(attempts.map((each) => each.catch((error: Fault) => error.code)))
    return { clients, started, attempt, outcomes }
  }

  it('attempts beyond the limit of an address start no verification, also while the first ones are pending', async () => {
    const { started, attempt, outcomes } = flooded()
    const attempts = Array.from({ length: 50 }, () => attempt('192.0.2.1'))
    expect(started).toHaveLength(limit)
    const other = attempt('192.0.2.2')
    expect(started).toHaveLength(limit + 1)
    for (const refuse of started) refuse()
    const codes = await outcomes([...attempts, other])
    expect(codes.filter((code) => code === 'UNAUTHENTICATED')).toHaveLength(limit + 1)
    expect(codes.filter((code) => code === 'RATE_LIMIT_EXCEEDED')).toHaveLength(50 - limit)
    expect(await outcomes([attempt('192.0.2.1')])).toEqual(['RATE_LIMIT_EXCEEDED'])
    expect(started).toHaveLength(limit + 1)
  })

  it('a flood of wrong secrets computes no hash beyond the limit, and an accepted key goes on', async () => {
    const { key, record } = processKeys.keyOf({ kind: 'agent', id: 'flooded' }, 'agent')
    const late = processKeys.keyOf({ kind: 'agent', id: 'late' }, 'agent')
    let hashes = 0
    const verifier = verifierOf(undefined, (phc, secret) => {
      hashes++
      return isSecretOf(phc, secret)
    })
    onTestFinished(() => verifier.stop())
    const clients = new Clients({ failureLimit: { calls: limit, window_seconds: 3600 } })
    const authenticator = new Authenticator({ api_key: null, allow_insecure_dev: false }, verifier)
    const send = async (text: string) => {
      const headers = { authorization: `Bearer ${text}` }
      return clients.authenticate(requestOf('192.0.2.1'), (admit) =>
        authenticator.authenticate(headers, undefined, admit),
      )
    }
    await send(key)
    expect(hashes).toBe(1)
    const wrong = Array.from({ length: 30 }, () => processKeys.wrongSecretFor(record.key_id))
    await Promise.allSettled(wrong.map(send))
    await Promise.allSettled(wrong.map(send))
    expect(hashes).toBe(1 + limit)
    expect(await send(key)).toMatchObject({ key_id: record.key_id })
    // Its secret would have to be verified first.
    await expect(send(late.key)).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' })
    expect(hashes).toBe(1 + limit)
  })

  it('verifications that succeed do not use up the limit', async () => {
    const { clients } = flooded()
    const credential: Credential = { kind: 'shared', tenant: 'default' }
    for (let n = 0; n < 10 * limit; n++) {
      const found = clients.authenticate(requestOf('192.0.2.1'), async (admit) => {
        admit()
        return { ...credential }
      })
      expect(await found).toEqual(credential)
    }
  })
})

describe('the address of a client', () => {
  it.each([
    ['without trusted proxies', [], '10.0.0.1', '1.1.1.1', '10.0.0.1'],
    ['of an untrusted peer', ['10.0.0.0/8'], '192.0.2.1', '1.1.1.1', '192.0.2.1'],
    ['behind one proxy', ['10.0.0.0/8'], '10.0.0.1', '1.1.1.1', '1.1.1.1'],
    ['behind two proxies', ['10.0.0.0/8'], '::ffff:10.0.0.1', '9.9.9.9, 1.1.1.1, 10.0.0.2', '1.1.1.1'],
    ['if the proxy sends no header', ['10.0.0.1'], '10.0.0.1', undefined, '10.0.0.1'],
    ['if the header is no address', ['10.0.0.1'], '10.0.0.1', '1.1.1.1, unknown', '10.0.0.1'],
    ['with IPv6', ['fd00::/8'], 'fd00::1', '2001:db8::7', '2001:db8::7'],
  ])('%s', (_, trustedProxies, peer, forwarded, expected) => {
    expect(new Clients({ trustedProxies }).addressOf(requestOf(peer, forwarded))).toBe(expected)
  })
})

function requestOf(peer: string, forwarded?: string) {
  const socket = new Socket()
  Object.defineProperty(socket, 'remoteAddress', { value: peer })
  const headers: IncomingMessage['headers'] = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return { headers, socket }
}
