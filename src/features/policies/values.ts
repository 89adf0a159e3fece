import type { Json, JsonObject } from '../../core/json/json.ts'
import { REPLACEMENT } from '../../policy/pattern.ts'
import { isObject } from '../../util/guards.ts'

/** The redacted form of a text, which is a text again. */
export function textOf(value: Json): string {
  return typeof value === 'string' ? value : REPLACEMENT
}

/** The redacted form of an object, which is an object again. */
export function objectOf(value: Json): JsonObject {
  return isObject(value) ? value : {}
}
