import { type IncomingHttpHeaders, validateHeaderName, validateHeaderValue } from 'node:http'
import { EgressError } from './error.ts'

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'
export type RequestBody = string | Uint8Array | AsyncIterable<Uint8Array>
export type Headers = Readonly<Record<string, string>>

/** One request of those that redirects make necessary. */
export interface Hop {
  readonly url: string
  readonly method: Method
  readonly headers: Headers
  readonly body: RequestBody | undefined
}

/** Headers that belong to the connection or are set by the guard. */
const RESERVED = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Request headers that another origin may receive. Credentials travel under too many names to list those instead. */
const HARMLESS = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

export function firstHop(
  url: string,
  method: Method = 'GET',
  headers: Headers = {},
  body?: RequestBody,
): Hop {
  return { url, method, headers: requestHeaders(headers), body }
}

/** Adds the default headers and lower-cases the names; throws for headers that cannot be sent. */
function requestHeaders(given: Headers): Headers {
  const headers: Record<string, string> = { accept: '*/*', 'user-agent': 'asyncgate' }
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase()
    if (RESERVED.has(lower) || lower.startsWith('proxy-')) throw unfit(`the header ${name} cannot be set`)
    try {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    } catch {
      throw unfit(`the header ${JSON.stringify(name)} has characters that a header cannot have`)
    }
    headers[lower] = value
  }
  return headers
}

function unfit(reason: string): EgressError {
  return new EgressError('INVALID_REQUEST', reason, `The request cannot be sent: ${reason}.`)
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** The request that a redirect asks for; it is checked as the first one was. Undefined if the response is no redirect. */
export function nextHop(hop: Hop, status: number, location: string | undefined): Hop | undefined {
  if (!REDIRECTS.has(status) || location === undefined) return undefined
  if (!URL.canParse(location, hop.url)) {
    throw new EgressError('BAD_RESPONSE', 'the target of the redirect is not a URL')
  }
  const from = new URL(hop.url)
  const to = new URL(location, hop.url)
  if (from.protocol === 'https:' && to.protocol === 'http:') {
    throw new EgressError('REFUSED', `${from.host} redirects from https to http`)
  }
  const isOtherOrigin = from.origin !== to.origin
  const headers = isOtherOrigin ? filtered(hop.headers, (name) => HARMLESS.has(name)) : hop.headers
  const becomesGet = hop.method !== 'HEAD' && (status === 303 || (status < 303 && hop.method === 'POST'))
  if (becomesGet || hop.body === undefined) {
    return {
      url: to.href,
      method: becomesGet ? 'GET' : hop.method,
      headers: filtered(headers, (name) => !name.startsWith('content-')),
      body: undefined,
    }
  }
  if (isOtherOrigin) {
    throw new EgressError('REFUSED', `${from.host} redirects a request with a body to another origin`)
  }
  if (!isWhole(hop.body)) {
    throw new EgressError('REFUSED', `${from.host} redirects a body that can be sent only once`)
  }
  return { url: to.href, method: hop.method, headers, body: hop.body }
}

/** Whether a body can be sent again. */
export function isWhole(body: RequestBody | undefined): body is string | Uint8Array | undefined {
  return body === undefined || typeof body === 'string' || body instanceof Uint8Array
}

function filtered(headers: Headers, isKept: (name: string) => boolean): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => isKept(name)))
}

/** Response headers of which only the first counts if a server repeats them. */
const SINGLE = new Set(['content-type', 'etag', 'last-modified', 'location', 'retry-after'])

export function responseHeaders(received: IncomingHttpHeaders): Headers {
  const headers: Record<string, string> = {}
  for (const [name, value = ''] of Object.entries(received)) {
    headers[name] = typeof value === 'string' ? value : SINGLE.has(name) ? (value[0] ?? '') : value.join(', ')
  }
  return headers
}
