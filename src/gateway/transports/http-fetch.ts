import type { FetchLike } from '@modelcontextprotocol/client'
import { collect, limited } from '../../egress/body.ts'
import { type GuardedResponse, guardedFetch } from '../../egress/fetch.ts'
import type { Method } from '../../egress/hop.ts'
import { allowedPrivateHosts, Policy } from '../../egress/policy.ts'
import { DEFAULT_EGRESS, type EgressSettings } from '../../egress/settings.ts'
import { type MessageId, standIn, TOO_LARGE } from './answers.ts'

/** What a request to the upstream is made for. */
export interface Exchange {
  /** Whether an answer is waited for; whoever waits sets the time. */
  readonly isRequest: boolean
  readonly id?: MessageId
  readonly maxBytes?: number
  readonly stop?: AbortController
}

export interface McpFetchOptions {
  readonly origin: string
  readonly headers: Readonly<Record<string, string>>
  readonly egress: Partial<EgressSettings>
  readonly connectTimeoutMs: number
  /** Of an answer that belongs to no exchange. */
  readonly maxBytes: number
  readonly current: () => Exchange | undefined
}

/** An upstream that answers, but not now. */
export class BusyError extends Error {
  readonly status: number
  readonly retryAfterMs: number | undefined

  constructor(status: number, retryAfterMs: number | undefined) {
    super(`the server answered with HTTP ${status}`)
    this.name = 'BusyError'
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

/** An answer that is larger than is allowed. */
export class TooLargeError extends Error {
  constructor() {
    super('the answer is larger than is allowed')
    this.name = 'TooLargeError'
  }
}

/** A message that waits for no answer is taken within this time, or not at all. */
const DELIVERY_MS = 30_000
const FAREWELL_MS = 2_000
const MAX_COMPLAINT_BYTES = 16 * 1024

/** The fetch of an upstream: each request is checked as egress checks it, and answers are read only as far as allowed. */
export function guardedMcpFetch(options: McpFetchOptions): FetchLike {
  return async (target, init = {}) => {
    const url = new URL(target)
    const exchange = options.current()
    const method = methodOf(init.method)
    const response = await guardedFetch(url.href, {
      method,
      headers: {
        ...Object.fromEntries(new Headers(init.headers)),
        ...(url.origin === options.origin && options.headers),
      },
      ...(typeof init.body === 'string' && { body: init.body }),
      ...(init.signal && { signal: init.signal }),
      settings: {
        ...egressFor(url, options.egress),
        max_redirects: 0,
        max_bytes: Number.POSITIVE_INFINITY,
        connect_timeout_ms: options.connectTimeoutMs,
        total_timeout_ms: timeFor(method, exchange),
      },
    })
    return answerOf(response, exchange, options.maxBytes)
  }
}

async function answerOf(
  response: GuardedResponse,
  exchange: Exchange | undefined,
  fallback: number,
): Promise<Response> {
  const { status, headers, body } = response
  if (status === 429 || status >= 500) {
    response.discard()
    throw new BusyError(status, retryAfter(headers['retry-after']))
  }
  const maxBytes = exchange?.maxBytes ?? fallback
  const init = { status, headers: new Headers(headers) }
  if (status === 204 || status === 205 || status === 304) {
    response.discard()
    return new Response(null, init)
  }
  if (status >= 300) return new Response((await collect(limited(body, MAX_COMPLAINT_BYTES))).bytes, init)
  if (/^text\/event-stream\b/i.test(headers['content-type'] ?? '')) {
    const instead = exchange?.id === undefined ? undefined : JSON.stringify(standIn(exchange.id, TOO_LARGE))
    return new Response(ReadableStream.from(limitEvents(body, maxBytes, instead)), init)
  }
  const { bytes, truncated } = await collect(limited(body, maxBytes))
  if (truncated) throw new TooLargeError()
  return new Response(bytes, init)
}

/** Streams of events last as long as they last. */
function timeFor(method: Method, exchange: Exchange | undefined): number {
  if (method === 'DELETE') return FAREWELL_MS
  return method === 'POST' && exchange?.isRequest === false ? DELIVERY_MS : Number.POSITIVE_INFINITY
}

function methodOf(method = 'GET'): Method {
  if (method === 'GET' || method === 'POST' || method === 'DELETE') return method
  throw new TypeError(`${method} is no method of this protocol`)
}

/** Seconds; a date is as good as nothing here. */
function retryAfter(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,5}$/.test(header) ? Number(header) * 1000 : undefined
}

/** What a request to this URL may do: a place that the operator names may be one without a certificate. */
export function egressFor(url: URL, egress: Partial<EgressSettings>): EgressSettings {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const places = allowedPrivateHosts(egress.allowed_private ?? [])
  const allow_http = egress.allow_http || places.hasHost(host) || places.hasAddress(host)
  return { ...DEFAULT_EGRESS, ...egress, allow_http }
}

/** Whether an upstream may be at this URL, as far as its text tells. Where its name leads is looked at with each request. */
export function mayBeAt(url: string, egress: Partial<EgressSettings>): boolean {
  return new Policy(egressFor(new URL(url), egress)).checkUrl(url).allowed
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/**
 * Hands on a stream of server-sent events as long as no single event has more than `maxBytes`. One that has more is cut
 * off there; `instead` follows as an event of its own, and the stream ends.
 */
export async function* limitEvents(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  instead: string | undefined,
): AsyncGenerator<Uint8Array> {
  let event = 0
  let line = 0
  let isAfterReturn = false
  for await (const chunk of body) {
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]
      const isSecondHalf = isAfterReturn && byte === LINE_FEED
      isAfterReturn = byte === CARRIAGE_RETURN
      event += 1
      if (isSecondHalf) continue
      if (byte !== LINE_FEED && byte !== CARRIAGE_RETURN) line += 1
      // An empty line ends an event.
      else if (line === 0) event = 0
      else line = 0
      if (event > maxBytes) {
        yield chunk.subarray(0, i)
        if (instead !== undefined) yield Buffer.from(`\n\ndata: ${instead}\n\n`)
        return
      }
    }
    yield chunk
  }
}
