import { invalid } from './errors.ts'
import { type Json, MAX_DEPTH } from './json.ts'

/**
 * Parses JSON text, refusing what JSON.parse hides: duplicate keys (the last one silently wins), nesting deeper
 * than the limit, integers that lose digits, and `__proto__` keys. What counts may stand some levels down in the
 * text: in an envelope.
 */
export function parseJson(text: string, levelsDown = 0): Json {
  let value: Json
  try {
    value = JSON.parse(text)
  } catch {
    throw invalid('', 'is not valid JSON')
  }
  const maxDepth = MAX_DEPTH + levelsDown
  if (countKeys(value, maxDepth) !== countColons(text)) inspect(text, maxDepth)
  return value
}

/** The keys of all objects within; NaN if there is anything else for `inspect` to complain about. */
function countKeys(value: Json, depth: number): number {
  if (typeof value === 'number') {
    return Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value))
      ? 0
      : Number.NaN
  }
  if (typeof value !== 'object' || value === null) return 0
  if (depth === 0) return Number.NaN
  let count = 0
  if (isList(value)) {
    for (const item of value) count += countKeys(item, depth - 1)
    return count
  }
  for (const key in value) {
    if (key === '__proto__') return Number.NaN
    count += 1 + countKeys(value[key] ?? null, depth - 1)
  }
  return count
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

/** Keys in the text, each with its repeats: in valid JSON a colon follows every key, and no other string. */
function countColons(text: string): number {
  let count = 0
  let i = text.indexOf('"')
  while (i >= 0) {
    i = endOfString(text, i)
    while (isBlank(text.charCodeAt(i))) i++
    if (text.charCodeAt(i) === 0x3a /* : */) count++
    i = text.indexOf('"', i)
  }
  return count
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

interface Level {
  /** Keys seen so far; null for an array. */
  readonly keys: Set<string> | null
  expectKey: boolean
}

/** Walks text that is known to be valid JSON, and says what is wrong with it. */
function inspect(text: string, maxDepth: number): void {
  const levels: Level[] = []
  let top: Level | undefined
  let i = 0
  while (i < text.length) {
    switch (text.charCodeAt(i)) {
      case 0x7b /* { */:
      case 0x5b /* [ */:
        {
          const isObject = text.charCodeAt(i) === 0x7b
          top = { keys: isObject ? new Set() : null, expectKey: isObject }
          levels.push(top)
          if (levels.length > maxDepth) throw invalid('', `is nested deeper than ${MAX_DEPTH}`)
          i++
          break
        }
      case 0x7d /* } */:
      case 0x5d /* ] */:
        levels.pop()
        top = levels.at(-1)
        i++
        break
      case 0x2c /* , */:
        if (top?.keys) top.expectKey = true
        i++
        break
      case 0x22 /* " */:
        {
          const end = endOfString(text, i)
          if (top?.keys && top.expectKey) {
            top.expectKey = false
            checkKey(top.keys, text.slice(i, end))
          }
          i = end
          break
        }
      default:
        i = isNumberStart(text.charCodeAt(i)) ? checkNumberText(text, i) : i + 1
    }
  }
}

function checkKey(seen: Set<string>, quoted: string): void {
  const key: string = JSON.parse(quoted)
  if (key === '__proto__') throw invalid(key, 'is not an allowed key')
  if (seen.has(key)) throw invalid(shorten(key), 'appears twice in one object')
  seen.add(key)
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end + 1
}

/** Whether an odd number of backslashes stands before the character. */
function isEscaped(text: string, at: number): boolean {
  let i = at
  while (text.charCodeAt(i - 1) === 0x5c /* \ */) i--
  return (at - i) % 2 === 1
}

function isNumberStart(code: number): boolean {
  return code === 0x2d || (code >= 0x30 && code <= 0x39)
}

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y

function checkNumberText(text: string, start: number): number {
  NUMBER.lastIndex = start
  const token = NUMBER.exec(text)?.[0] ?? ''
  const number = Number(token)
  if (!Number.isFinite(number)) throw invalid('', `contains ${shorten(token)}, which is not a finite number`)
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
    throw invalid('', `contains ${shorten(token)}, an integer beyond 2^53; send it as a string`)
  }
  return start + token.length
}

/** Errors quote what they complain about, but not megabytes of it. */
function shorten(text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text
}
