import { taskTime } from '../../../core/ids.ts'
import { type CanonicalJson, type Json, parseCanonical } from '../../../core/json/json.ts'
import { isPrincipalKind, type PrincipalKey } from '../../../core/principal.ts'
import { STATUSES, type Status } from '../../../core/transitions.ts'
import type { TaskLine, TaskTexts } from '../../../store/reads.ts'
import { isObject } from '../../../util/guards.ts'
import type { Condition, Pattern, Term, Value } from './query.ts'

/** Tasks that ended with an error. */
const WITH_ERROR: readonly Status[] = ['failed', 'canceled']

/** What a search looks for, by what has to be read to decide it. */
export interface Criteria {
  /** Only these statuses; undefined if the query says nothing about them. */
  readonly statuses: readonly Status[] | undefined
  /** Only tasks of this owner. */
  readonly owner: PrincipalKey | undefined
  readonly session_id: string | undefined
  /** The first and the last millisecond in which a matching task can have been created. */
  readonly createdFrom: number
  readonly createdTo: number
  fits(line: TaskLine): boolean
  /** The conditions about long texts; undefined if there are none. */
  readonly fitsTexts: ((texts: TaskTexts) => boolean) | undefined
}

/** The criteria of a query. Ages are relative to `now`. */
export function criteriaOf(terms: readonly Term[], now: number): Criteria {
  const ofTexts = terms.filter(isAboutTexts).map(textsCheck)
  const ofLines = terms.filter((term) => !isAboutTexts(term)).map((term) => lineCheck(term, now))
  const { createdFrom, createdTo } = creationRange(terms, now)
  return {
    statuses: statusesOf(terms),
    owner: owner(terms),
    session_id: onlyValue(terms, 'session'),
    createdFrom,
    createdTo,
    fits: (line) => ofLines.every((check) => check(line)),
    fitsTexts: ofTexts.length === 0 ? undefined : (texts) => ofTexts.every((check) => check(texts)),
  }
}

function isAboutTexts({ by }: Term): boolean {
  return by === 'payload' || by === 'error' || by === 'text' || by === 'parent'
}

function statusesOf(terms: readonly Term[]): readonly Status[] | undefined {
  const limits = terms.flatMap((term) => {
    if (term.by === 'status') return [term.isNegated ? without(term.any) : term.any]
    return term.by === 'error' && !term.isNegated ? [WITH_ERROR] : []
  })
  if (limits.length === 0) return undefined
  return STATUSES.filter((status) => limits.every((limit) => limit.includes(status)))
}

function without(excluded: readonly Status[]): readonly Status[] {
  return STATUSES.filter((status) => !excluded.includes(status))
}

function owner(terms: readonly Term[]): PrincipalKey | undefined {
  const value = onlyValue(terms, 'agent')
  return value === undefined ? undefined : ownerKey(value)
}

/** The only text that a condition allows; undefined if it allows several. */
function onlyValue(terms: readonly Term[], by: 'agent' | 'session'): string | undefined {
  for (const term of terms) {
    if (term.by !== by || term.isNegated || !('any' in term)) continue
    const [first, ...others] = term.any
    if (first !== undefined && others.length === 0 && !first.isPrefix) return first.text
  }
  return undefined
}

/** The owner that a text names: kind:id, or the id of an agent. */
export function ownerKey(text: string): PrincipalKey {
  const colon = text.indexOf(':')
  const kind = text.slice(0, Math.max(0, colon))
  return isPrincipalKind(kind) ? `${kind}:${text.slice(colon + 1)}` : `agent:${text}`
}

interface Range {
  readonly createdFrom: number
  readonly createdTo: number
}

function creationRange(terms: readonly Term[], now: number): Range {
  let [createdFrom, createdTo] = [0, Number.MAX_SAFE_INTEGER]
  for (const term of terms) {
    if (term.by === 'age') {
      // An age of exactly the limit is neither more nor less.
      if (term.isNegated === (term.is === 'less')) {
        createdTo = Math.min(createdTo, now - term.ms - (term.isNegated ? 0 : 1))
      } else createdFrom = Math.max(createdFrom, now - term.ms + (term.isNegated ? 0 : 1))
    }
    if (term.by === 'id' && !term.isNegated) {
      const digits = term.any.map((id) => id.replaceAll('-', '').slice(0, 12))
      const bound = (fill: string) => digits.map((each) => Number.parseInt(each.padEnd(12, fill), 16))
      createdFrom = Math.max(createdFrom, Math.min(...bound('0')))
      createdTo = Math.min(createdTo, Math.max(...bound('f')))
    }
  }
  return { createdFrom, createdTo }
}

