import { type Condition, compileCondition, failureOf } from './condition.ts'
import {
  type ConditionData,
  partialData,
  UNKNOWN,
  UNKNOWN_ROOTS,
  type Unknown,
  UnknownValue,
} from './condition-data.ts'
import { glob } from './glob.ts'
import { type Path, parsePath } from './path.ts'
import { principalOf, type RuleDraft, type Scope } from './rule.ts'
import type { PolicyContext } from './ruling.ts'

/** Whether a rule applies. `failed`: the condition cannot be evaluated. */
export type Verdict =
  | { readonly is: 'applies' }
  | { readonly is: 'not'; readonly why: string }
  | { readonly is: 'failed'; readonly why: string }

const APPLIES: Verdict = { is: 'applies' }
const NOT_HELD: Verdict = { is: 'not', why: 'its condition does not hold' }

/** A tool call before it is made. Absent fields and all arguments are unknown. */
export interface PartialContext
  extends Pick<PolicyContext, 'type' | 'tool' | 'upstream' | 'category' | 'tenant'>,
    Partial<Pick<PolicyContext, 'agent' | 'principal' | 'session'>> {}

/** A verdict and the unknown values it depends on. */
export interface PartialVerdict {
  readonly is: Verdict['is']
  readonly on: ReadonlySet<Unknown>
}

type Part = keyof Scope
const PARTS: readonly Part[] = ['upstream', 'tool', 'category', 'type', 'principal']

interface Matcher {
  readonly part: Part
  readonly wanted: string
  fits(text: string): boolean
}

/** A rule that is ready to be evaluated. */
export class CompiledRule {
  readonly draft: RuleDraft
  readonly paths: readonly Path[]
  readonly expiresAt: number
  readonly #matchers: readonly Matcher[]
  readonly #condition: Condition | undefined
  /** Why its condition cannot be compiled. */
  readonly #failure: string | undefined

  /** If the rule cannot be compiled, throws if `mustWork`; otherwise its verdict is `failed`. */
  constructor(draft: RuleDraft, mustWork = false) {
    this.draft = draft
    this.expiresAt = draft.expires_at === null ? Infinity : Date.parse(draft.expires_at)
    this.#matchers = PARTS.flatMap((part) => matcherOf(part, draft.scope[part]))
    let paths: readonly Path[] = []
    try {
      paths = draft.redact?.paths.map(parsePath) ?? []
      this.#condition = draft.condition === null ? undefined : compileCondition(draft.condition)
    } catch (error) {
      if (mustWork) throw error
      this.#failure = failureOf(error)
    }
    this.paths = paths
  }

  /** Whether a path of it could not be compiled. */
  get isBroken(): boolean {
    return this.paths.length !== (this.draft.redact?.paths.length ?? 0)
  }

  get id(): string {
    return this.draft.id
  }

  get redactsResults(): boolean {
    return this.draft.redact !== null && this.draft.redact.targets !== 'args'
  }

  get redactsArgs(): boolean {
    return this.draft.redact !== null && this.draft.redact.targets !== 'result'
  }

  isLive(now: number): boolean {
    return this.draft.enabled && now < this.expiresAt
  }

  /** Whether it can apply to a task that is no tool call. */
  get concernsPlainTypes(): boolean {
    const { tool, upstream, category } = this.draft.scope
    return tool === undefined && upstream === undefined && category === undefined
  }

  verdict(context: PolicyContext): Verdict {
    for (const { part, wanted, fits } of this.#matchers) {
      const actual = context[part]
      if (actual === null || !fits(actual)) {
        return { is: 'not', why: `its ${part} is ${wanted}, not ${actual ?? 'set here'}` }
      }
    }
    return this.#failure === undefined ? this.#conditionVerdict(context) : failed(this.#failure)
  }

  #conditionVerdict(context: PolicyContext): Verdict {
    const condition = this.#condition
    if (condition === undefined) return APPLIES
    if (condition.usesArgs && context.elsewhere) {
      return failed('it looks at the arguments, and some of them are at payload_pointer')
    }
    try {
      return condition.holds(dataOf(context)) ? APPLIES : NOT_HELD
    } catch (error) {
      return failed(failureOf(error))
    }
  }

  /** The verdict before the call. `not` is always certain. */
  partialVerdict(context: PartialContext): PartialVerdict {
    const on = new Set<Unknown>()
    for (const { part, fits } of this.#matchers) {
      const actual = context[part]
      if (actual === undefined) on.add(UNKNOWN_ROOTS[part] ?? 'caller')
      else if (actual === null || !fits(actual)) return { is: 'not', on: new Set() }
    }
    if (this.#failure !== undefined) return { is: 'failed', on }
    if (this.#condition === undefined) return { is: 'applies', on }
    try {
      const holds = this.#condition.holds(knownDataOf(context))
      return holds ? { is: 'applies', on } : { is: 'not', on: new Set() }
    } catch (error) {
      if (!(error instanceof UnknownValue)) return { is: 'failed', on }
      return { is: 'applies', on: new Set([...on, ...error.on]) }
    }
  }
}

/** The beginning of sentences about a rule. */
export function nameOf({ id, draft }: CompiledRule): string {
  return draft.description === null ? `Rule ${id}` : `Rule ${id} (${draft.description.replace(/\.$/, '')})`
}

function failed(why: string): Verdict {
  return { is: 'failed', why: `its condition cannot be evaluated: ${why}` }
}

function matcherOf(part: Part, wanted: string | undefined): Matcher[] {
  if (wanted === undefined) return []
  return [{ part, wanted, fits: glob(part === 'principal' ? principalOf(wanted) : wanted) }]
}

function knownDataOf(context: PartialContext): ConditionData {
  const { agent = UNKNOWN, principal = UNKNOWN, session = UNKNOWN } = context
  const { tool, upstream, category, type, tenant } = context
  const known = { tool, upstream, category, type, agent, principal, tenant, session }
  return partialData({ ...known, ...UNKNOWN_INPUT })
}

const UNKNOWN_INPUT = {
  args: UNKNOWN,
  inputs: UNKNOWN,
  body: UNKNOWN,
  payload_pointer: UNKNOWN,
  requirements: UNKNOWN,
}

function dataOf(context: PolicyContext): ConditionData {
  const { tool, upstream, category, type, agent, principal, tenant, session, args } = context
  const { inputs = {}, body = null, payload_pointer = null, requirements } = context
  const { capabilities = [], tags = [] } = requirements ?? {}
  return {
    tool,
    upstream,
    category,
    type,
    agent,
    principal,
    tenant,
    session,
    args,
    inputs,
    body,
    payload_pointer,
    requirements: { capabilities, tags },
  }
}
