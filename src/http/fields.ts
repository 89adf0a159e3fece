import type { Fields } from '../auth/caller.ts'
import { invalid } from '../core/errors.ts'
import { inputSchema, type Operation } from '../features/define-operation.ts'
import type { Params } from './router.ts'

type FieldType = 'number' | 'boolean' | 'list' | 'other'

/** The types that query parameters are converted to, by field. */
export type FieldTypes = ReadonlyMap<string, FieldType>

export function fieldTypes(operation: Operation): FieldTypes {
  const { properties } = inputSchema(operation)
  return new Map(Object.entries(properties ?? {}).map(([name, schema]) => [name, typeOf(schema)] as const))
}

function typeOf(schema: unknown): FieldType {
  if (typeof schema !== 'object' || schema === null || !('type' in schema)) return 'other'
  if (schema.type === 'integer' || schema.type === 'number') return 'number'
  if (schema.type === 'array') return 'list'
  return schema.type === 'boolean' ? 'boolean' : 'other'
}

/** The fields of the path, the query and the body. A field that is given twice must have the same value. */
export function collectFields(types: FieldTypes, params: Params, query: string, body: Fields): Fields {
  const names = Object.keys(params)
  // Most requests have fields only in the body.
  if (query === '' && names.every((name) => body[name] === params[name])) return body
  const fields: Record<string, unknown> = { ...body }
  const add = (name: string, value: unknown) => {
    const given = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (given !== undefined && given !== value) throw invalid(name, 'is given twice with different values')
    fields[name] = value
  }
  if (query !== '') for (const [name, value] of queryFields(types, query)) add(name, value)
  for (const name of names) add(name, params[name])
  return fields
}

const LABEL = 'label.'

function queryFields(types: FieldTypes, query: string): Map<string, unknown> {
  const fields = new Map<string, unknown>()
  const labels: [string, string][] = []
  for (const [name, text] of new URLSearchParams(query)) {
    if (name.startsWith(LABEL) && types.has('labels')) {
      labels.push([name.slice(LABEL.length), text])
      continue
    }
    if (name === '__proto__') throw invalid(name, 'is not an allowed key')
    const type = types.get(name) ?? 'other'
    const before = fields.get(name)
    if (type === 'list') fields.set(name, [...(Array.isArray(before) ? before : []), text])
    else if (before !== undefined) throw invalid(name, 'appears twice in the query')
    else fields.set(name, converted(type, text))
  }
  if (labels.length > 0) fields.set('labels', labelsOf(labels))
  return fields
}

function labelsOf(labels: readonly [string, string][]): object {
  const repeated = labels.find(([name], i) => labels.findIndex(([other]) => other === name) !== i)
  if (repeated !== undefined) throw invalid(`labels.${repeated[0]}`, 'appears twice in the query')
  return Object.fromEntries(labels)
}

const NUMBER = /^-?\d+(\.\d+)?$/

/** A value that cannot be converted stays text, and the schema refuses it. */
function converted(type: FieldType, text: string): unknown {
  if (type === 'number') return NUMBER.test(text) ? Number(text) : text
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  return text
}
