import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { GateError } from '../../src/client/gate-error.ts'
import type { ServerEvent } from '../../src/client/server-sent-events.ts'
import { Transport } from '../../src/client/transport.ts'
import { broken, json, OVERLOADED, type Reply, scripted, stream } from './support.ts'

const url = 'http://gate.example'

function gate(...replies: Reply[]) {
  const { fetch, sent } = scripted(...replies)
  return { sent, transport: new Transport({ url, fetch }) }
}

/** Reads the first events of a stream and then closes it. */
async function take(count: number, events: AsyncIterable<ServerEvent>): Promise<ServerEvent[]> {
  const taken: ServerEvent[] = []
  for await (const event of events) {
    taken.push(event)
    if (taken.length === count) break
  }
  return taken
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('event stream of the client', () => {
  it('events are parsed however the stream is split into chunks', async () => {
    const whole =
      ': connected\n\nevent: task\ndata: {"n":\ndata: 1}\n\ndata: "é"\r\nid: 7\r\n\r\n: still here\n\nevent: task\ndata:2\n\n'
    for (const size of [1, 3, 1000]) {
      const pieces = whole.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
      const { transport } = gate(stream(pieces, { stays: true }))
      expect(await take(3, transport.events('/v1/events'))).toEqual([
        { event: 'task', data: { n: 1 } },
        { event: 'message', data: 'é', id: '7' },
        { event: 'task', data: 2 },
      ])
    }
  })

  it('the stream is reopened when it ends or fails, and onOpen is called', async () => {
    const { transport, sent } = gate(
      stream(['data: 1\n\n']),
      broken('ECONNREFUSED'),
      json(OVERLOADED, 503),
      stream(['data: 2\n\n'], { stays: true }),
    )
    const opened: boolean[] = []
    const events = take(2, transport.events('/v1/events', { onOpen: (again) => opened.push(again) }))
    await vi.advanceTimersByTimeAsync(10_000)
    expect((await events).map(({ data }) => data)).toEqual([1, 2])
    expect(opened).toEqual([false, true])
    expect(sent).toHaveLength(4)
  })

  it('a stream without data for too long is closed and reopened', async () => {
    const { transport, sent } = gate(
      stream([': connected\n\n'], { stays: true }),
      stream(['data: 1\n\n'], { stays: true }),
    )
    const events = take(1, transport.events('/v1/events'))
    await vi.advanceTimersByTimeAsync(44_000)
    expect(sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(2000)
    expect(await events).toEqual([{ event: 'message', data: 1 }])
    expect(sent[0]?.signal.aborted).toBe(true)
  })

  it('a refused stream is not retried', async () => {
    const { transport, sent } = gate(json({ code: 'UNAUTHENTICATED', message: 'No.', retryable: false }, 401))
    await expect(take(1, transport.events('/v1/events'))).rejects.toThrow(GateError)
    expect(sent).toHaveLength(1)
  })

  it('the stream is closed when the loop ends', async () => {
    const { transport, sent } = gate(stream(['data: 1\n\n'], { stays: true }))
    await take(1, transport.events('/v1/events'))
    expect(sent[0]?.signal.aborted).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('the stream rejects with the reason of the signal, between events and between connections', async () => {
    const why = new Error('enough')
    for (const replies of [[stream([': connected\n\n'], { stays: true })], [broken('ECONNREFUSED')]]) {
      const stop = new AbortController()
      const { transport } = gate(...replies)
      const events = take(1, transport.events('/v1/events', { signal: stop.signal }))
      const failed = expect(events).rejects.toBe(why)
      await vi.advanceTimersByTimeAsync(10)
      stop.abort(why)
      await failed
    }
  })
})
