import type { FetchLike } from '@modelcontextprotocol/client'
import { collect, limited } from '../../egress/body.ts'
import { type GuardedResponse, guardedFetch } from '../../egress/fetch.ts'
import type { Method } from '../../egress/hop.ts'
import { allowedPrivateHosts, Policy } from '../../egress/policy.ts'
import { DEFAULT_EGRESS, type EgressSettings } from '../../egress/settings.ts'
import { type MessageId, standIn, TOO_LARGE } from './answers.ts'

/** The message for which a request is sent. */
export interface Exchange {
  /** Whether a response is expected; its caller sets the timeout. */
  readonly isRequest: boolean
  readonly id?: MessageId
  readonly maxBytes?: number
  readonly stop?: AbortController
}

/** Carries the key of an exchange from the transport to fetch, through the SDK. It is not sent. */
export const EXCHANGE_HEADER = 'x-asyncgate-exchange'

export interface McpFetchOptions {
  readonly origin: string
  readonly headers: Readonly<Record<string, string>>
  readonly egress: Partial<EgressSettings>
  readonly connectTimeoutMs: number
  /** The limit for responses that belong to no exchange. */
  readonly maxBytes: number
  /** The exchange with this key. */
  readonly exchange: (key: string) => Exchange | undefined
}

/** The upstream responded that it cannot serve the request now. */
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

export class TooLargeError extends Error {
  constructor() {
    super('the answer is larger than is allowed')
    this.name = 'TooLargeError'
  }
}

/** The timeout for messages that expect no response. */
const DELIVERY_MS = 30_000
const FAREWELL_MS = 2_000
const MAX_COMPLAINT_BYTES = 16 * 1024

/** The fetch of an upstream: requests pass the egress guard, and the size of responses is limited. */
export function guardedMcpFetch(options: McpFetchOptions): FetchLike {
  return async (target, init = {}) => {
    const url = new URL(target)
    const { [EXCHANGE_HEADER]: key = '', ...headers } = Object.fromEntries(new Headers(init.headers))
    const exchange = options.exchange(key)
    const method = methodOf(init.method)
    const response = await guardedFetch(url.href, {
      method,
      headers: {
        ...headers,
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

/** Event streams have no timeout. */
function timeFor(method: Method, exchange: Exchange | undefined): number {
  if (method === 'DELETE') return FAREWELL_MS
  return method === 'POST' && exchange?.isRequest === false ? DELIVERY_MS : Number.POSITIVE_INFINITY
}

function methodOf(method = 'GET'): Method {
  if (method === 'GET' || method === 'POST' || method === 'DELETE') return method
  throw new TypeError(`${method} is no method of this protocol`)
}

/** Only the number of seconds is supported, not a date. */
function retryAfter(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,5}$/.test(header) ? Number(header) * 1000 : undefined
}

/** The egress settings for a URL: plain HTTP is allowed for private hosts that the operator lists. */
export function egressFor(url: URL, egress: Partial<EgressSettings>): EgressSettings {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const places = allowedPrivateHosts(egress.allowed_private ?? [])
  const allow_http = egress.allow_http || places.hasHost(host) || places.hasAddress(host)
  return { ...DEFAULT_EGRESS, ...egress, allow_http }
}

/** Whether the text of a URL is allowed for an upstream. The addresses of its host are checked with each request. */
export function mayBeAt(url: string, egress: Partial<EgressSettings>): boolean {
  return new Policy(egressFor(new URL(url), egress)).checkUrl(url).allowed
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/**
 * Limits the size of each server-sent event. After an event that is too large, `instead` is sent as an event and the
 * stream ends.
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
