import { z } from 'zod'
import { EgressError } from '../egress/error.ts'
import { type GuardedResponse, guardedFetch } from '../egress/fetch.ts'
import type { Resolve } from '../egress/resolve.ts'
import { retryAfterSeconds } from '../egress/retry-after.ts'
import { DEFAULT_EGRESS, type EgressSettings } from '../egress/settings.ts'
import { Permanent, RetryAfter, RetryableError, task } from '../worker/index.ts'
import { bodyText } from './body-text.ts'

/** With this the result fits into a task, whatever the body is made of. */
const DEFAULT_MAX_BYTES = 128 * 1024

/** Answers that another try may change. */
const RETRYABLE = new Set([408, 425, 429])

const input = z.strictObject({
  url: z.string().min(1).max(8_192),
  headers: z
    .record(z.string().max(256), z.string().max(8_192))
    .refine((headers) => Object.keys(headers).length <= 50, 'at most 50 headers')
    .default({}),
  max_bytes: z.int().min(1).default(DEFAULT_MAX_BYTES),
})

/** Fetches a URL that an agent names, behind the egress guard. */
export function httpGet(settings: Partial<EgressSettings> = {}, resolve?: Resolve) {
  const limit = settings.max_bytes ?? DEFAULT_EGRESS.max_bytes
  return task('http_get', {
    input,
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

/** An answer that says no: try again where it may help, when the server asks for it. */
function refusal(response: GuardedResponse): Error {
  const { status, headers, url } = response
  response.discard()
  const message = `The server answered with HTTP ${status}.`
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
