import { hkdfSync, randomBytes } from 'node:crypto'
import type { AuthSettings } from '../auth/credential.ts'

/** All keys of a server whose people have keys; none if only agents and workers have one. */
export function signingKeys({ api_key, admin_keys, local_keys }: AuthSettings): readonly string[] {
  const personal = Object.values({ ...local_keys, ...admin_keys })
  return personal.length === 0 || api_key === null ? personal : [api_key, ...personal]
}

/**
 * What sign-ins are signed with. It comes from the keys of the server, so all instances that share them accept each
 * other's, and a changed key ends them all. A key that only people have must be among them: whoever knows all of the
 * keys can sign in as anybody. Without keys the secret is that of the process.
 */
export function signingSecret(keys: readonly string[]): Buffer {
  if (keys.length === 0) return randomBytes(32)
  const material = JSON.stringify(keys.toSorted())
  return Buffer.from(hkdfSync('sha256', material, 'asyncgate', 'console sign-in 2', 32))
}
