import { createHmac } from 'node:crypto'

const PREFIX = 'whsec_'

/** The bytes of a secret: what follows `whsec_` is base64, anything else is taken as it is. */
export function secretKey(secret: string): Buffer {
  return secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.from(secret)
}

/** The headers by which a receiver knows that a message is ours, whole and new. They follow Standard Webhooks. */
export function signedHeaders(
  key: Buffer,
  message: { readonly id: string; readonly at: number; readonly body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(message.at / 1000))
  const signature = createHmac('sha256', key)
    .update(`${message.id}.${timestamp}.${message.body}`)
    .digest('base64')
  return {
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  }
}
