import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** Encrypts a text; the name is authenticated with it, so that stored texts cannot be exchanged. */
export function seal(secret: Buffer, name: string, text: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(ALGORITHM, secret, iv).setAAD(Buffer.from(name))
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString('base64')
}

export function unseal(secret: Buffer, name: string, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64')
  const tag = bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)
  const decipher = createDecipheriv(ALGORITHM, secret, bytes.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(Buffer.from(name)).setAuthTag(tag)
  const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
  return text.toString('utf8')
}
