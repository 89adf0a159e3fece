import { invalid } from '../core/errors.ts'
import type { Json } from '../core/json/json.ts'
import { parseJson } from '../core/json/text.ts'

export type Fields = Readonly<Record<string, unknown>>

/** A text of the query or of a form; undefined if it is absent or empty. */
export function textIn(fields: URLSearchParams, name: string): string | undefined {
  const text = fields.get(name)?.trim()
  return text === '' ? undefined : text
}

/** A whole number; undefined if it is something else. */
export function numberIn(fields: URLSearchParams, name: string): number | undefined {
  const text = textIn(fields, name)
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

/** A text that stands for JSON. */
export function jsonIn(fields: URLSearchParams, name: string): Json | undefined {
  const text = textIn(fields, name)
  if (text === undefined) return undefined
  try {
    return parseJson(text)
  } catch {
    throw invalid(name, problemOf(text))
  }
}

/** A text that may stand for JSON; what is not JSON, and does not begin like an object, a list or a string of it, is a string. */
export function jsonOrTextIn(fields: URLSearchParams, name: string): Json | undefined {
  const text = textIn(fields, name)
  if (text === undefined || /^[[{"]/.test(text) || isJson(text)) return jsonIn(fields, name)
  return text
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** What the parser complains about, where it says so. */
function problemOf(text: string): string {
  try {
    JSON.parse(text)
    return 'is not JSON that is kept as it is: a key twice, too deep, or a number that would lose digits'
  } catch (error) {
    return `is not valid JSON: ${error instanceof Error ? error.message : ''}`
  }
}

/** A path of the console with a query of what is set. */
export function link(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const pairs = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`
}

/** A path of the console whose last part somebody else chose. */
export function place(page: string, item: string): string {
  return `/console/${page}/${encodeURIComponent(item)}`
}
