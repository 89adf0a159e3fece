import type { ErrorCode } from '../../src/core/errors.ts'
import type { Json } from '../../src/core/json/json.ts'

export type JsonFields = Readonly<Record<string, Json>>

/**
 * A step of the scenario, independent of the protocol. A text `$name.path` in an input refers to the response of the
 * step `name`.
 */
export type Step = Call | Pause

export interface Call {
  readonly operation: string
  readonly input: JsonFields
  readonly expect: Expected
  /** The name by which later steps refer to the response. */
  readonly as?: string
  /** Whether the call goes to the first server even if there are several. */
  readonly oneServer?: boolean
}

/** Part of the response, or the code of the error. */
export type Expected = { readonly answer: JsonFields } | { readonly refused: ErrorCode }

/** Advances the clock and sweeps. */
export interface Pause {
  readonly seconds: number
}

export function ok(operation: string, input: JsonFields, answer: JsonFields = {}, as?: string): Call {
  return { operation, input, expect: { answer }, ...(as !== undefined && { as }) }
}

export function no(operation: string, input: JsonFields, refused: ErrorCode): Call {
  return { operation, input, expect: { refused } }
}

const REFERENCE = /^\$([\w.]+)$/

/** The value with its references resolved. */
export function resolve(value: Json, answers: ReadonlyMap<string, Json>): Json {
  if (typeof value === 'string') {
    const path = REFERENCE.exec(value)?.[1]
    return path === undefined ? value : follow(path, answers)
  }
  if (typeof value !== 'object' || value === null) return value
  if (isList(value)) return value.map((item) => resolve(item, answers))
  return resolveFields(value, answers)
}

export function resolveFields(fields: JsonFields, answers: ReadonlyMap<string, Json>): JsonFields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, resolve(value, answers)]))
}

function follow(path: string, answers: ReadonlyMap<string, Json>): Json {
  const [name = '', ...keys] = path.split('.')
  let value: unknown = answers.get(name)
  for (const key of keys)
    value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
  if (typeof value !== 'string') throw new Error(`$${path} stands for nothing`)
  return value
}

function isList(value: object): value is readonly Json[] {
  return Array.isArray(value)
}
