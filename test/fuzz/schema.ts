import fc from 'fast-check'
import { z } from 'zod'
import type { Json } from '../../src/core/json/json.ts'

/** The keywords of JSON Schema that the catalogue's input schemas use. Other keywords are refused, not ignored. */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'null' | undefined
  readonly anyOf?: readonly Schema[] | undefined
  readonly enum?: readonly string[] | undefined
  readonly const?: boolean | string | number | undefined
  readonly minimum?: number | undefined
  readonly maximum?: number | undefined
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
  readonly pattern?: string | undefined
  readonly format?: 'date-time' | undefined
  readonly minItems?: number | undefined
  readonly maxItems?: number | undefined
  readonly items?: Schema | undefined
  readonly properties?: Readonly<Record<string, Schema>> | undefined
  readonly required?: readonly string[] | undefined
  readonly additionalProperties?: false | Schema | undefined
}

const schema: z.ZodType<Schema> = z.lazy(() =>
  z.strictObject({
    type: z.enum(['object', 'array', 'string', 'integer', 'number', 'boolean', 'null']).optional(),
    anyOf: z.array(schema).min(1).optional(),
    enum: z.array(z.string()).optional(),
    const: z.union([z.boolean(), z.string(), z.number()]).optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    minLength: z.number().optional(),
    maxLength: z.number().optional(),
    pattern: z.string().optional(),
    format: z.literal('date-time').optional(),
    minItems: z.number().optional(),
    maxItems: z.number().optional(),
    items: schema.optional(),
    properties: z.record(z.string(), schema).optional(),
    required: z.array(z.string()).optional(),
    additionalProperties: z.union([z.literal(false), schema]).optional(),
    default: z.unknown().optional(),
    description: z.string().optional(),
  }),
)

export function readSchema(value: unknown): Schema {
  return schema.parse(value)
}

/** Typical values of a field with this name, so that requests refer to each other's tasks, leases and receipts. */
export type ByName = Readonly<Record<string, fc.Arbitrary<Json>>>

export type JsonFields = Readonly<Record<string, Json>>

/** Objects that match the schema: all required fields and some of the others. */
export function fittingObject(
  { properties = {}, required = [] }: Schema,
  byName: ByName,
): fc.Arbitrary<JsonFields> {
  const members = Object.entries(properties).map(([name, member]) => {
    const value = byName[name] ?? fitting(member, byName)
    return fc.record({ name: fc.constant(name), value, given: required.includes(name) ? ALWAYS : SELDOM })
  })
  return fc
    .tuple(...members)
    .map((all) =>
      Object.fromEntries(all.filter(({ given }) => given).map(({ name, value }) => [name, value] as const)),
    )
}

const ALWAYS = fc.constant(true)
const SELDOM = fc.integer({ min: 0, max: 3 }).map((dice) => dice === 0)

/** Values that match the schema, including its limits. */
function fitting(schema: Schema, byName: ByName): fc.Arbitrary<Json> {
  const {
    minimum = -1e6,
    maximum = 1e6,
    minLength = 0,
    maxLength = 100,
    minItems = 0,
    maxItems = 10,
  } = schema
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => fitting(one, byName)))
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  switch (schema.type) {
    case 'object':
      return schema.additionalProperties
        ? fc.dictionary(
            fc.string({ minLength: 1, maxLength: 8 }),
            fitting(schema.additionalProperties, byName),
            {
              maxKeys: 3,
            },
          )
        : fittingObject(schema, byName)
    case 'array':
      return fc.array(fitting(schema.items ?? {}, byName), {
        minLength: minItems,
        maxLength: Math.min(maxItems, 4),
      })
    case 'string':
      if (schema.format !== undefined)
        return fc.date({ noInvalidDate: true }).map((date) => date.toISOString())
      if (schema.pattern !== undefined) {
        return fc.stringMatching(new RegExp(schema.pattern)).filter(({ length }) => length <= maxLength)
      }
      return often(
        fc.string({
          minLength: Math.max(1, minLength),
          maxLength: Math.min(maxLength, 30),
          unit: 'grapheme',
        }),
        fc.constantFrom('x'.repeat(maxLength), 'é'.repeat(Math.max(1, minLength))),
      )
    case 'integer':
      return often(
        fc.integer({ min: minimum, max: Math.min(maximum, minimum + 300) }),
        fc.constantFrom(minimum, maximum),
      )
    case 'number':
      return often(fc.double({ min: minimum, max: maximum, noNaN: true }), fc.constantFrom(minimum, maximum))
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    default:
      return anyJson
  }
}

export function often<T>(usual: fc.Arbitrary<T>, unusual: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 8, arbitrary: usual }, { weight: 1, arbitrary: unusual })
}

const anyJson: fc.Arbitrary<Json> = often(
  fc.dictionary(
    fc.string({ maxLength: 8 }),
    fc.oneof(fc.integer(), fc.string({ maxLength: 20 }), fc.boolean()),
    {
      maxKeys: 4,
      noNullPrototype: true,
    },
  ),
  fc.jsonValue({ maxDepth: 3 }).map((value): Json => JSON.parse(JSON.stringify(value))),
)

/** Values just outside the limits of the schema. */
export function beyond(schema: Schema): Json[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema
  return [
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined ? [] : [maximum + 1]),
    ...(minLength === undefined ? [] : ['x'.repeat(minLength - 1)]),
    ...(maxLength === undefined ? [] : ['x'.repeat(maxLength + 1)]),
    ...(minItems === undefined ? [] : [Array<Json>(minItems - 1).fill('x')]),
    ...(maxItems === undefined ? [] : [Array<Json>(maxItems + 1).fill('x')]),
    ...(schema.format === undefined ? [] : ['yesterday', '2026-02-30T00:00:00Z']),
    ...(schema.enum === undefined ? [] : ['no such value', '']),
  ]
}
