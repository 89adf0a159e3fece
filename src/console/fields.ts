import { invalid } from '../core/errors.ts'
import type { Json } from '../core/json/json.ts'
import { parseJson } from '../core/json/text.ts'

export type Fields = Readonly<Record<string, unknown>>

/** A field of the query or of a form; undefined if it is absent or empty. */
export function textIn(fields: URLSearchParams, name: string): string | undefined {
  const text = fields.get(name)?.trim()
  return text === '' ? undefined : text
}

/** A field that contains an integer; undefined if it contains something else. */
export function numberIn(fields: URLSearchParams, name: string): number | undefined {
  const text = textIn(fields, name)
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

/** A field that contains an integer. Other texts are left to the operation, which refuses them. */
export function integerIn(fields: URLSearchParams, name: string): number | string | undefined {
  const text = textIn(fields, name)
  return text !== undefined && /^-?\d{1,15}$/.test(text) ? Number(text) : text
}

/** A time that a browser sends, such as `2026-01-31T09:30`. Pages show times in UTC, so that is its zone. */
export function instantIn(fields: URLSearchParams, name: string): string | undefined {
  const text = textIn(fields, name)
  const isLocal = text !== undefined && /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text)
  return isLocal ? `${text.length === 16 ? `${text}:00` : text}Z` : text
}

/** A field that contains JSON. */
export function jsonIn(fields: URLSearchParams, name: string): Json | undefined {
  const text = textIn(fields, name)
  if (text === undefined) return undefined
  try {
    return parseJson(text)
  } catch {
    const problem = syntaxError(text)
    throw invalid(
      name,
      problem === undefined
        ? 'is JSON that cannot be stored unchanged: a duplicate key, too many levels, or a number that would lose digits'
        : `is not valid JSON: ${problem}`,
    )
  }
}

/** A field that contains JSON or text. Text that begins like an object, a list or a JSON string is parsed as JSON. */
export function jsonOrTextIn(fields: URLSearchParams, name: string): Json | undefined {
  const text = textIn(fields, name)
  if (text === undefined || /^[[{"]/.test(text) || syntaxError(text) === undefined)
    return jsonIn(fields, name)
  return text
}

function syntaxError(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
}

export type Query = Readonly<Record<string, string | number | undefined>>

/** A path with a query. Parameters without a value are omitted. */
export function link(path: string, query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`
}

/** The path of one item. Its id may contain any character. */
export function itemPath(list: string, id: string): string {
  return `/console/${list}/${encodeURIComponent(id)}`
}
