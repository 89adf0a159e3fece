import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * Proves to a server on this machine that the caller can read the local key, without sending the key. A proof is valid
 * for one address and port: a program that listens on another port cannot use a proof that it receives.
 */
export const PROOF_HEADER = 'x-asyncgate-local-proof'

/** A proof is created for one request, on the same machine and with the same clock. */
const LIFETIME_MS = 60_000

/** The end of a connection at which the server listens. */
export interface LocalAddress {
  readonly address: string
  readonly port: number
}

export function writeProof(key: string, at: LocalAddress, now: number): string {
  return `${now}.${sign(key, at, String(now))}`
}

/** A server that was started after a proof was made does not accept it: another program may have had the port before. */
export function isProof(
  text: string,
  key: string,
  at: LocalAddress,
  { now, startedAt }: { readonly now: number; readonly startedAt: number },
): boolean {
  const [, made = '', signature = ''] = /^(\d{1,16})\.([\w-]{43})$/.exec(text) ?? []
  const madeAt = Number(made)
  const isCurrent = made !== '' && madeAt >= startedAt && Math.abs(now - madeAt) <= LIFETIME_MS
  return isCurrent && timingSafeEqual(Buffer.from(signature), Buffer.from(sign(key, at, made)))
}

function sign(key: string, { address, port }: LocalAddress, made: string): string {
  // A server that listens on all addresses of both families sees IPv4 addresses in this form.
  const plain = address.toLowerCase().replace(/^::ffff:/, '')
  return createHmac('sha256', key).update(`local proof 1\n${plain} ${port}\n${made}`).digest('base64url')
}
