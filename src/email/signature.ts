import { createHmac, createPublicKey, hash, type KeyObject, timingSafeEqual, verify } from 'node:crypto'

/** A signature that is older or newer proves nothing: it may have been overheard. */
const TOLERANCE_SECONDS = 5 * 60

/** `t=SECONDS,v1=HEX`: the HMAC-SHA-256 of `SECONDS.BODY`. There may be several v1 while a secret is replaced. */
export function isSignedBy(header: string, body: Buffer, secret: string, now: number): boolean {
  const { time, macs } = partsOf(header)
  if (!isRecent(time, now)) return false
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest()
  return macs.some((mac) => timingSafeEqual(expected, mac))
}

/** Whether it has the form of such a signature and is recent. */
export function isSignature(header: string, now: number): boolean {
  const { time, macs } = partsOf(header)
  return macs.length > 0 && isRecent(time, now)
}

function partsOf(header: string): { time: string; macs: Buffer[] } {
  const parts = header.split(',').map((part) => part.trim())
  const macs = parts.filter((part) => /^v1=[0-9a-f]{64}$/i.test(part))
  return {
    time: parts.find((part) => part.startsWith('t='))?.slice(2) ?? '',
    macs: macs.map((part) => Buffer.from(part.slice(3), 'hex')),
  }
}

/** For senders of ours. */
export function signatureOf(body: Buffer, secret: string, now: number): string {
  const time = Math.floor(now / 1000)
  const mac = createHmac('sha256', secret).update(`${time}.`).update(body).digest('hex')
  return `t=${time},v1=${mac}`
}

/** SendGrid's: ECDSA with SHA-256 over its timestamp and the body, in base64. */
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

/** The key as SendGrid shows it: base64 of its SPKI form. Throws if it is none. */
export function sendGridKey(base64: string): KeyObject {
  return createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' })
}

/** In the same time whatever the given text is. */
export function isSecret(given: string, secret: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', secret, 'buffer'))
}

export function isRecent(seconds: string, now: number): boolean {
  return /^\d{1,12}$/.test(seconds) && Math.abs(now / 1000 - Number(seconds)) <= TOLERANCE_SECONDS
}
