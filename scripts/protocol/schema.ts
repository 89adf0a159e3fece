import { z } from 'zod'

export type Schema = z.core.JSONSchema.BaseSchema

/** One line about a field; the properties of an object follow as `object.property`. */
export interface Field {
  readonly path: string
  readonly schema: Schema
  readonly required: boolean
}

/** The JSON Schema of a shape. Constraints that only code can check are found by calling the code. */
export function schemaOf(shape: z.ZodType, io: 'input' | 'output'): Schema {
  return z.toJSONSchema(shape, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (isBlank(jsonSchema)) Object.assign(jsonSchema, probe(zodSchema))
    },
  })
}

const ANNOTATIONS = ['$schema', 'description', 'default', 'readOnly']

function isBlank(schema: Schema): boolean {
  return Object.keys(schema).every((key) => ANNOTATIONS.includes(key))
}

function probe(shape: z.core.$ZodType): Schema {
  const takes = (value: unknown) => z.safeParse(shape, value).success
  if (takes('text') || !takes({})) return {}
  return { type: 'object', ...(!takes({ key: 1 }) && { additionalProperties: { type: 'string' } }) }
}

export function fieldsOf(schema: Schema, prefix = ''): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const field = { path: prefix + name, schema: asSchema(member), required: isRequired(schema, name) }
    return [field, ...fieldsOf(field.schema, `${field.path}.`)]
  })
}

function isRequired({ required = [] }: Schema, name: string): boolean {
  return required.includes(name)
}

/** The schema `true` accepts anything. */
function asSchema(schema: Schema | boolean): Schema {
  return typeof schema === 'boolean' ? {} : schema
}

/** The type of a value in words. `nameOf` returns the name of a named shape. */
export function typeOf(schema: Schema, nameOf: (schema: Schema) => string | undefined): string {
  const named = nameOf(schema)
  if (named !== undefined) return named
  const either = schema.anyOf ?? (Array.isArray(schema.type) ? schema.type.map((type) => ({ type })) : [])
  if (either.length > 0) return either.map((one) => typeOf(asSchema(one), nameOf)).join(' or ')
  if (schema.const !== undefined) return code(schema.const)
  if (schema.enum !== undefined) return listed(schema.enum.map(code))
  switch (schema.type) {
    case 'string':
      return schema.format === 'date-time' ? 'time' : 'text'
    case 'integer':
      return 'whole number'
    case 'boolean':
      return 'true or false'
    case 'array':
      return listOf(itemOf(schema), nameOf)
    case 'object':
      return schema.additionalProperties && schema.properties === undefined ? 'object of texts' : 'object'
    case undefined:
      return 'any JSON'
    default:
      return String(schema.type)
  }
}

function listOf(item: Schema, nameOf: (schema: Schema) => string | undefined): string {
  const type = typeOf(item, nameOf)
  if (type === 'any JSON') return 'list'
  if (item.anyOf !== undefined) return `list, each ${type}`
  return `list of ${type}${type === 'text' || type === 'object' ? 's' : ''}`
}

function itemOf({ items }: Schema): Schema {
  return items === undefined || Array.isArray(items) ? {} : asSchema(items)
}

export function limitsOf(schema: Schema): string {
  const { minLength, maxLength, minimum, maximum, minItems, maxItems } = schema
  const each = schema.type === 'array' ? limitsOf(itemOf(schema)) : ''
  return [
    maxLength !== undefined && `${range(minLength, maxLength)} characters`,
    maximum !== undefined && Number(maximum) < Number.MAX_SAFE_INTEGER && range(minimum, maximum),
    maxItems !== undefined && `${range(minItems, maxItems)} items`,
    each !== '' && `each ${each}`,
    schema.default !== undefined && `default ${code(schema.default)}`,
  ]
    .filter((limit) => limit !== false)
    .join(', ')
}

function range(least: number | undefined, most: number): string {
  return least === undefined ? `at most ${grouped(most)}` : `${grouped(least)} to ${grouped(most)}`
}

function grouped(number: number): string {
  return number.toLocaleString('en')
}

function code(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}
