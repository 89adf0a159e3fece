import { hash } from 'node:crypto'

/** As long as a line of a mail can be. */
const MAX_LENGTH = 998

const BRACKETED = /<([^<>\s]+)>/g

/** Message-IDs in a header, without their angle brackets. */
export function messageIdsIn(header: string | undefined): string[] {
  if (header === undefined) return []
  const found = [...header.matchAll(BRACKETED)].map(([, id = '']) => id)
  const bare = header.trim()
  if (found.length === 0 && bare !== '' && !/[\s<>]/.test(bare)) found.push(bare)
  return found.filter((id) => id.length <= MAX_LENGTH)
}

/** A Message-ID is a stranger's text of any length, and is kept under the name of its hash. */
export function hashOf(messageId: string): string {
  return hash('sha256', messageId, 'hex')
}
