import { hash } from 'node:crypto'
import type { CanonicalJson } from './json/json.ts'

/**
 * Binds a receipt to its body without revealing it: whoever has the body and the salt can verify the commitment, and
 * without the salt even a short body cannot be guessed from it.
 */
export function commitmentOf(salt: string, body: CanonicalJson): string {
  return hash('sha256', `${salt}${body}`)
}

/** The commitment in the body of an erased receipt; empty if it has none, which no commitment is. */
export function commitmentIn(body: CanonicalJson): string {
  const stored: unknown = JSON.parse(body)
  const isErased = typeof stored === 'object' && stored !== null && 'commitment' in stored
  return isErased ? String(stored.commitment) : ''
}
