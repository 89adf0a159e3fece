import { EgressError } from './error.ts'
import { type Headers, requestHeaders, withoutContent, withoutSecrets } from './headers.ts'

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'
export type RequestBody = string | Uint8Array | AsyncIterable<Uint8Array>

/** One request on the way to an answer. */
export interface Hop {
  readonly url: string
  readonly method: Method
  readonly headers: Headers
  readonly body: RequestBody | undefined
}

export function firstHop(
  url: string,
  method: Method = 'GET',
  headers: Headers = {},
  body?: RequestBody,
): Hop {
  return { url, method, headers: requestHeaders(headers), body }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** Where an answer sends us, if it does: a request of its own, which is checked as the first one was. */
export function nextHop(hop: Hop, status: number, location: string | undefined): Hop | undefined {
  if (!REDIRECTS.has(status) || location === undefined) return undefined
  if (!URL.canParse(location, hop.url)) throw new EgressError('BAD_RESPONSE', 'it leads to what is not a URL')
  const from = new URL(hop.url)
  const to = new URL(location, hop.url)
  if (from.protocol === 'https:' && to.protocol === 'http:') {
    throw new EgressError('REFUSED', `${from.host} leads from https to http`)
  }
  const isOtherOrigin = from.origin !== to.origin
  const kept = isOtherOrigin ? withoutSecrets(hop.headers) : hop.headers
  const becomesGet = hop.method !== 'HEAD' && (status === 303 || (status < 303 && hop.method === 'POST'))
  if (becomesGet || hop.body === undefined) {
    const method = becomesGet ? 'GET' : hop.method
    return { url: to.href, method, headers: withoutContent(kept), body: undefined }
  }
  if (isOtherOrigin) {
    throw new EgressError('REFUSED', `${from.host} leads a request with a body to another origin`)
  }
  if (typeof hop.body !== 'string' && !(hop.body instanceof Uint8Array)) {
    throw new EgressError('REFUSED', `${from.host} redirects a body that can be sent only once`)
  }
  return { url: to.href, method: hop.method, headers: kept, body: hop.body }
}
