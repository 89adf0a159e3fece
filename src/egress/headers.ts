import { type IncomingHttpHeaders, validateHeaderName, validateHeaderValue } from 'node:http'
import { EgressError } from './error.ts'

export type Headers = Readonly<Record<string, string>>

/** Headers that belong to the connection or that the guard sets itself. */
const OURS = new Set([
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

/** What another origin is told: nothing of who asks. Keys travel under too many names to list those instead. */
const HARMLESS = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

/** The headers of a request under lower-case names, or the reason why they cannot be sent. */
export function requestHeaders(given: Headers): Headers {
  const headers: Record<string, string> = { accept: '*/*', 'user-agent': 'asyncgate' }
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase()
    if (OURS.has(lower) || lower.startsWith('proxy-')) throw unfit(`the header ${name} cannot be set`)
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

export function withoutSecrets(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => HARMLESS.has(name)))
}

export function withoutContent(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('content-')))
}

/** The headers of an answer. Those about the encoding go, as the body is handed on decoded. */
export function responseHeaders(received: IncomingHttpHeaders, isDecoded: boolean): Headers {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(received)) {
    if (value === undefined) continue
    if (isDecoded && (name === 'content-encoding' || name === 'content-length')) continue
    headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return headers
}

function unfit(reason: string): EgressError {
  return new EgressError('INVALID_REQUEST', reason, `The request cannot be sent as it is: ${reason}.`)
}
