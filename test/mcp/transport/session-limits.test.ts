import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import { InMemoryServerEventBus } from '@modelcontextprotocol/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import type { Credential } from '../../../src/auth/credential.ts'
import { defineServer } from '../../../src/mcp/server.ts'
import { mintSessionId, readSessionId } from '../../../src/mcp/transport/client-instance.ts'
import { peerCapabilities } from '../../../src/mcp/transport/peer.ts'
import {
  EventBudget,
  ResumableStream,
  readEventId,
  streamId,
} from '../../../src/mcp/transport/resumable-stream.ts'
import { type SessionLimits, Sessions } from '../../../src/mcp/transport/sessions.ts'
import { startMcp } from '../endpoint.ts'
import { eventsOf, RawClient, startTalking } from './talking.ts'

const SHARED: Credential = { kind: 'shared', tenant: 'default' }
const bound = (id: string): Credential => ({
  kind: 'bound',
  tenant: 'default',
  principal: { kind: 'human', id },
  role: 'admin',
})

async function registry(limits: Partial<SessionLimits> = {}) {
  const { gate } = await startMcp()
  let now = 1_000_000
  const { definition } = defineServer(gate, {})
  const sessions = new Sessions({ definition, bus: new InMemoryServerEventBus(), limits, now: () => now })
  onTestFinished(() => sessions.close())
  return {
    sessions,
    advance: (ms: number) => {
      now += ms
    },
  }
}

describe('the number of sessions', () => {
  it('the least recently used session is dropped at the limit, and created again when it is used', async () => {
    const { sessions, advance } = await registry({ total: 2 })
    const first = sessions.of(SHARED, 'a')
    const second = sessions.of(SHARED, 'b')
    advance(2_000)
    expect(sessions.of(SHARED, 'a')).toBe(first)
    sessions.of(SHARED, 'c')
    expect(sessions.size).toBe(2)
    expect(sessions.of(SHARED, 'a')).toBe(first)
    expect(sessions.of(SHARED, 'b')).not.toBe(second)
  })

  it('a principal has a limit of its own, which leaves the sessions of others alone', async () => {
    const { sessions } = await registry({ perPrincipal: 3 })
    const other = sessions.of(bound('paul'), 'mine')
    const shared = sessions.of(SHARED, 'shared')
    for (let i = 0; i < 1_000; i++) sessions.of(bound('eve'), `id-${i}`)
    expect(sessions.size).toBe(5)
    expect(sessions.of(bound('paul'), 'mine')).toBe(other)
    expect(sessions.of(SHARED, 'shared')).toBe(shared)
  })

  it('a session with a running call is not dropped', async () => {
    const { sessions } = await registry({ total: 1 })
    const busy = sessions.of(SHARED, 'busy')
    let end = () => {}
    const running = busy?.during(
      () =>
        new Promise<void>((resolve) => {
          end = resolve
        }),
    )
    sessions.of(SHARED, 'other')
    expect(sessions.of(SHARED, 'busy')).toBe(busy)
    end()
    await running
  })

  it('idle sessions expire', async () => {
    const { sessions, advance } = await registry({ idleMs: 60_000 })
    sessions.of(SHARED, 'old')
    advance(40_000)
    sessions.of(SHARED, 'young')
    advance(40_000)
    sessions.sweep()
    expect(sessions.size).toBe(1)
  })

  it('a session whose stream was just closed counts as just used', async () => {
    const { sessions, advance } = await registry({ idleMs: 60_000, total: 2 })
    const session = sessions.of(SHARED, 'streaming')
    if (session === undefined) throw new Error('no session')
    advance(50_000)
    sessions.of(SHARED, 'other')
    sessions.used(session)
    advance(30_000)
    sessions.sweep()
    expect(sessions.of(SHARED, 'streaming')).toBe(session)
    sessions.of(SHARED, 'third')
    expect(sessions.of(SHARED, 'streaming')).toBe(session)
  })

  it('the same id of another credential is another session', async () => {
    const { sessions } = await registry()
    const all = [SHARED, bound('paul'), bound('eve')].map((credential) => sessions.of(credential, 'same'))
    expect(new Set(all).size).toBe(3)
    sessions.end(bound('eve'), 'same')
    expect(() => sessions.of(bound('eve'), 'same')).toThrow('has ended')
    expect(sessions.of(bound('paul'), 'same')).toBe(all[1])
  })

  it('initialize stores nothing, so that a flood of it displaces no session', async () => {
    const { gate } = await startMcp()
    const { url } = await startTalking(gate, { total: 1 })
    const client = await RawClient.initialize(url)
    await client.send(url, { id: 1, method: 'logging/setLevel', params: { level: 'error' } })
    const ids = new Set<string>()
    for (let i = 0; i < 50; i++) ids.add((await RawClient.initialize(url)).id)
    expect(ids.size).toBe(50)
    const text = await (await client.call(url, 'log')).text()
    expect(text).toContain('"level":"error"')
    expect(text).not.toContain('"level":"debug"')
  })
})

