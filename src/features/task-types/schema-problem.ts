import type { Json } from '../../core/json/json.ts'
import type { Mismatch } from './schema-thread.ts'

/** What is wrong with a value: where, and what. */
export interface Problem {
  readonly path: string
  readonly problem: string
}

/** A mismatch in words. `name` is what the value is called in the path. */
export function problemOf(
  { instancePath, keyword, params, message }: Mismatch,
  value: Json,
  name: string,
): Problem {
  const path = pathIn(value, instancePath, name)
  const { missingProperty, additionalProperty, unevaluatedProperty, allowedValues, allowedValue } =
    paramsOf(params)
  if (keyword === 'required') return { path: member(path, missingProperty), problem: 'is required' }
  const unknown = additionalProperty ?? unevaluatedProperty
  if (unknown !== undefined) return { path: member(path, unknown), problem: 'is not in the schema' }
  if (keyword === 'enum') return { path, problem: `is not one of ${shown(allowedValues)}` }
  if (keyword === 'const') return { path, problem: `is not ${shown(allowedValue)}` }
  return { path, problem: message ?? `does not fit ${keyword}` }
}

function paramsOf(params: string): Readonly<Record<string, unknown>> {
  return JSON.parse(params)
}

/** A JSON pointer as the paths of all other errors are written: payload.list[0].name */
function pathIn(value: Json, pointer: string, name: string): string {
  let path = name
  let current: unknown = value
  for (const token of pointer.split('/').slice(1)) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
    path = Array.isArray(current) ? `${path}[${key}]` : member(path, key)
    current = typeof current === 'object' && current !== null ? Reflect.get(current, key) : undefined
  }
  return path
}

function member(path: string, key: unknown): string {
  return `${path}.${String(key)}`
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
