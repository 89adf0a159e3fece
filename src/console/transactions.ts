import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { z } from 'zod'

/** How long a person may take at the identity provider. */
export const TRANSACTION_SECONDS = 600

const ALGORITHM = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** A sign-in that was begun at the identity provider. */
const transactionShape = z.strictObject({
  checks: z.strictObject({ state: z.string().min(16), nonce: z.string().min(16), verifier: z.string() }),
  /** The path of the console after the sign-in. */
  next: z.string(),
  until: z.int(),
})

export type Transaction = Omit<z.output<typeof transactionShape>, 'until'>

/** Writes transactions into cookies and reads them again. Browsers can neither read nor change what a cookie contains. */
export class Transactions {
  readonly #key: Buffer
  readonly #now: () => number

  constructor(secret: Buffer, now: () => number = Date.now) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'sign-in at an identity provider', 32))
    this.#now = now
  }

  write(transaction: Transaction): string {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#key, iv)
    const text = JSON.stringify({ ...transaction, until: this.#now() + TRANSACTION_SECONDS * 1000 })
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
  }

  /** Undefined if the cookie was not written by a server with this secret, or has expired. */
  read(cookie: string): Transaction | undefined {
    const bytes = Buffer.from(cookie, 'base64url')
    const [start, end] = [IV_BYTES, IV_BYTES + TAG_BYTES]
    if (bytes.length <= end) return undefined
    const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, start), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAuthTag(bytes.subarray(start, end))
    try {
      const text = Buffer.concat([decipher.update(bytes.subarray(end)), decipher.final()]).toString('utf8')
      const { until, ...transaction } = transactionShape.parse(JSON.parse(text))
      return until > this.#now() ? transaction : undefined
    } catch {
      return undefined
    }
  }
}