describe('session ids', () => {
  it('contain the name, the version and the capabilities of the client', () => {
    const id = mintSessionId({ name: 'Claude Code', version: '2.1' }, peerCapabilities({ sampling: {} }))
    expect(readSessionId(id)).toEqual({
      client: { instance: id, name: 'Claude Code', version: '2.1' },
      capabilities: new Set(['sampling']),
    })
  })

  it('of clients with long names can be read again', () => {
    const name = '"\\漢\u{1F600}'.repeat(100)
    const id = mintSessionId(
      { name, version: name },
      peerCapabilities({ elicitation: { form: {}, url: {} } }),
    )
    expect(id).toMatch(/^[\w.-]+$/)
    expect(readSessionId(id)?.client.name?.length).toBeGreaterThan(50)
    expect(readSessionId(id)?.capabilities.size).toBe(2)
  })

  it('that are too long are ignored', () => {
    expect(readSessionId('x'.repeat(1_025))).toBeUndefined()
    expect(readSessionId('')).toBeUndefined()
  })
})

/** A connection whose client reads only on demand. */
async function connection(): Promise<{ response: ServerResponse; client: Promise<IncomingMessage> }> {
  let connected = (_: ServerResponse) => {}
  const response = new Promise<ServerResponse>((resolve) => {
    connected = resolve
  })
  const server = createServer((_, response) => connected(response))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = z.object({ port: z.number() }).parse(server.address())
  const request = get({ port, host: '127.0.0.1' }).on('error', () => {})
  const client = new Promise<IncomingMessage>((resolve) => request.on('response', resolve))
  const stream = await response
  return { response: stream, client }
}

describe('the events of a stream', () => {
  it('are available again within a limit of their number and size', () => {
    const stream = new ResumableStream('s.x', new EventBudget())
    expect(stream.hasAfter(0)).toBe(true)
    for (let i = 0; i < 200; i++) stream.send('{}')
    expect(stream.hasAfter(200)).toBe(true)
    expect(stream.hasAfter(72)).toBe(true)
    expect(stream.hasAfter(71)).toBe(false)
    expect(stream.hasAfter(201)).toBe(false)
    for (let i = 0; i < 4; i++) stream.send(JSON.stringify('x'.repeat(100_000)))
    expect(stream.hasAfter(202)).toBe(true)
    expect(stream.hasAfter(201)).toBe(false)
    expect(stream.bytes).toBeLessThan(256 * 1024)
  })

  it('share a budget, from which the stream that was silent the longest is dropped first', () => {
    const budget = new EventBudget(10_000)
    const [one, two, three] = ['a', 'b', 'c'].map((id) => new ResumableStream(id, budget))
    const text = JSON.stringify('x'.repeat(4_000))
    for (const stream of [one, two, one, three]) stream?.send(text.slice(0, stream === one ? 2_000 : 4_000))
    expect(budget.used).toBeLessThanOrEqual(10_000)
    expect(two?.hasAfter(0)).toBe(false)
    expect(one?.hasAfter(0)).toBe(true)
    expect(three?.hasAfter(0)).toBe(true)
    for (const stream of [one, three]) stream?.abandon()
    expect(budget.used).toBe(0)
  })

  it('have ids that name their request and nothing else', () => {
    for (const requestId of ['call "1"', 7, undefined]) {
      const id = streamId(requestId, 'nonce')
      expect(readEventId(`${id}.3`)).toEqual({ stream: id, n: 3, requestId })
    }
    expect(streamId('x'.repeat(300), 'nonce')).toBeUndefined()
    for (const text of ['', 's.x', 's.x.-1', 'W10.x.1', 's.x.1.2', `s.x.${'9'.repeat(20)}`, '%.x.1'])
      expect(readEventId(text)).toBeUndefined()
  })

  it('of a client that never reads are not sent without limit', async () => {
    const { response, client } = await connection()
    const stream = new ResumableStream('s.x', new EventBudget())
    stream.connect(response, { primes: true })
    void (await client).pause()
    const text = JSON.stringify('x'.repeat(64 * 1024))
    let count = 0
    while (stream.isConnected && count < 1_000) {
      stream.send(text)
      count++
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(stream.isConnected).toBe(false)
    expect(response.destroyed).toBe(true)
  })
})

it('a newer stream of a session replaces the older one', async () => {
  const { gate } = await startMcp()
  const { url } = await startTalking(gate)
  const client = await RawClient.initialize(url)
  const older = eventsOf(await client.get(url))
  await older()
  const newer = eventsOf(await client.get(url))
  await newer()
  expect(await older()).toBeUndefined()
})
