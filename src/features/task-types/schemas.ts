import { Fault, invalid } from '../../core/errors.ts'
import { type CanonicalJson, canonicalWithin, type Json, type JsonObject } from '../../core/json/json.ts'
import { type Mismatch, SchemaThread, type Verdict } from './schema-thread.ts'

const MAX_SCHEMA_BYTES = 64 * 1024
const MAX_SCHEMA_DEPTH = 32

const DIALECT = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/

/** Keywords whose members are schemas with arbitrary names. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/** Keywords whose values are data. */
const DATA = new Set(['const', 'enum', 'default', 'examples'])

/** A value to be validated. `name` is its name in errors. */
export interface Candidate {
  readonly value: Json
  readonly text: CanonicalJson
  readonly name: string
  /** The request that it belongs to, if that request validates many values. */
  readonly request?: object | undefined
}

/** The author of the schema of a payload. */
export type SchemaAuthor = 'admin' | 'worker'

/**
 * Validates values with JSON Schemas. Both are untrusted, so they are processed in worker threads. Payloads of types that
 * admins register have a separate thread, since any worker can publish a type or send a schema with a question.
 */
export class Schemas {
  readonly #payloads: Readonly<Record<SchemaAuthor, SchemaThread>> = {
    admin: new SchemaThread(),
    worker: new SchemaThread(),
  }
  readonly #others = new SchemaThread()

  /** Refuses a schema that is not valid JSON Schema 2020-12 or refers to another document. */
  async checkSchema(schema: JsonObject, name: string): Promise<void> {
    const text = canonicalWithin(schema, name, MAX_SCHEMA_BYTES)
    checkSchemaRules(schema, name)
    const { schemaError, undecided } = await this.#others.check({ schema: text, value: null })
    if (undecided !== undefined) throw undecidedFault(undecided, name, 'compile')
    if (schemaError !== undefined) throw invalid(name, `is not a JSON Schema 2020-12: ${schemaError}`)
  }

  /** Why a payload does not match the schema of its type; undefined if it does. */
  async payloadFault(
    schema: CanonicalJson,
    author: SchemaAuthor,
    payload: Candidate,
  ): Promise<Fault | undefined> {
    const { text, request } = payload
    return faultOf(await this.#payloads[author].check({ schema, value: text, request }), payload)
  }

  /** Why an answer does not match the schema of its question; undefined if it does. */
  async answerFault(schema: CanonicalJson, answer: Candidate): Promise<Fault | undefined> {
    return faultOf(await this.#others.check({ schema, value: answer.text }), answer)
  }

  async close(): Promise<void> {
    const { admin, worker } = this.#payloads
    await Promise.all([admin.close(), worker.close(), this.#others.close()])
  }
}

function faultOf(
  { schemaError, mismatch, undecided }: Verdict,
  { name, value }: Candidate,
): Fault | undefined {
  if (undecided !== undefined) return undecidedFault(undecided, name, 'check against its schema')
  if (schemaError !== undefined) {
    return invalid(name, `cannot be checked, because its schema is not supported: ${schemaError}`)
  }
  if (mismatch === undefined) return undefined
  const { path, problem } = problemOf(mismatch, value, name)
  return invalid(path, problem)
}

function undecidedFault(reason: NonNullable<Verdict['undecided']>, name: string, what: string): Fault {
  switch (reason) {
    case 'time':
      return invalid(name, `takes too long to ${what}`)
    case 'memory':
      return invalid(name, `takes too much memory to ${what}`)
    case 'waited':
      return new Fault('OVERLOADED', { path: name }, `${name}: too many values wait to be checked.`)
  }
}

/** Describes a mismatch. `name` is the name of the value in the path. */
function problemOf(
  { instancePath, keyword, params, message }: Mismatch,
  value: Json,
  name: string,
): { readonly path: string; readonly problem: string } {
  const path = pathIn(value, instancePath, name)
  const { missingProperty, additionalProperty, unevaluatedProperty, allowedValues, allowedValue } =
    paramsOf(params)
  if (keyword === 'required') return { path: member(path, missingProperty), problem: 'is required' }
  const unknown = additionalProperty ?? unevaluatedProperty
  if (unknown !== undefined) return { path: member(path, unknown), problem: 'is not in the schema' }
  if (keyword === 'enum') return { path, problem: `is not one of ${shown(allowedValues)}` }
  if (keyword === 'const') return { path, problem: `is not ${shown(allowedValue)}` }
  return { path, problem: message ?? `violates ${keyword}` }
}

function paramsOf(params: string): Readonly<Record<string, unknown>> {
  return JSON.parse(params)
}

/** Converts a JSON pointer to the path notation of other errors: payload.list[0].name */
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

/**
 * Refuses what the compiler would accept: references to other documents, ids that other schemas could refer to, and other
 * dialects.
 */
function checkSchemaRules(schema: JsonObject, name: string): void {
  checkMembers(schema, name, 1)
}

function checkMembers(schema: object, name: string, depth: number): void {
  if (depth > MAX_SCHEMA_DEPTH) throw invalid(name, `is nested deeper than ${MAX_SCHEMA_DEPTH}`)
  for (const [key, member] of Object.entries(schema)) {
    checkKeyword(key, member, name, depth)
    if (DATA.has(key) || typeof member !== 'object' || member === null) continue
    if (!MAPS.has(key) && !Array.isArray(member)) checkMembers(member, name, depth + 1)
    else for (const each of Object.values(member)) checkEach(each, name, depth + 2)
  }
}

function checkEach(value: unknown, name: string, depth: number): void {
  if (typeof value === 'object' && value !== null) checkMembers(value, name, depth)
}

function checkKeyword(key: string, member: Json, name: string, depth: number): void {
  switch (key) {
    case '$ref':
    case '$dynamicRef':
      if (typeof member === 'string' && !member.startsWith('#')) {
        const problem = `refers to ${member.slice(0, 200)}: only references that begin with # are allowed`
        throw invalid(name, problem)
      }
      return
    case '$id':
      throw invalid(
        name,
        'has the keyword $id, which is not supported: refer to parts of the schema with #/$defs/NAME',
      )
    case '$schema':
      if (depth === 1 && typeof member === 'string' && DIALECT.test(member)) return
      throw invalid(
        name,
        'has the keyword $schema, which may only be https://json-schema.org/draft/2020-12/schema, at its top',
      )
    case '$async':
      throw invalid(name, 'has the keyword $async, which JSON Schema does not have')
  }
}
