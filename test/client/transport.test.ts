import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { backoff, RETRY_POLL } from '../../src/client/backoff.ts'
import { GateError } from '../../src/client/gate-error.ts'
import { queryOf, Transport } from '../../src/client/transport.ts'
import { broken, json, OVERLOADED, type Reply, scripted, silent, text } from './support.ts'

const url = 'http://gate.example'
const FAST = { retries: 3, firstMs: 1, maxMs: 1 }

function transport(...replies: Reply[]) {
  const { fetch, sent } = scripted(...replies)
  return { sent, transport: new Transport({ url, key: 'KEY', fetch, headers: { 'x-team': 'a' } }) }
}

async function failure(call: Promise<unknown>): Promise<GateError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof GateError)) throw new Error('it did not fail as it should', { cause: error })
  return error
}

describe('requests', () => {
  it('a request contains the key, the headers of the client and a JSON body', async () => {
    const { transport: gate, sent } = transport(json({ ok: true }))
    await expect(gate.request('POST', '/v1/tasks', { type: 'echo' })).resolves.toEqual({ ok: true })
    expect(sent[0]).toMatchObject({ url: `${url}/v1/tasks`, method: 'POST', body: { type: 'echo' } })
    expect(sent[0]?.headers.get('authorization')).toBe('Bearer KEY')
    expect(sent[0]?.headers.get('x-team')).toBe('a')
    expect(sent[0]?.headers.get('content-type')).toBe('application/json')
  })

  it('a GET request has its fields in the query', async () => {
    const { transport: gate, sent } = transport(json({}))
    await gate.request('GET', '/v1/tasks', { limit: 5, status: undefined, labels: { 'a b': 'c&d' } })
    expect(sent[0]?.url).toBe(`${url}/v1/tasks?limit=5&label.a+b=c%26d`)
    expect(queryOf({ ids: ['a', 'b'], open: true })).toBe('?ids=a&ids=b&open=true')
  })

  it('the path of the base URL is kept', async () => {
    const { fetch, sent } = scripted(json({}))
    await new Transport({ url: 'https://example.com/gate/', fetch }).request('GET', '/v1/health')
    expect(sent[0]?.url).toBe('https://example.com/gate/v1/health')
  })

  it.each([
    ['nowhere', /is not the URL of a server/],
    ['ftp://example.com', /is not the URL of a server/],
    ['http://user:password@example.com', /Pass the key as "key"/],
  ])('the url %s is refused', (wrong, message) => {
    expect(() => new Transport({ url: wrong })).toThrow(message)
  })

  it('a key that is not a valid header is refused', () => {
    expect(() => new Transport({ url, key: 'a\nb' })).toThrow(TypeError)
  })
})

describe('refusals', () => {
  it('GateError contains all fields of the error response', async () => {
    const body = {
      code: 'LEASE_INVALID_OR_EXPIRED',
      message: 'The lease is wrong.',
      hint: 'Stop.',
      retryable: false,
      details: { task_status: 'queued' },
      request_id: 'r-9',
    }
    const { transport: gate, sent } = transport(json(body, 409))
    expect(await failure(gate.request('POST', '/v1/leases/renew', {}))).toMatchObject({
      name: 'GateError',
      message: 'The lease is wrong.',
      code: 'LEASE_INVALID_OR_EXPIRED',
      status: 409,
      hint: 'Stop.',
      retryable: false,
      details: { task_status: 'queued' },
      requestId: 'r-9',
    })
    expect(sent).toHaveLength(1)
  })

  it('a response that is not from AsyncGate has a separate error code', async () => {
    const { transport: gate } = transport(text('<h1>Not here</h1>', 404), text('<h1>Hello</h1>', 200))
    expect(await failure(gate.request('GET', '/'))).toMatchObject({ code: 'HTTP_404', retryable: false })
    expect(await failure(gate.request('GET', '/'))).toMatchObject({ code: 'STRANGE_ANSWER' })
  })
})

