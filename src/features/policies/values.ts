import type { Json, JsonObject } from '../../core/json/json.ts'
import { REPLACEMENT } from '../../policy/pattern.ts'
import { isObject } from '../../util/guards.ts'

/** What redaction leaves of a text: a text. */
export function textOf(value: Json): string {
  return typeof value === 'string' ? value : REPLACEMENT
}

/** What redaction leaves of an object: an object. */
export function objectOf(value: Json): JsonObject {
  return isObject(value) ? value : {}
}
