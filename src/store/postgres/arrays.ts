/** Array literals of PostgreSQL, for parameters that are cast to an array type. */

/** Of values whose text has no special characters: numbers, booleans, UUIDs. */
export function bareArray(values: readonly (number | boolean | string | null)[]): string {
  // An empty place would not be NULL, so nulls are written out.
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`
}

export function textArray(values: readonly (number | boolean | string | null)[]): string {
  return `{${values.map((value) => (value === null ? 'NULL' : quote(String(value)))).join(',')}}`
}

function quote(text: string): string {
  return SPECIAL.test(text) ? `"${text.replace(ALL_SPECIAL, '\\$&')}"` : `"${text}"`
}

const SPECIAL = /["\\]/
const ALL_SPECIAL = /["\\]/g
