import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'

/** In the folder where the server keeps its database. Only its owner can read it. */
export const OWN_KEY_FILE = '.asyncgate/own-key'

/**
 * The key of whoever starts a gateway here, made when there is none. With it the person who approves is another than
 * the agents, who have no key.
 */
export function ownKey(): { readonly name: string; readonly key: string } {
  const name = userInfo().username.replace(/[^\w.@-]/g, '') || 'operator'
  return { name, key: readOwnKey() ?? writeOwnKey() }
}

export function readOwnKey(): string | undefined {
  try {
    return readFileSync(OWN_KEY_FILE, 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}

function writeOwnKey(): string {
  const key = randomBytes(24).toString('base64url')
  mkdirSync(dirname(OWN_KEY_FILE), { recursive: true })
  // Two that start at once agree on the key of the first.
  try {
    writeFileSync(OWN_KEY_FILE, `${key}\n`, { mode: 0o600, flag: 'wx' })
  } catch {
    return readOwnKey() ?? key
  }
  return key
}