describe('retries', () => {
  it.each([
    ['an overloaded server', json(OVERLOADED, 503)],
    ['a proxy without a backend', text('Bad gateway', 502)],
    ['a broken connection', broken('ECONNRESET')],
    ['a server that has not started yet', broken('ECONNREFUSED')],
  ])('a request is retried after a failure: %s', async (_, reply) => {
    const { transport: gate, sent } = transport(reply, reply, json({ ok: true }))
    await expect(gate.request('POST', '/v1/tasks', { type: 'a' }, { retry: FAST })).resolves.toEqual({
      ok: true,
    })
    expect(sent.map(({ body }) => body)).toEqual([{ type: 'a' }, { type: 'a' }, { type: 'a' }])
  })

  it('a persistent failure is thrown', async () => {
    const { transport: gate, sent } = transport(...Array.from({ length: 4 }, () => json(OVERLOADED, 503)))
    const error = await failure(gate.request('GET', '/', {}, { retry: FAST }))
    expect(error).toMatchObject({ code: 'OVERLOADED', requestId: 'r-1' })
    expect(sent).toHaveLength(4)
  })

  it('retry false disables retries', async () => {
    const { transport: gate, sent } = transport(json(OVERLOADED, 503))
    expect(await failure(gate.request('GET', '/', {}, { retry: false }))).toMatchObject({ retryable: true })
    expect(sent).toHaveLength(1)
  })

  it('a request that must not be repeated is retried only if nothing has happened', async () => {
    const once = { retry: FAST, repeatable: false }
    const unknown = { ...OVERLOADED, code: 'OUTCOME_UNKNOWN' }
    for (const reply of [broken('ECONNRESET'), json(unknown, 503)]) {
      const { transport: gate, sent } = transport(reply)
      expect(await failure(gate.request('POST', '/', {}, once))).toMatchObject({ uncertain: true })
      expect(sent).toHaveLength(1)
    }
    // These errors say that nothing has happened.
    const { transport: gate } = transport(broken('ECONNREFUSED'), json(OVERLOADED, 503), json({ ok: true }))
    await expect(gate.request('POST', '/', {}, once)).resolves.toEqual({ ok: true })
  })
})

describe('delays and timeouts', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('Retry-After is respected', async () => {
    const { transport: gate, sent } = transport(json(OVERLOADED, 503, { 'retry-after': '30' }), json({}))
    const done = gate.request('GET', '/', {}, { retry: FAST })
    await vi.advanceTimersByTimeAsync(29_999)
    expect(sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    await done
    expect(sent).toHaveLength(2)
  })

  it('a server that does not respond times out', async () => {
    const { transport: gate } = transport(silent)
    const failed = failure(gate.request('GET', '/', {}, { retry: false, timeoutMs: 2000 }))
    await vi.advanceTimersByTimeAsync(2000)
    expect(await failed).toMatchObject({
      code: 'UNREACHABLE',
      message: `No server responds at ${url} (no response within 2 s).`,
    })
  })

  it('the delay doubles up to a limit and is randomized', () => {
    const tries = Array.from({ length: 8 }, (_, i) => i + 1)
    const longest = [5, 10, 20, 40, 60, 60, 60, 60]
    vi.spyOn(Math, 'random').mockReturnValue(1)
    expect(tries.map((nth) => backoff(nth, RETRY_POLL) / 1000)).toEqual(longest)
    vi.spyOn(Math, 'random').mockReturnValue(0)
    expect(tries.map((nth) => backoff(nth, RETRY_POLL) / 1000)).toEqual(longest.map((most) => most / 2))
    vi.restoreAllMocks()
  })
})

describe('abort signals', () => {
  const why = new Error('enough')

  it('an aborted signal prevents the request', async () => {
    const { transport: gate, sent } = transport()
    await expect(gate.request('GET', '/', {}, { signal: AbortSignal.abort(why) })).rejects.toBe(why)
    expect(sent).toEqual([])
  })

  it('a signal stops a request that waits for its response', async () => {
    const stop = new AbortController()
    const { transport: gate } = transport((call) => {
      queueMicrotask(() => stop.abort(why))
      return silent(call)
    })
    await expect(gate.request('GET', '/', {}, { signal: stop.signal })).rejects.toBe(why)
  })

  it('a signal stops a request in the middle of its response', async () => {
    const stop = new AbortController()
    const { transport: gate } = transport(({ signal }) => {
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('{"half":'))
          signal.addEventListener('abort', () => controller.error(signal.reason))
        },
      })
      setImmediate(() => stop.abort(why))
      return new Response(body)
    })
    await expect(gate.request('GET', '/', {}, { signal: stop.signal })).rejects.toBe(why)
  })

  it('a signal stops the delay before the next attempt', async () => {
    const stop = new AbortController()
    const { transport: gate, sent } = transport((call) => {
      setImmediate(() => stop.abort(why))
      return json(OVERLOADED, 503, { 'retry-after': '3600' })(call)
    })
    await expect(gate.request('GET', '/', {}, { signal: stop.signal })).rejects.toBe(why)
    expect(sent).toHaveLength(1)
  })

  it('no listeners remain when the call has ended', async () => {
    const { signal } = new AbortController()
    const { transport: gate } = transport(json({}), json({}, 404), json(OVERLOADED, 503), json({}))
    await gate.request('GET', '/', {}, { signal })
    await failure(gate.request('GET', '/', {}, { signal }))
    await gate.request('GET', '/', {}, { signal, retry: FAST })
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})
