import { hash } from 'node:crypto'
import { type CanonicalJson, canonical } from './json/json.ts'
import { isoTime } from './time.ts'

/**
 * Binds a receipt to its body without revealing it: whoever has the body and the salt can verify the commitment, and
 * without the salt even a short body cannot be guessed from it.
 */
export function commitmentOf(salt: string, body: CanonicalJson): string {
  return hash('sha256', `${salt}${body}`)
}

/** What stays of a body that is erased. */
export function erasedBody(salt: string, body: CanonicalJson, now: number): CanonicalJson {
  return canonical({ commitment: commitmentOf(salt, body), erased_at: isoTime(now) })
}

/** The commitment in the body of an erased receipt; empty if it has none, which no commitment is. */
function commitmentIn(body: CanonicalJson): string {
  const stored: unknown = JSON.parse(body)
  const isErased = typeof stored === 'object' && stored !== null && 'commitment' in stored
  return isErased ? String(stored.commitment) : ''
}

/** The commitment to the body of a receipt, whose salt is undefined if the body is erased. */
export function storedCommitment(salt: string | undefined, body: CanonicalJson): string {
  return salt === undefined ? commitmentIn(body) : commitmentOf(salt, body)
}
