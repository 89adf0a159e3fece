import { createPublicKey, hash, type KeyObject, timingSafeEqual, verify } from 'node:crypto'
import { isRecent } from '../util/webhook-signature.ts'

/** SendGrid's signature: ECDSA with SHA-256 over its timestamp and the body, in base64. */
export function isSignedBySendGrid(
  signature: string,
  timestamp: string,
  body: Buffer,
  key: KeyObject,
  now: number,
): boolean {
  if (!isRecent(timestamp, now)) return false
  const signed = Buffer.concat([Buffer.from(timestamp), body])
  return verify('sha256', signed, key, Buffer.from(signature, 'base64'))
}

/** The key as SendGrid shows it: base64 of its SPKI form. Throws if the text is not a key. */
export function sendGridKey(base64: string): KeyObject {
  return createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' })
}

/** Compares in constant time. */
export function isSecret(given: string, secret: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', secret, 'buffer'))
}
