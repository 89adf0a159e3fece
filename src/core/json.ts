import { Fault, invalid } from './errors.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** RFC 8785 text: equal values have equal texts, so texts can be compared and hashed. */
export type CanonicalJson = string & { readonly __canonical: true }

export const MAX_DEPTH = 64

/**
 * The canonical text of a value, refusing everything that the two databases, JSON parsers or JavaScript itself
 * would treat differently. It is the only way into a stored JSON column.
 */
export function canonical(value: unknown, path = ''): CanonicalJson {
  return write(value, path, 1) as CanonicalJson
}

/** Canonical text no longer than `limit` bytes. */
export function canonicalWithin(value: unknown, path: string, limit: number): CanonicalJson {
  const text = canonical(value, path)
  if (text.length > limit || Buffer.byteLength(text) > limit) {
    throw new Fault('PAYLOAD_TOO_LARGE', { path, limit_bytes: limit })
  }
  return text
}

export function parseCanonical(text: CanonicalJson): Json {
  return JSON.parse(text)
}

/** `undefined` members are left out, as JSON.stringify does; `undefined` elements of arrays are refused. */
function write(value: unknown, path: string, depth: number): string {
  switch (typeof value) {
    case 'string':
      checkText(value, path)
      return JSON.stringify(value)
    case 'number':
      checkNumber(value, path)
      return JSON.stringify(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      if (depth > MAX_DEPTH) throw invalid(path, `is nested deeper than ${MAX_DEPTH}`)
      return Array.isArray(value) ? writeArray(value, path, depth) : writeObject(value, path, depth)
    default:
      throw invalid(path, `is not JSON (${typeof value})`)
  }
}

function writeArray(array: readonly unknown[], path: string, depth: number): string {
  const parts: string[] = []
  for (let i = 0; i < array.length; i++) parts.push(write(array[i], `${path}[${i}]`, depth + 1))
  return `[${parts.join(',')}]`
}

function writeObject(object: object, path: string, depth: number): string {
  const prototype = Object.getPrototypeOf(object)
  if (prototype !== Object.prototype && prototype !== null) throw invalid(path, 'is not a plain JSON object')
  // RFC 8785 sorts by UTF-16 code units, which is what the default sort compares.
  const keys = Object.keys(object).sort()
  const parts: string[] = []
  for (const key of keys) {
    const member = (object as Record<string, unknown>)[key]
    if (member === undefined) continue
    const memberPath = path === '' ? key : `${path}.${key}`
    if (key === '__proto__') throw invalid(memberPath, 'is not an allowed key')
    checkText(key, memberPath)
    parts.push(`${JSON.stringify(key)}:${write(member, memberPath, depth + 1)}`)
  }
  return `{${parts.join(',')}}`
}

export function checkText(text: string, path: string): void {
  if (text.includes('\0')) throw invalid(path, 'contains a NUL character')
  if (!text.isWellFormed()) throw invalid(path, 'contains a lone surrogate')
}

export function checkNumber(number: number, path: string): void {
  if (!Number.isFinite(number)) throw invalid(path, 'is not a finite number')
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
    throw invalid(path, 'is an integer beyond 2^53; send it as a string')
  }
}
