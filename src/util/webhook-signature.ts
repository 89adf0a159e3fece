import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** Signatures of Standard Webhooks: HMAC-SHA-256 of `id.timestamp.body`, with the algorithm version in front. */

const PREFIX = 'whsec_'

/** A timestamp further away than this may belong to a replayed message. */
const TOLERANCE_SECONDS = 5 * 60

/** The bytes of a secret: base64 after `whsec_`, the text itself otherwise. */
export function secretKey(secret: string): Buffer {
  return secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.from(secret)
}

export function signedHeaders(
  key: Buffer,
  message: { readonly id: string; readonly at: number; readonly body: string | Uint8Array },
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const timestamp = String(Math.floor(message.at / 1000))
  return {
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${macOf(key, message.id, timestamp, message.body).toString('base64')}`,
  }
}

/** Whether the headers can be those of a signed message as far as can be determined without its body. */
export function mayBeSigned(headers: IncomingHttpHeaders, now: number): boolean {
  const { id, timestamp, macs } = partsOf(headers)
  return id !== '' && macs.length > 0 && isRecent(timestamp, now)
}

/** Whether one of the signatures is that of this body; there are several while a secret is being replaced. */
export function isSigned(headers: IncomingHttpHeaders, body: Uint8Array, key: Buffer, now: number): boolean {
  if (!mayBeSigned(headers, now)) return false
  const { id, timestamp, macs } = partsOf(headers)
  const expected = macOf(key, id, timestamp, body)
  return macs.some((mac) => timingSafeEqual(expected, mac))
}

export function isRecent(seconds: string, now: number): boolean {
  return /^\d{1,12}$/.test(seconds) && Math.abs(now / 1000 - Number(seconds)) <= TOLERANCE_SECONDS
}

function macOf(key: Buffer, id: string, timestamp: string, body: string | Uint8Array): Buffer {
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
}

function partsOf(headers: IncomingHttpHeaders) {
  const textOf = (name: string) => {
    const value = headers[name]
    return typeof value === 'string' ? value : ''
  }
  const signatures = textOf('webhook-signature').split(' ')
  return {
    id: textOf('webhook-id'),
    timestamp: textOf('webhook-timestamp'),
    macs: signatures
      .filter((signature) => /^v1,[A-Za-z0-9+/]{43}=$/.test(signature))
      .map((signature) => Buffer.from(signature.slice(3), 'base64')),
  }
}
