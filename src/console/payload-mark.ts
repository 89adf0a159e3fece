import { hash } from 'node:crypto'

/** The mark of the payload that a page has shown. */
export function markOf(text: string): string {
  return hash('sha256', text.replaceAll('\r\n', '\n').trim())
}
