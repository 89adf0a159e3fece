import type { Fault } from '../errors.ts'
import { type Json, MAX_DEPTH } from './json.ts'
import { type JsonLimits, MAX_FIELDS, notJson, type Reading, readJson } from './reader.ts'
import { endOfString, isBlank } from './string.ts'

export type { Reading } from './reader.ts'

/** JSON.parse and the checks of a text of this length take a few milliseconds, whatever is in it. */
const MAX_AT_ONCE = 128 * 1024

/**
 * Parses JSON text, refusing what JSON.parse hides: duplicate keys (the last one silently wins), nesting deeper
 * than the limit, integers that lose digits, and `__proto__` keys.
 */
export function parseJson(text: string): Json {
  return checked(inOneGo(jsonReading(text, { maxDepth: MAX_DEPTH, fieldDepth: 0 })))
}

/** Reads to the end without a pause. */
export function inOneGo<T>(reading: Generator<void, T>): T {
  for (;;) {
    const step = reading.next()
    if (step.done) return step.value
  }
}

/** The fields of a request in the same way, with pauses: a long text does not keep anything else waiting. */
export function* parseFields(text: string): Generator<void, Json> {
  return checked(yield* jsonReading(text, { maxDepth: MAX_DEPTH, fieldDepth: 1 }))
}

/** A message whose fields are `levels` further down, in an envelope. Its problems are returned beside its value. */
export function readEnveloped(text: string, levels: number): Generator<void, Reading> {
  return jsonReading(text, { maxDepth: MAX_DEPTH + levels, fieldDepth: 1 + levels })
}

function* jsonReading(text: string, limits: JsonLimits): Generator<void, Reading> {
  const value = text.length <= MAX_AT_ONCE ? plainValue(text, limits) : undefined
  return value === undefined ? yield* readJson(text, limits) : { value }
}

/** Whether the text was refused because it is not JSON at all. */
export function isNotJson({ details }: Fault): boolean {
  return details.problem === notJson().details.problem
}

function checked({ value, flaw }: Reading): Json {
  if (flaw !== undefined) throw flaw
  return value
}

/** The value of a text with nothing to complain about, else undefined: the fast way for nearly all texts. */
function plainValue(text: string, { maxDepth, fieldDepth }: JsonLimits): Json | undefined {
  let value: Json
  try {
    value = JSON.parse(text)
  } catch {
    throw notJson()
  }
  const keys = countKeys(value, maxDepth, maxDepth - fieldDepth)
  return keys === countColons(text) ? value : undefined
}

/** The keys of all objects within; NaN if there is anything else to complain about. Fields are above level `narrow`. */
function countKeys(value: Json, depth: number, narrow: number): number {
  if (typeof value === 'number') {
    return Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value))
      ? 0
      : Number.NaN
  }
  if (typeof value !== 'object' || value === null) return 0
  if (depth === 0) return Number.NaN
  let count = 0
  if (isList(value)) {
    for (const item of value) count += countKeys(item, depth - 1, narrow)
    return count
  }
  let members = 0
  for (const key in value) {
    if (key === '__proto__') return Number.NaN
    members++
    count += 1 + countKeys(value[key] ?? null, depth - 1, narrow)
  }
  return depth > narrow && members > MAX_FIELDS ? Number.NaN : count
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
