/** A matcher for a pattern in which `*` matches any text and `\` escapes the next character. */
export type Glob = (text: string) => boolean

/** The pattern that matches this text only. */
export function literally(text: string): string {
  return text.replace(/[\\*]/g, (character) => `\\${character}`)
}

export function glob(pattern: string): Glob {
  const parts = partsOf(pattern)
  const first = parts[0] ?? ''
  if (parts.length === 1) return (text) => text === first
  const last = parts[parts.length - 1] ?? ''
  const between = parts.slice(1, -1)
  return (text) => {
    if (text.length < first.length + last.length) return false
    if (!text.startsWith(first) || !text.endsWith(last)) return false
    // The earliest match of each part leaves the most room for the next.
    let from = first.length
    const end = text.length - last.length
    for (const part of between) {
      const found = text.indexOf(part, from)
      if (found < 0 || found + part.length > end) return false
      from = found + part.length
    }
    return true
  }
}

/** The parts between the stars. */
function partsOf(pattern: string): string[] {
  const parts: string[] = []
  let part = ''
  for (let i = 0; i < pattern.length; i++) {
    const character = pattern.charAt(i)
    if (character === '\\' && i + 1 < pattern.length) part += pattern.charAt(++i)
    else if (character === '*') {
      parts.push(part)
      part = ''
    } else part += character
  }
  return [...parts, part]
}
