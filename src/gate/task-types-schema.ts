import { createContext, Script } from 'node:vm'
import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import { invalid } from '../core/errors.ts'
import { canonicalWithin, type Json, type JsonObject } from '../core/json.ts'

const MAX_SCHEMA_BYTES = 64 * 1024
const MAX_SCHEMA_DEPTH = 32

/** What a payload may take to check. More only happens with patterns and lists that are costly by accident. */
const TIME_LIMIT_MS = 200
const MAX_TRIES = 5

/** Keywords whose cost can grow out of proportion to the payload. */
const COSTLY = new Set([
  'pattern',
  'patternProperties',
  'propertyNames',
  'uniqueItems',
  '$ref',
  '$dynamicRef',
])

/** What is wrong with a payload: where, and what. */
export interface Problem {
  readonly path: string
  readonly problem: string
}

/** `name` is what the value is called in the paths of problems. */
export type CheckPayload = (payload: Json, name?: string) => Problem | undefined

export type CompileSchema = (schema: JsonObject) => CheckPayload

let compiler: Promise<CompileSchema> | undefined

/** Loads what compiles schemas, once: a gate without schemas never needs it. */
export function schemaCompiler(): Promise<CompileSchema> {
  compiler ??= import('ajv/dist/2020.js').then(({ Ajv2020 }) => {
    const ajv = new Ajv2020({
      // Unknown keywords are typing errors; types need not be repeated.
      strict: true,
      strictTypes: false,
      strictTuples: false,
      // As the specification has it: a format tells readers something.
      validateFormats: false,
      addUsedSchema: false,
      logger: false,
    })
    return (schema) => compile(ajv, schema)
  })
  return compiler
}

/** Refuses what is no schema of JSON Schema 2020-12, or would need another document. */
export async function checkSchema(schema: JsonObject, name = 'payload_schema'): Promise<void> {
  canonicalWithin(schema, name, MAX_SCHEMA_BYTES)
  look(schema, name, 1)
  const compileSchema = await schemaCompiler()
  try {
    compileSchema(schema)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw invalid(name, `is not a JSON Schema 2020-12: ${reason.slice(0, 500)}`)
  }
}

function compile(ajv: Ajv2020, schema: JsonObject): CheckPayload {
  const validate = ajv.compile(schema)
  // The compiled function is ours to keep; the compiler would keep it for ever.
  ajv.removeSchema(schema)
  const check = isCostly(schema) ? limited : directly
  return (payload, name = 'payload') => {
    const fits = check(validate, payload)
    if (fits === undefined) return { path: name, problem: 'takes too long to check against its schema' }
    if (fits) return undefined
    const error = telling(validate.errors ?? [])
    return error === undefined ? { path: name, problem: 'does not fit' } : problemOf(error, payload, name)
  }
}

type Run = (validate: ValidateFunction, payload: Json) => boolean | undefined

const directly: Run = (validate, payload) => validate(payload)

let validation: () => boolean = () => true
const script = new Script('run()')
const context = createContext({ run: () => validation() })

/** Undefined if it was stopped. A script with a time limit stops whatever it calls, regular expressions included. */
const limited: Run = (validate, payload) => {
  validation = () => validate(payload)
  try {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const before = process.cpuUsage()
      const fits = within(TIME_LIMIT_MS)
      // On a busy machine the time may have passed without our doing anything.
      const { user, system } = process.cpuUsage(before)
      if (fits !== undefined || user + system > TIME_LIMIT_MS * 500) return fits
    }
    return undefined
  } finally {
    validation = () => true
  }
}

function within(timeout: number): boolean | undefined {
  try {
    return script.runInContext(context, { timeout }) === true
  } catch (error) {
    // The error belongs to the context, and is no instance of our Error.
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
    if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined
    throw error
  }
}

function look(value: Json, name: string, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth > MAX_SCHEMA_DEPTH) throw invalid(name, `is nested deeper than ${MAX_SCHEMA_DEPTH}`)
  for (const [key, member] of Object.entries(value)) {
    if ((key === '$ref' || key === '$dynamicRef') && typeof member === 'string' && !member.startsWith('#')) {
      const problem = `refers to ${member.slice(0, 200)}: only references that begin with # are followed`
      throw invalid(name, problem)
    }
    if (key === '$async' && typeof member === 'boolean') {
      throw invalid(name, 'has the keyword $async, which JSON Schema does not')
    }
    look(member, name, depth + 1)
  }
}

function isCostly(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, member]) => COSTLY.has(key) || isCostly(member))
}

/** Of several errors the last says that no alternative fitted, and the first why one thing did not. */
function telling(errors: readonly ErrorObject[]): ErrorObject | undefined {
  const last = errors.at(-1)
  return last?.keyword === 'anyOf' || last?.keyword === 'oneOf' ? last : errors[0]
}

function problemOf(
  { instancePath, keyword, params, message }: ErrorObject,
  payload: Json,
  name: string,
): Problem {
  const path = pathIn(payload, instancePath, name)
  if (keyword === 'required') return { path: member(path, params.missingProperty), problem: 'is required' }
  const unknown = params.additionalProperty ?? params.unevaluatedProperty
  if (unknown !== undefined) return { path: member(path, unknown), problem: 'is not in the schema' }
  if (keyword === 'enum') return { path, problem: `is not one of ${shown(params.allowedValues)}` }
  if (keyword === 'const') return { path, problem: `is not ${shown(params.allowedValue)}` }
  return { path, problem: message ?? `does not fit ${keyword}` }
}

/** A JSON pointer as the paths of all other errors are written: payload.list[0].name */
function pathIn(payload: Json, pointer: string, name: string): string {
  let path = name
  let value: unknown = payload
  for (const token of pointer.split('/').slice(1)) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
    path = Array.isArray(value) ? `${path}[${key}]` : member(path, key)
    value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
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
