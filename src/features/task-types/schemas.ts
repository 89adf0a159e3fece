import { Fault, invalid } from '../../core/errors.ts'
import { type CanonicalJson, canonicalWithin, type Json, type JsonObject } from '../../core/json/json.ts'
import { problemOf } from './schema-problem.ts'
import { checkSchemaRules } from './schema-rules.ts'
import { SchemaThread, type Verdict } from './schema-thread.ts'

const MAX_SCHEMA_BYTES = 64 * 1024

/** A value that has to fit a schema. `name` is what it is called in errors. */
export interface Candidate {
  readonly value: Json
  readonly text: CanonicalJson
  readonly name: string
  /** The request that it is a part of, if that checks many. */
  readonly request?: object | undefined
}

/**
 * The JSON Schemas of a gate. They come from admins, workers and agents, and so do the values: both are looked at in
 * worker threads. Payloads have a thread of their own, because only admins write the schemas of task types, while any
 * worker can bring a new one with its question.
 */
export class Schemas {
  readonly #payloads = new SchemaThread()
  readonly #others = new SchemaThread()

  /** Refuses what is no schema of JSON Schema 2020-12, or would need another document. */
  async checkSchema(schema: JsonObject, name: string): Promise<void> {
    const text = canonicalWithin(schema, name, MAX_SCHEMA_BYTES)
    checkSchemaRules(schema, name)
    const { schemaError, undecided } = await this.#others.check({ schema: text, value: null })
    if (undecided !== undefined) throw undecidedFault(undecided, name, 'compile')
    if (schemaError !== undefined) throw invalid(name, `is not a JSON Schema 2020-12: ${schemaError}`)
  }

  /** Why a payload does not fit the schema of its type; undefined if it does. */
  async payloadFault(schema: CanonicalJson, payload: Candidate): Promise<Fault | undefined> {
    const { text, request } = payload
    return faultOf(await this.#payloads.check({ schema, value: text, request }), payload)
  }

  /** Why an answer does not fit the schema of its question; undefined if it does. */
  async answerFault(schema: CanonicalJson, answer: Candidate): Promise<Fault | undefined> {
    return faultOf(await this.#others.check({ schema, value: answer.text }), answer)
  }

  async close(): Promise<void> {
    await Promise.all([this.#payloads.close(), this.#others.close()])
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