function lineCheck(term: Term, now: number): (line: TaskLine) => boolean {
  const holds = lineCondition(term, now)
  return (line) => holds(line) !== term.isNegated
}

function lineCondition(term: Condition, now: number): (line: TaskLine) => boolean {
  switch (term.by) {
    case 'status':
      return ({ status }) => term.any.includes(status)
    case 'type':
      return ({ type }) => fitsAny(term.any, type)
    case 'agent': {
      const patterns = term.any.map(({ text, isPrefix }) => ({ text: ownerKey(text), isPrefix }))
      return ({ owner }) => fitsAny(patterns, owner)
    }
    case 'worker':
      return ({ worker_id }) => worker_id !== null && fitsAny(term.any, worker_id)
    case 'session':
      return ({ session_id }) => session_id !== null && fitsAny(term.any, session_id)
    case 'label':
      return ({ labels }) => {
        const value = labels === null ? undefined : memberOf(parseCanonical(labels), term.name)
        return typeof value === 'string' && fitsAny(term.any, value)
      }
    case 'age': {
      const limit = now - term.ms
      return ({ task_id }) => (term.is === 'more' ? taskTime(task_id) < limit : taskTime(task_id) > limit)
    }
    case 'id':
      return ({ task_id }) => term.any.some((id) => task_id.startsWith(id))
    default:
      throw new Error(`${term.by} is not decided by the line of a task`)
  }
}

function fitsAny(patterns: readonly Pattern[], value: string): boolean {
  return patterns.some(({ text, isPrefix }) => (isPrefix ? value.startsWith(text) : value === text))
}

function textsCheck(term: Term): (texts: TaskTexts) => boolean {
  const holds = textsCondition(term)
  return (texts) => holds(texts) !== term.isNegated
}

function textsCondition(term: Condition): (texts: TaskTexts) => boolean {
  switch (term.by) {
    case 'payload':
      return payloadCondition(term.path, term.any)
    case 'parent':
      return ({ input }) => {
        if (!term.any.some((id) => input.includes(`"parent_task_id":"${id}`))) return false
        const parent = memberOf(parseCanonical(input), 'parent_task_id')
        return typeof parent === 'string' && term.any.some((id) => parent.startsWith(id))
      }
    case 'error': {
      const wanted = term.any.map(folded)
      return ({ error }) => error !== null && wanted.some((text) => hasText(error, text))
    }
    case 'text': {
      const wanted = folded(term.text)
      return ({ input }) => {
        // Most tasks do not have the text anywhere, and need no parsing. Only escapes differ in the stored text.
        if (isUnescaped(wanted) && !folded(input).includes(wanted)) return false
        const summary = memberOf(parseCanonical(input), 'summary')
        return typeof summary === 'string' && folded(summary).includes(wanted)
      }
    }
    default:
      throw new Error(`${term.by} is not decided by the texts of a task`)
  }
}

function payloadCondition(path: readonly string[], any: readonly Value[]): (texts: TaskTexts) => boolean {
  const last = path.at(-1) ?? ''
  // An index of a list is not written in the stored text.
  const needle = /^\d+$/.test(last) ? '' : `${JSON.stringify(last)}:`
  return ({ input }) => {
    if (!input.includes(needle)) return false
    let value: Json | undefined = memberOf(parseCanonical(input), 'payload')
    for (const name of path) value = memberOf(value, name)
    return value !== undefined && any.some((wanted) => isValue(value, wanted))
  }
}

function isValue(value: Json | undefined, { text, isQuoted }: Value): boolean {
  if (typeof value === 'string') return value === text
  if (isQuoted || value === undefined) return false
  if (typeof value === 'number') return text.trim() !== '' && Number(text) === value
  return (value === null || typeof value === 'boolean') && String(value) === text
}

/** A member of an object, or an item of a list. */
function memberOf(value: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(value)) return /^\d{1,9}$/.test(name) ? value[Number(name)] : undefined
  return isObject(value) && Object.hasOwn(value, name) ? (value[name] as Json) : undefined
}

function folded(text: string): string {
  return text.toLowerCase()
}

/** Whether a text is the same within a JSON text. */
function isUnescaped(text: string): boolean {
  return JSON.stringify(text) === `"${text}"`
}

/** Whether a JSON text has the text in one of its strings, numbers or keys. */
function hasText(json: CanonicalJson, text: string): boolean {
  if (isUnescaped(text)) return folded(json).includes(text)
  const strings = (value: Json): readonly string[] => {
    if (typeof value === 'string') return [value]
    if (typeof value !== 'object' || value === null) return []
    return Object.values(value).flatMap((member) => strings(member as Json))
  }
  return strings(parseCanonical(json)).some((each) => folded(each).includes(text))
}
