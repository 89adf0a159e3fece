import { hash } from 'node:crypto'

/** The SHA-256 of a text in the form of fingerprints and content hashes: `sha256:` and 64 hexadecimal digits. */
export function sha256(text: string): string {
  return `sha256:${hash('sha256', text)}`
}
