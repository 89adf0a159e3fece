import type { Fields } from '../../auth/caller.ts'
import { isObject } from '../../util/guards.ts'

/** The keywords that forms of MCP know, by the type of a field. Others are checked when the answer has come. */
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  string: ['title', 'description', 'minLength', 'maxLength', 'format', 'enum', 'default'],
  number: ['title', 'description', 'minimum', 'maximum', 'default'],
  integer: ['title', 'description', 'minimum', 'maximum', 'default'],
  boolean: ['title', 'description', 'default'],
  array: ['title', 'description', 'minItems', 'maxItems', 'items', 'default'],
}

const FORMATS: readonly unknown[] = ['email', 'uri', 'date', 'date-time']

/** A JSON Schema as a form of MCP: an object with fields of simple types. Undefined if it is more than that. */
export function simpleForm({ type, properties, required }: Fields): Fields | undefined {
  if (type !== 'object' || !isObject(properties)) return undefined
  const fields: [string, Fields][] = []
  for (const [name, schema] of Object.entries(properties)) {
    const field = isObject(schema) ? fieldOf(schema) : undefined
    if (field === undefined) return undefined
    fields.push([name, field])
  }
  return { type, properties: Object.fromEntries(fields), ...(Array.isArray(required) && { required }) }
}

function fieldOf(schema: Fields): Fields | undefined {
  const { type, format } = schema
  const known = typeof type === 'string' ? KEYWORDS[type] : undefined
  if (known === undefined || (type === 'array' && !isChoice(schema.items))) return undefined
  const keywords =
    format === undefined || FORMATS.includes(format) ? known : known.filter((word) => word !== 'format')
  return {
    type,
    ...Object.fromEntries(keywords.filter((word) => word in schema).map((word) => [word, schema[word]])),
  }
}

/** Of lists there are only those of words to choose from. */
function isChoice(items: unknown): boolean {
  return isObject(items) && items.type === 'string' && Array.isArray(items.enum)
}
