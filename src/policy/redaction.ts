import type { Json } from '../core/json/json.ts'
import { follow, type Path, type Trails } from './path.ts'
import { type Pattern, REPLACEMENT } from './pattern.ts'
import type { Redacted } from './ruling.ts'

/** The number of characters in one value that small patterns examine. Text beyond it is redacted completely. */
const MAX_CHARACTERS = 512 * 1024

/** The maximum number of reported fields. The redaction itself is not limited. */
const MAX_FIELDS = 100

/** What several rules together redact. */
export interface Plan {
  readonly paths: readonly Path[]
  readonly patterns: readonly Pattern[]
  /** A rule names an unknown pattern, so all texts are redacted. */
  readonly isBroken: boolean
}

export function takesNothing({ paths, patterns, isBroken }: Plan): boolean {
  return paths.length === 0 && patterns.length === 0 && !isBroken
}

export function redact(plan: Plan, value: Json): Redacted {
  if (takesNothing(plan)) return { value, fields: [] }
  return new Redaction(plan).of(value)
}

class Redaction {
  readonly #plan: Plan
  readonly #weight: number
  readonly #fields: string[] = []
  /** The names on the way to the current value. */
  readonly #trail: string[] = []
  #left = MAX_CHARACTERS

  constructor(plan: Plan) {
    this.#plan = plan
    this.#weight = plan.patterns.reduce((sum, { weight }) => sum + weight, 0)
  }

  of(value: Json): Redacted {
    const redacted = this.#value(value, this.#plan.paths)
    return { value: redacted, fields: this.#fields }
  }

  /** Returns the same value if nothing is redacted. */
  #value(value: Json, trails: Trails): Json {
    if (typeof value === 'string') return this.#text(value)
    if (typeof value !== 'object' || value === null) return value
    if (!isList(value)) return this.#object(value, trails)
    const items = value.map((item, i) => this.#member(item, String(i), trails))
    return items.some((item, i) => item !== value[i]) ? items : value
  }

  #object(object: { readonly [key: string]: Json }, trails: Trails): Json {
    let isSame = true
    const members = Object.entries(object).map(([name, member]): [string, Json] => {
      const redacted = this.#member(member, name, trails)
      if (redacted !== member) isSame = false
      return [name, redacted]
    })
    return isSame ? object : Object.fromEntries(members)
  }

  #member(value: Json, name: string, trails: Trails): Json {
    this.#trail.push(name)
    const { below, isEnd } = follow(trails, name)
    const redacted = isEnd && value !== REPLACEMENT ? this.#gone() : this.#value(value, below)
    this.#trail.pop()
    return redacted
  }

  #text(text: string): string {
    const { patterns, isBroken } = this.#plan
    if (text === '' || text === REPLACEMENT) return text
    if (isBroken) return this.#gone()
    const cost = text.length * this.#weight
    if (cost > this.#left) return this.#gone()
    this.#left -= cost
    let redacted = text
    for (const { replace } of patterns) {
      redacted = replace(redacted)
      // A replacement may be longer than its match.
      if (redacted.length > MAX_CHARACTERS) return this.#gone()
    }
    if (redacted !== text) this.#note()
    return redacted
  }

  #gone(): string {
    this.#note()
    return REPLACEMENT
  }

  #note(): void {
    if (this.#fields.length < MAX_FIELDS) this.#fields.push(pointerOf(this.#trail))
  }
}

/** RFC 6901. */
function pointerOf(trail: readonly string[]): string {
  return trail.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

function isList(value: object): value is readonly Json[] {
  return Array.isArray(value)
}
