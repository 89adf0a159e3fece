import { guardedFetch } from '../egress/fetch.ts'
import { allowOnlyOrigin, type EgressSettings } from '../egress/settings.ts'
import { secretKey, signedHeaders } from '../util/webhook-signature.ts'

interface Receiver {
  readonly url: string
  readonly secret: string
  /** Changes to the default egress limits. */
  readonly egress?: Partial<EgressSettings> | undefined
  /** Whether the egress limits apply to the URL too. Otherwise it may be a private address, since the operator chose it. */
  readonly isGuarded?: boolean
}

export interface Message {
  /** The same for every attempt. */
  readonly id: string
  readonly body: string
}

/** Sends a message. Resolves when the receiver has accepted it. */
export type Post = (message: Message, signal: AbortSignal) => Promise<void>

const TIMEOUT_MS = 15_000
const MAX_RESPONSE_BYTES = 16 * 1024

export function postTo({ url, secret, egress = {}, isGuarded = false }: Receiver): Post {
  const key = secretKey(secret)
  const settings = {
    ...egress,
    ...(isGuarded ? { max_redirects: 0 } : allowOnlyOrigin(url, egress)),
    max_bytes: MAX_RESPONSE_BYTES,
    total_timeout_ms: TIMEOUT_MS,
  }
  return async ({ id, body }, signal) => {
    const signed = signedHeaders(key, { id, at: Date.now(), body })
    const response = await guardedFetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'asyncgate', ...signed },
      body: Buffer.from(body),
      settings,
      signal,
    })
    response.discard()
    if (response.status < 200 || response.status > 299)
      throw new Error(`it responded with ${response.status}`)
  }
}
