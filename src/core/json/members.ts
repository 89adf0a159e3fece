import type { CanonicalJson } from './json.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** The members of a canonical object, each as its own text. No value is parsed, so the cost is one pass over the text. */
export function membersIn(object: CanonicalJson): [name: string, text: CanonicalJson][] {
  const members: [string, CanonicalJson][] = []
  if (object === '{}') return members
  let at = 1
  while (at < object.length) {
    const nameEnd = stringEnd(object, at)
    const end = valueEnd(object, nameEnd + 1)
    // A part of a canonical text that holds one value is canonical too.
    members.push([JSON.parse(object.slice(at, nameEnd)), object.slice(nameEnd + 1, end) as CanonicalJson])
    at = end + 1
  }
  return members
}

/** Where the value that begins at `start` ends: at the comma or the brace behind it. */
function valueEnd(text: string, start: number): number {
  let depth = 0
  let at = start
  for (;;) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = stringEnd(text, at)
      continue
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth++
    } else if (depth === 0) {
      if (code === COMMA || code === CLOSE_BRACE) return at
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth--
    }
    if (at >= text.length) throw new Error('a stored text is not a whole JSON object')
    at++
  }
}

/** Where the string that begins at `start` ends: behind its closing quote. */
function stringEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote + 1
  }
  throw new Error('a stored text is not a whole JSON object')
}
