import { hash } from 'node:crypto'
import type { CanonicalJson } from './json/json.ts'

/**
 * Binds a receipt to its body without revealing it: whoever has the body and the salt can verify the commitment, and
 * without the salt even a short body cannot be guessed from it.
 */
export function commitmentOf(salt: string, body: CanonicalJson): string {
  return hash('sha256', `${salt}${body}`)
}
