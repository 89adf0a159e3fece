import type { Schema } from '../protocol/schema.ts'

/** How types are written for inputs or results. */
export interface Style {
  /** Inputs may be `undefined` and their objects of any class; results are read-only. */
  readonly io: 'input' | 'answer'
  /** The name of a schema that has one. */
  nameOf(schema: Schema): string | undefined
}

/** The properties of an object, as the body of an interface. */
export function bodyOf(schema: Schema, style: Style): string {
  const required = schema.required ?? []
  const lines = Object.entries(schema.properties ?? {}).flatMap(([name, value]) => {
    const member = asSchema(value)
    const isRequired = required.includes(name)
    const type = typeOf(member, style)
    const absent = !isRequired && style.io === 'input' && type !== 'unknown' ? ' | undefined' : ''
    return [
      ...commentOf(member.description),
      `${style.io === 'answer' ? 'readonly ' : ''}${name}${isRequired ? '' : '?'}: ${type}${absent}`,
    ]
  })
  return `{\n${lines.join('\n')}\n}`
}

/** The type of a value. */
export function typeOf(schema: Schema, style: Style): string {
  const named = style.nameOf(schema)
  if (named !== undefined) return named
  const either = schema.anyOf ?? schema.oneOf ?? (Array.isArray(schema.type) ? typesOf(schema) : [])
  if (either.length > 0) return [...new Set(either.map((one) => typeOf(asSchema(one), style)))].join(' | ')
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ')
  switch (schema.type) {
    case 'string':
      return 'string'
    case 'integer':
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
    case 'null':
      return 'null'
    case 'array':
      return `readonly ${grouped(typeOf(itemOf(schema), style))}[]`
    case 'object':
      return objectOf(schema, style)
    default:
      return 'unknown'
  }
}

function objectOf(schema: Schema, style: Style): string {
  if (schema.properties !== undefined && Object.keys(schema.properties).length > 0)
    return bodyOf(schema, style)
  const { additionalProperties: more } = schema
  if (typeof more === 'object' && Object.keys(more).length > 0)
    return `Readonly<Record<string, ${typeOf(more, style)}>>`
  return style.io === 'input' ? 'object' : 'Readonly<Record<string, unknown>>'
}

function typesOf({ type, ...rest }: Schema): Schema[] {
  const types: readonly Schema['type'][] = Array.isArray(type) ? type : [type]
  return types.map((one) => (one === 'null' ? { type: 'null' } : { ...rest, ...(one && { type: one }) }))
}

function itemOf({ items }: Schema): Schema {
  return items === undefined || Array.isArray(items) ? {} : asSchema(items)
}

/** The schema `true` accepts anything. */
export function asSchema(schema: Schema | boolean): Schema {
  return typeof schema === 'boolean' ? {} : schema
}

function grouped(type: string): string {
  return / \| /.test(type) && !type.startsWith('{') ? `(${type})` : type
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value.replace(/['\\]/g, '\\$&')}'` : JSON.stringify(value)
}

export function commentOf(text: string | undefined): string[] {
  return text === undefined || text === '' ? [] : [`/** ${text.replaceAll('*/', '* /')} */`]
}
