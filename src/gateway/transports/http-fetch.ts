import type { FetchLike } from '@modelcontextprotocol/client'
import { collect, limited } from '../../egress/body.ts'
import { type GuardedResponse, guardedFetch } from '../../egress/fetch.ts'
import type { Method } from '../../egress/hop.ts'
import type { EgressSettings } from '../../egress/settings.ts'
import { type MessageId, standIn, TOO_LARGE } from '../calls/answers.ts'
import { limitEvents } from './event-limit.ts'
import { egressFor } from './upstream-egress.ts'

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
