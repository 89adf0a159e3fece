import fc from 'fast-check'
import type { Json } from '../../src/core/json/json.ts'
import { beyond, type JsonFields, type Schema } from './schema.ts'

/** Makes an input invalid, at a position that `at` selects. */
export type Mutation = (input: JsonFields) => JsonFields

const nested = (levels: number): Json => (levels === 0 ? [] : { a: [nested(levels - 1)] })
const proto = (value: Json): JsonFields => Object.fromEntries([['__proto__', value]])

const WRONG: readonly Json[] = [
  null,
  true,
  0,
  -1,
  1.5,
  '',
  'x',
  [],
  [[]],
  {},
  2 ** 53,
  -(2 ** 60),
  1e300,
  'a\0b',
  '\ud800',
  { '\udfff': 1 },
  { 'a\0': 1 },
  nested(30),
  nested(40),
  proto(1),
  proto({ type: 'hidden' }),
  'é'.repeat(300),
  'x'.repeat(3_000),
  'x'.repeat(40_000),
  'x'.repeat(300_000),
  '00000000-0000-7000-8000-000000000000',
  '../../health',
  '%00',
  'system:x',
  "'; DROP TABLE tasks; --",
]

/** One mutation of an input that matches its schema. */
export function mutation(schema: Schema): fc.Arbitrary<Mutation> {
  const outside = Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
    beyond(member).map(
      (value): Mutation =>
        (input) => ({ ...input, [name]: value }),
    ),
  )
  const replace = fc.record({ at: fc.nat(), value: fc.constantFrom(...WRONG) }).map(
    ({ at, value }): Mutation =>
      (input) =>
        change(input, at, () => [value]),
  )
  const remove = fc.nat().map(
    (at): Mutation =>
      (input) =>
        change(input, at, () => []),
  )
  const extra = fc
    .constantFrom(
      'surprise',
      '__proto__',
      'constructor',
      'toString',
      '',
      'tenant_id',
      'principal_kind',
      'a\0',
    )
    .map(
      (name): Mutation =>
        (input) =>
          Object.fromEntries([...Object.entries(input), [name, 'system']]),
    )
  return fc.oneof(
    replace,
    replace,
    remove,
    extra,
    ...(outside.length > 0 ? [fc.constantFrom(...outside)] : []),
  )
}

/** The input with one of its values, at any depth, replaced by a value of `by`. */
function change(input: JsonFields, at: number, by: () => readonly Json[]): JsonFields {
  let left = at % Math.max(1, count(input))
  const inObject = (object: JsonFields): JsonFields =>
    Object.fromEntries(
      Object.entries(object).flatMap(([key, value]) => each(value).map((changed) => [key, changed] as const)),
    )
  const each = (value: Json): readonly Json[] => {
    if (left-- === 0) return by()
    if (isList(value)) return [value.flatMap(each)]
    return [typeof value === 'object' && value !== null ? inObject(value) : value]
  }
  return inObject(input)
}

function count(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  const members: Json[] = isList(value) ? [...value] : Object.values(value)
  return members.reduce<number>((sum, member) => sum + 1 + count(member), 0)
}

export function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
