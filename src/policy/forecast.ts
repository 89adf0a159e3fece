import { type CompiledRule, nameOf, type PartialContext } from './compiled-rule.ts'
import type { Unknown } from './condition-data.ts'
import { THE_DEFAULT } from './rule.ts'
import type { DefaultAction } from './ruling.ts'

export const OUTCOMES = ['allowed', 'needs_approval', 'blocked', 'depends'] as const
export type Outcome = (typeof OUTCOMES)[number]

export const DEPENDS_ON = ['arguments', 'caller', 'session'] as const satisfies readonly Unknown[]

/** The effect of the rules on calls of a tool, as far as it is known before a call. */
export interface Forecast {
  readonly outcome: Outcome
  /** Empty unless the outcome is `depends`. */
  readonly depends_on: readonly Unknown[]
  /** The rule that decides, or the first that may; null: the default decides. */
  readonly rule_id: string | null
  readonly reason: string
}

export interface ForecastDeps {
  /** Sorted. */
  readonly rules: readonly CompiledRule[]
  readonly byDefault: DefaultAction
  readonly now: number
  /** Whether a rule cannot redact the arguments, so that it blocks. */
  isBroken(rule: CompiledRule): boolean
}

/** A possible decision and the unknown values it depends on. */
interface Possible {
  readonly action: DefaultAction
  readonly rule: CompiledRule | null
  readonly on: ReadonlySet<Unknown>
}

const CERTAIN: ReadonlySet<Unknown> = new Set()
const OUTCOME = { ALLOW: 'allowed', BLOCK: 'blocked', REQUIRE_APPROVAL: 'needs_approval' } as const
const MAY = { ALLOW: 'may allow this', BLOCK: 'may block this', REQUIRE_APPROVAL: 'may require approval' }

/** The number of uncertain rules that a reason names. */
const MAX_NAMED = 3

export function forecastOf(deps: ForecastDeps, context: PartialContext): Forecast {
  const possible = possibilities(deps, context)
  const last = possible.at(-1)
  if (last === undefined) throw new Error('no decision is possible')
  const rule_id = last.rule?.id ?? null
  if (possible.every(({ action }) => action === last.action)) {
    return { outcome: OUTCOME[last.action], depends_on: [], rule_id, reason: reasonOf(last) }
  }
  const open = possible.filter(({ on }) => on.size > 0)
  const all = new Set(open.flatMap(({ on }) => [...on]))
  const named = open
    .slice(0, MAX_NAMED)
    .map(({ rule, action, on }) => `${subjectOf(rule)} ${MAY[action]}, depending on ${listOf(on)}.`)
  return {
    outcome: 'depends',
    depends_on: DEPENDS_ON.filter((each) => all.has(each)),
    rule_id: open[0]?.rule?.id ?? null,
    reason: `${named.join(' ')} Otherwise: ${reasonOf(last)}`,
  }
}

/** All possible decisions, in the order of the rules. The last one is certain if it is reached. */
function possibilities(deps: ForecastDeps, context: PartialContext): readonly Possible[] {
  const live = deps.rules.filter((rule) => rule.isLive(deps.now))
  const found: Possible[] = []
  for (const rule of live.filter(({ draft }) => draft.action === 'REDACT')) {
    const { is, on } = rule.partialVerdict(context)
    if (is === 'not' || (is === 'applies' && !deps.isBroken(rule))) continue
    found.push({ action: 'BLOCK', rule, on })
    if (on.size === 0) return found
  }
  for (const rule of live) {
    const { action, approves } = rule.draft
    if (action === 'REDACT' || approves !== null) continue
    const { is, on } = rule.partialVerdict(context)
    if (is === 'not') continue
    found.push(...decisionsOf(live, context, is === 'failed' ? 'BLOCK' : action, rule, on))
    if (on.size === 0) return found
  }
  found.push(...decisionsOf(live, context, deps.byDefault, null, CERTAIN))
  return found
}

/** The decision of a rule or of the default, preceded by those of rules that replace a required approval. */
function decisionsOf(
  live: readonly CompiledRule[],
  context: PartialContext,
  action: DefaultAction,
  rule: CompiledRule | null,
  on: ReadonlySet<Unknown>,
): readonly Possible[] {
  const decided = { action, rule, on }
  if (action !== 'REQUIRE_APPROVAL') return [decided]
  const found: Possible[] = []
  for (const standIn of live) {
    const { approves } = standIn.draft
    if (approves === null || (approves !== '*' && approves !== (rule?.id ?? THE_DEFAULT))) continue
    const verdict = standIn.partialVerdict(context)
    if (verdict.is !== 'applies') continue
    found.push({ action: 'ALLOW', rule: standIn, on: new Set([...on, ...verdict.on]) })
    if (verdict.on.size === 0) return found
  }
  return [...found, decided]
}

function reasonOf({ action, rule }: Possible): string {
  if (rule === null) {
    const what = {
      ALLOW: 'No rule applies, and calls of upstream tools are allowed by default.',
      BLOCK: 'No rule allows this, and calls of upstream tools are blocked by default.',
      REQUIRE_APPROVAL: 'No rule allows this, and by default it needs approval.',
    }
    return what[action]
  }
  const { draft } = rule
  if (action === 'REQUIRE_APPROVAL') return `${nameOf(rule)} says that this needs approval.`
  if (action === 'ALLOW') {
    return `${nameOf(rule)} allows this${draft.approves === null ? '' : ' without asking again'}.`
  }
  return draft.action === 'BLOCK'
    ? `${nameOf(rule)} blocks this.`
    : `Rule ${rule.id} blocks: it cannot be evaluated.`
}

function subjectOf(rule: CompiledRule | null): string {
  return rule === null ? 'The default' : nameOf(rule)
}

function listOf(on: ReadonlySet<Unknown>): string {
  const words = DEPENDS_ON.filter((each) => on.has(each)).map((each) => `the ${each}`)
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}
