import { invalid } from '../../core/errors.ts'
import type { Json, JsonObject } from '../../core/json/json.ts'

const MAX_SCHEMA_DEPTH = 32

const DIALECT = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/

/** Their members are schemas, and may have any name. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/** Their values are data. */
const DATA = new Set(['const', 'enum', 'default', 'examples'])

/**
 * Refuses what the compiler would take and we do not: references to other documents, names under which a schema could be
 * referred to from elsewhere, and other dialects.
 */
export function checkSchemaRules(schema: JsonObject, name: string): void {
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
        const problem = `refers to ${member.slice(0, 200)}: only references that begin with # are followed`
        throw invalid(name, problem)
      }
      return
    case '$id':
      throw invalid(
        name,
        'has the keyword $id, which is not supported: refer to its own parts with #/$defs/NAME',
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
