import { canonical, type Json } from './json/json.ts'

/** One place where two values differ. A side that is missing there is left out. */
export interface Difference {
  /** A JSON Pointer; empty is the whole value. */
  readonly path: string
  readonly before?: Json
  readonly after?: Json
}

const MAX_DIFFERENCES = 100
const MAX_SHOWN = 1000

/** Where two values differ, in the order of the keys. Too many differences become one: that of the whole. */
export function diffOf(before: Json, after: Json): readonly Difference[] {
  const found: Difference[] = []
  compare(before, after, '', found)
  if (found.length <= MAX_DIFFERENCES) return found
  return [{ path: '', before: shown(before), after: shown(after) }]
}

function compare(before: Json | undefined, after: Json | undefined, path: string, found: Difference[]): void {
  if (found.length > MAX_DIFFERENCES) return
  if (isBranch(before) && isBranch(after) && Array.isArray(before) === Array.isArray(after)) {
    const [olds, news] = [membersOf(before), membersOf(after)]
    for (const key of new Set([...olds.keys(), ...news.keys()])) {
      compare(olds.get(key), news.get(key), `${path}/${escaped(key)}`, found)
    }
    return
  }
  if (before !== undefined && after !== undefined && canonical(before) === canonical(after)) return
  found.push({
    path,
    ...(before !== undefined && { before: shown(before) }),
    ...(after !== undefined && { after: shown(after) }),
  })
}

function isBranch(value: Json | undefined): value is readonly Json[] | { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null
}

function membersOf(value: readonly Json[] | { readonly [key: string]: Json }): Map<string, Json> {
  return new Map(Object.entries(value))
}

/** A value that is long is shown as the beginning of its text. */
function shown(value: Json): Json {
  const text = canonical(value)
  return text.length <= MAX_SHOWN ? value : `${text.slice(0, MAX_SHOWN).toWellFormed()}…`
}

function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}
