import { hkdfSync, randomBytes } from 'node:crypto'

/**
 * What sign-ins are signed with. It comes from the keys of the configuration, so all instances that share them accept
 * each other's, and a changed key ends them all. Without keys it lives and dies with the process.
 */
export function signingSecret(keys: readonly string[]): Buffer {
  if (keys.length === 0) return randomBytes(32)
  const material = JSON.stringify(keys.toSorted())
  return Buffer.from(hkdfSync('sha256', material, 'asyncgate', 'console sign-in 1', 32))
}
