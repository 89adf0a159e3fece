import type { Json, JsonObject } from '../../core/json/json.ts'
import { isObject } from '../../util/guards.ts'

interface About {
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly default?: Json | undefined
}

export interface Member {
  readonly name: string
  readonly isRequired: boolean
  readonly field: Field
}

/** A part of a form, made from a JSON Schema. What no control fits is entered as JSON. */
export type Field = About &
  (
    | { readonly kind: 'text'; readonly format: string | undefined; readonly isShort: boolean }
    | { readonly kind: 'number'; readonly isInteger: boolean }
    | { readonly kind: 'boolean' }
    | { readonly kind: 'choice'; readonly options: readonly Json[] }
    | { readonly kind: 'object'; readonly members: readonly Member[] }
    | { readonly kind: 'list'; readonly item: Field; readonly max: number }
    | { readonly kind: 'json' }
  )

const MAX_DEPTH = 5
/** References can repeat a part of the schema many times. */
const MAX_FIELDS = 300
const MAX_OPTIONS = 200
const MAX_REFERENCES = 20
/** Texts that are longer get a field of several lines. */
const SHORT = 200
export const MAX_ITEMS = 50

type Schema = Readonly<Record<string, unknown>>

/** The form of a schema; undefined if it does not describe an object with known members. */
export function formOf(schema: JsonObject | null): (Field & { readonly kind: 'object' }) | undefined {
  if (schema === null) return undefined
  const field = new Builder(schema).field(schema, 0)
  return field.kind === 'object' ? field : undefined
}

class Builder {
  readonly #root: Schema
  #count = 0

  constructor(root: Schema) {
    this.#root = root
  }

  field(given: unknown, depth: number): Field {
    const schema = this.#resolve(given)
    const about = aboutOf(given, schema)
    if (schema === undefined || ++this.#count > MAX_FIELDS) return { ...about, kind: 'json' }
    const options = optionsOf(schema)
    if (options !== undefined) return { ...about, kind: 'choice', options }
    const [only, ...others] = alternativesOf(schema)
    if (only !== undefined) {
      return others.length === 0
        ? { ...this.field(only, depth), ...defined(about) }
        : { ...about, kind: 'json' }
    }
    switch (typeOf(schema)) {
      case 'string': {
        const { format, maxLength } = schema
        const isShort = typeof maxLength === 'number' && maxLength <= SHORT
        return { ...about, kind: 'text', format: typeof format === 'string' ? format : undefined, isShort }
      }
      case 'number':
        return { ...about, kind: 'number', isInteger: false }
      case 'integer':
        return { ...about, kind: 'number', isInteger: true }
      case 'boolean':
        return { ...about, kind: 'boolean' }
      case 'object':
        return { ...about, ...this.#object(schema, depth) }
      case 'array':
        return { ...about, ...this.#list(schema, depth) }
      default:
        return { ...about, kind: 'json' }
    }
  }

  #object({ properties, required: given }: Schema, depth: number): Field {
    if (!isObject(properties) || Object.keys(properties).length === 0 || depth >= MAX_DEPTH)
      return { kind: 'json' }
    const names: readonly unknown[] = Array.isArray(given) ? given : []
    const members = Object.entries(properties).map(([name, schema]) => ({
      name,
      isRequired: names.includes(name),
      field: this.field(schema, depth + 1),
    }))
    const required = members.filter(({ isRequired }) => isRequired)
    return { kind: 'object', members: [...required, ...members.filter(({ isRequired }) => !isRequired)] }
  }

  #list({ items, prefixItems, maxItems }: Schema, depth: number): Field {
    if (prefixItems !== undefined || !isObject(items) || depth >= MAX_DEPTH) return { kind: 'json' }
    const item = this.field(items, depth + 1)
    if (item.kind === 'json' || item.kind === 'list') return { kind: 'json' }
    const max = typeof maxItems === 'number' ? Math.min(maxItems, MAX_ITEMS) : MAX_ITEMS
    return { kind: 'list', item, max }
  }

  /** The schema that a reference to a part of the root leads to. */
  #resolve(given: unknown): Schema | undefined {
    let schema = given
    for (let i = 0; i < MAX_REFERENCES; i++) {
      if (!isObject(schema)) return undefined
      const { $ref } = schema
      if (typeof $ref !== 'string') return schema
      schema = this.#at($ref)
    }
    return undefined
  }

  #at(reference: string): unknown {
    if (!reference.startsWith('#')) return undefined
    let at: unknown = this.#root
    for (const token of reference.slice(1).split('/').slice(1)) {
      const key = decode(token).replaceAll('~1', '/').replaceAll('~0', '~')
      at = typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined
    }
    return at
  }
}

function decode(token: string): string {
  try {
    return decodeURIComponent(token)
  } catch {
    return token
  }
}

/** What the place of a reference says counts more than what it refers to. */
function aboutOf(given: unknown, schema: Schema | undefined): About {
  const at = isObject(given) ? given : {}
  const text = (name: 'title' | 'description') => {
    const value = at[name] ?? schema?.[name]
    return typeof value === 'string' ? value : undefined
  }
  return {
    title: text('title'),
    description: text('description'),
    default: jsonOf(at.default ?? schema?.default),
  }
}

function defined(about: About): About {
  return Object.fromEntries(Object.entries(about).filter(([, value]) => value !== undefined))
}

/** The values of an enumeration, without null, which is the same as no value. */
function optionsOf({ enum: values, const: value }: Schema): readonly Json[] | undefined {
  const list: readonly unknown[] = Array.isArray(values) ? values : value === undefined ? [] : [value]
  const options = list.flatMap((each) => {
    const json = jsonOf(each)
    return json === undefined || json === null ? [] : [json]
  })
  return options.length === 0 || options.length > MAX_OPTIONS ? undefined : options
}

/** The schemas of which one has to match, without null; empty if there is no such list. */
function alternativesOf({ anyOf, oneOf, allOf }: Schema): readonly unknown[] {
  const list = [anyOf, oneOf, allOf].find((each) => Array.isArray(each))
  if (!Array.isArray(list)) return []
  const values = list.flatMap((each) => (isObject(each) && each.const !== undefined ? [each.const] : []))
  if (values.length === list.length) return [{ enum: values }]
  return list.filter((each) => !(isObject(each) && each.type === 'null'))
}

function typeOf({ type, properties }: Schema): unknown {
  if (!Array.isArray(type)) return type ?? (properties === undefined ? undefined : 'object')
  const [only, ...others] = type.filter((each) => each !== 'null')
  return others.length === 0 ? only : undefined
}

function jsonOf(value: unknown): Json | undefined {
  if (value === undefined) return undefined
  return isJson(value) ? value : undefined
}

/** Schemas are stored as JSON, so only undefined is none. */
function isJson(value: unknown): value is Json {
  return value !== undefined
}
