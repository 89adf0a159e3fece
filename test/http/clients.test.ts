import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { Clients, FAILURE_LIMIT } from '../../src/http/clients.ts'
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

describe('the address of a client', () => {
  const request = (peer: string, forwarded?: string) => {
    const socket = new Socket()
    Object.defineProperty(socket, 'remoteAddress', { value: peer })
    const headers: IncomingMessage['headers'] =
      forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
    return { headers, socket }
  }

  it.each([
    ['without trusted proxies', [], '10.0.0.1', '1.1.1.1', '10.0.0.1'],
    ['of an untrusted peer', ['10.0.0.0/8'], '192.0.2.1', '1.1.1.1', '192.0.2.1'],
    ['behind one proxy', ['10.0.0.0/8'], '10.0.0.1', '1.1.1.1', '1.1.1.1'],
    ['behind two proxies', ['10.0.0.0/8'], '::ffff:10.0.0.1', '9.9.9.9, 1.1.1.1, 10.0.0.2', '1.1.1.1'],
    ['if the proxy sends no header', ['10.0.0.1'], '10.0.0.1', undefined, '10.0.0.1'],
    ['if the header is no address', ['10.0.0.1'], '10.0.0.1', '1.1.1.1, unknown', '10.0.0.1'],
    ['with IPv6', ['fd00::/8'], 'fd00::1', '2001:db8::7', '2001:db8::7'],
  ])('%s', (_, trustedProxies, peer, forwarded, expected) => {
    expect(new Clients({ trustedProxies }).addressOf(request(peer, forwarded))).toBe(expected)
  })
})
