import fc from 'fast-check'
import type { Json } from '../../src/core/json/json.ts'

/** Text that may be stored: no NUL, no lone surrogates. */
export const cleanText = fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.replaceAll('\0', ''))

const key = cleanText.filter((text) => text !== '__proto__')

const number = fc
  .oneof(
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.double({ min: -1, max: 1 }),
  )
  .filter((value) => Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value)))
  // JSON text has no negative zero.
  .map((value) => (value === 0 ? 0 : value))

/** Any JSON value that AsyncGate accepts. */
export const plainJson: fc.Arbitrary<Json> = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false),
    number,
    cleanText,
    fc.array(tie('json'), { maxLength: 5 }),
    fc.dictionary(key, tie('json'), { maxKeys: 5, noNullPrototype: true }),
  ),
})).json

/** The same value with the members of every object reordered. */
export function reordered(value: Json): Json {
  if (Array.isArray(value)) return value.map(reordered)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, member]): [string, Json] => [name, reordered(member)])
  return Object.fromEntries(entries.reverse())
}

export function nestedArrays(depth: number): Json {
  let value: Json = 0
  for (let i = 0; i < depth; i++) value = [value]
  return value
}

export function nestedObjects(depth: number): Json {
  let value: Json = 0
  for (let i = 0; i < depth; i++) value = { a: value }
  return value
}
