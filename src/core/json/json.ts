import { Fault, invalid } from '../errors.ts'

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
  return write(value, path === '' ? [] : [path], 1, {
    left: Number.POSITIVE_INFINITY,
    path,
    limit: 0,
  }) as CanonicalJson
}

/** Canonical text no longer than `limit` bytes. */
export function canonicalWithin(value: unknown, path: string, limit: number): CanonicalJson {
  // A character takes at least one byte, so what is much too large is refused before it is all written.
  const text = write(value, path === '' ? [] : [path], 1, { left: limit, path, limit }) as CanonicalJson
  return within(text, path, limit)
}

/** The text, if it is no longer than `limit` bytes. */
export function within(text: CanonicalJson, path: string, limit: number): CanonicalJson {
  if (text.length > limit || Buffer.byteLength(text) > limit) throw tooLarge(path, limit)
  return text
}

function tooLarge(path: string, limit: number): Fault {
  return new Fault('PAYLOAD_TOO_LARGE', { path, limit_bytes: limit })
}

export function parseCanonical(text: CanonicalJson): Json {
  return JSON.parse(text)
}

/** Where a value stands. It becomes a text only when there is something to complain about. */
type Trail = (string | number)[]

/** How many characters may still be written, and what to say of more. */
interface Room {
  left: number
  readonly path: string
  readonly limit: number
}

function spend(room: Room, characters: number): void {
  room.left -= characters
  if (room.left < 0) throw tooLarge(room.path, room.limit)
}

/** `undefined` members are left out, as JSON.stringify does; `undefined` elements of arrays are refused. */
function write(value: unknown, trail: Trail, depth: number, room: Room): string {
  switch (typeof value) {
    case 'string':
      if (isUnclean(value)) checkText(value, pathOf(trail))
      spend(room, value.length)
      return JSON.stringify(value)
    case 'number':
      if (!Number.isSafeInteger(value)) checkNumber(value, pathOf(trail))
      // RFC 8785 writes numbers as ECMAScript does.
      return String(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      if (depth > MAX_DEPTH) throw invalid(pathOf(trail), `is nested deeper than ${MAX_DEPTH}`)
      return Array.isArray(value)
        ? writeArray(value, trail, depth, room)
        : writeObject(value, trail, depth, room)
    default:
      throw invalid(pathOf(trail), `is not JSON (${typeof value})`)
  }
}

function writeArray(array: readonly unknown[], trail: Trail, depth: number, room: Room): string {
  // Each item is at least a digit and a comma.
  spend(room, 2 * array.length)
  let text = '['
  for (let i = 0; i < array.length; i++) {
    trail.push(i)
    text += (i === 0 ? '' : ',') + write(array[i], trail, depth + 1, room)
    trail.pop()
  }
  return `${text}]`
}

/** Sorted by UTF-16 code units, as RFC 8785 requires. */
export function sortedKeys(object: object): string[] {
  const keys = Object.keys(object)
  // Most objects are small, and for those Array.sort allocates more than the keys take.
  if (keys.length > 16) return keys.sort()
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] ?? ''
    let place = i
    for (; place > 0; place--) {
      const before = keys[place - 1] ?? ''
      if (before <= key) break
      keys[place] = before
    }
    keys[place] = key
  }
  return keys
}

function writeObject(object: object, trail: Trail, depth: number, room: Room): string {
  const prototype = Object.getPrototypeOf(object)
  if (prototype !== Object.prototype && prototype !== null) {
    throw invalid(pathOf(trail), 'is not a plain JSON object')
  }
  let text = '{'
  for (const key of sortedKeys(object)) {
    const member = (object as Record<string, unknown>)[key]
    if (member === undefined) continue
    trail.push(key)
    if (key === '__proto__') throw invalid(pathOf(trail), 'is not an allowed key')
    if (isUnclean(key)) checkText(key, pathOf(trail))
    spend(room, key.length + 2)
    text += `${text === '{' ? '' : ','}${JSON.stringify(key)}:${write(member, trail, depth + 1, room)}`
    trail.pop()
  }
  return `${text}}`
}

/** `a.b[2].c` */
function pathOf(trail: Trail): string {
  let path = ''
  for (const step of trail) {
    if (typeof step === 'number') path += `[${step}]`
    else path += path === '' ? step : `.${step}`
  }
  return path
}

function isUnclean(text: string): boolean {
  return text.includes('\0') || !text.isWellFormed()
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
