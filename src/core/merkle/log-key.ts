import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { LogKey } from './checkpoint.ts'

const BLOCK = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----/g
const PUBLIC_KEY_BYTES = 32

export function createLogKey(): LogKey {
  return logKeyOf(generateKeyPairSync('ed25519').privateKey)
}

/** The private key as PEM text. */
export function pemOf({ privateKey }: LogKey): string {
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** The Ed25519 keys in a PEM text, in their order; undefined if it contains none or something else. */
export function readLogKeys(pem: string): LogKey[] | undefined {
  const blocks = pem.match(BLOCK) ?? []
  if (blocks.length === 0 || pem.replace(BLOCK, '').trim() !== '') return undefined
  try {
    const keys = blocks.map((block) => createPrivateKey(block))
    return keys.every((key) => key.asymmetricKeyType === 'ed25519') ? keys.map(logKeyOf) : undefined
  } catch {
    return undefined
  }
}

function logKeyOf(privateKey: KeyObject): LogKey {
  // The key itself is the end of its DER form.
  const der = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  return { privateKey, publicKey: der.subarray(-PUBLIC_KEY_BYTES) }
}
