import { z } from 'zod'
import { EgressError } from '../egress/error.ts'
import { type GuardedResponse, guardedFetch, type Resolve } from '../egress/fetch.ts'
import { retryAfterSeconds } from '../egress/retry-after.ts'
import { DEFAULT_EGRESS, type EgressSettings } from '../egress/settings.ts'
import { Permanent, RetryAfter, RetryableError, task } from '../worker/index.ts'

/** With this limit every result fits into a task. */
const DEFAULT_MAX_BYTES = 128 * 1024

/** Statuses below 500 that may change with a retry. */
const RETRYABLE = new Set([408, 425, 429])

const input = z.strictObject({
  url: z.string().min(1).max(8_192).describe('The http or https URL'),
  headers: z
    .record(z.string().max(256), z.string().max(8_192))
    .refine((headers) => Object.keys(headers).length <= 50, 'at most 50 headers')
    .default({})
    .describe('Request headers, at most 50'),
  max_bytes: z
    .int()
    .min(1)
    .default(DEFAULT_MAX_BYTES)
    .describe('Where the body is cut; the worker may have a lower limit'),
})

const output = z.object({
  url: z.string().describe('The URL after redirects'),
  status: z.int(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
  encoding: z.enum(['text', 'base64']).describe('How body is encoded'),
  bytes: z.int().describe('Size of the body before encoding'),
  truncated: z.boolean().describe('Whether the body was cut'),
})

/** Fetches the URL in the payload through the egress guard. */
export function httpGet(settings: Partial<EgressSettings> = {}, resolve?: Resolve) {
  const limit = settings.max_bytes ?? DEFAULT_EGRESS.max_bytes
  return task('http_get', {
    description:
      'Fetches a URL with GET and returns status, headers and body. A status of 400 or above is a failure.',
    input,
    outputSchema: z.toJSONSchema(output),
    async run({ url, headers, max_bytes }, { signal, log }) {
      try {
        const response = await guardedFetch(url, {
          headers,
          signal,
          settings: { ...settings, max_bytes: Math.min(max_bytes, limit) },
          ...(resolve !== undefined && { resolve }),
        })
        if (response.status >= 400) throw refusal(response)
        return await result(response)
      } catch (error) {
        if (!(error instanceof EgressError)) throw error
        log.warn('not fetched', { code: error.code, reason: error.reason })
        throw failure(error)
      }
    },
  })
}

async function result(response: GuardedResponse) {
  const { url, status, headers } = response
  const { bytes, truncated } = await response.upToLimit()
  const { body, encoding } = bodyText(bytes, headers['content-type'], truncated)
  return { url, status, headers, body, encoding, bytes: bytes.length, truncated }
}

/** The error for a response with status 400 or above. */
function refusal(response: GuardedResponse): Error {
  const { status, headers, url } = response
  response.discard()
  const message = `The server responded with HTTP ${status}.`
  const options = { code: `HTTP_${status}`, details: { status, url } }
  if (status < 500 && !RETRYABLE.has(status)) return new Permanent(message, options)
  const seconds = retryAfterSeconds(headers['retry-after'], headers.date)
  return seconds === undefined
    ? new RetryableError(message, options)
    : new RetryAfter(`${seconds}s`, message, options)
}

function failure({ code, message, retryable }: EgressError): Error {
  return retryable ? new RetryableError(message, { code }) : new Permanent(message, { code })
}

/**
 * Decodes a body with the charset of its content type, UTF-8 by default. The body becomes base64 if it is not text or contains
 * NUL, which the server does not accept.
 */
export function bodyText(
  bytes: Buffer,
  contentType: string | undefined,
  truncated: boolean,
): { readonly body: string; readonly encoding: 'text' | 'base64' } {
  const text = decode(bytes, charsetOf(contentType), truncated)
  if (text === undefined || text.includes('\0')) return { body: bytes.toString('base64'), encoding: 'base64' }
  return { body: text, encoding: 'text' }
}

function charsetOf(contentType = ''): string {
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType) ?? []
  return charset
}

function decode(bytes: Buffer, charset: string, truncated: boolean): string | undefined {
  try {
    // Omits a character that was cut off at the end.
    return new TextDecoder(charset, { fatal: true }).decode(bytes, { stream: truncated })
  } catch {
    return undefined
  }
}
