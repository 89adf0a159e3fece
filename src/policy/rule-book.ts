import type { Json } from '../core/json/json.ts'
import { type CompiledRule, nameOf, type PartialContext } from './compiled-rule.ts'
import { type Forecast, forecastOf } from './forecast.ts'
import type { Pattern } from './pattern.ts'
import { type Plan, redact } from './redaction.ts'
import { compareRules, THE_DEFAULT } from './rule.ts'
import type {
  Action,
  Consideration,
  Defaults,
  PolicyContext,
  Redacted,
  Ruling,
  TenantPolicies,
} from './ruling.ts'
import { redactToolResult } from './tool-result.ts'

export interface BookDeps {
  readonly rules: readonly CompiledRule[]
  /** By name; null for a disabled pattern. */
  readonly patterns: ReadonlyMap<string, Pattern | null>
  readonly defaults: Defaults
  readonly now: () => number
}

interface Decided {
  readonly action: Action
  readonly rule: CompiledRule | null
  readonly reason: string
}

type Note = (rule: CompiledRule, applied: boolean, why: string) => void

const NO_NOTE: Note = () => {}

/** The compiled rules of a tenant, sorted. */
export class RuleBook implements TenantPolicies {
  readonly isOpen: boolean
  readonly redactsResults: boolean
  readonly rules: readonly CompiledRule[]
  readonly #deps: BookDeps

  constructor(deps: BookDeps) {
    this.#deps = deps
    this.rules = deps.rules.toSorted((a, b) => compareRules(a.draft, b.draft))
    this.redactsResults = this.rules.some((rule) => rule.draft.enabled && rule.redactsResults)
    this.isOpen =
      deps.defaults.plain === 'ALLOW' &&
      !this.rules.some((rule) => rule.draft.enabled && rule.concernsPlainTypes)
  }

  rule(context: PolicyContext): Ruling {
    return this.#ruling(context, NO_NOTE)
  }

  /** The ruling, with a note about each rule. */
  explain(context: PolicyContext): {
    readonly ruling: Ruling
    readonly considered: readonly Consideration[]
  } {
    const notes = new Map<string, Consideration>()
    const ruling = this.#ruling(context, ({ id }, applied, why) => notes.set(id, { id, applied, why }))
    const considered = this.rules.flatMap(({ id }) => notes.get(id) ?? [])
    return { ruling, considered }
  }

  /** The effect of the rules on calls of a tool, as far as it is known before a call. */
  forecast(context: PartialContext): Forecast {
    const { defaults, now } = this.#deps
    const isBroken = (rule: CompiledRule) => rule.redactsArgs && this.#planOf([rule]).isBroken
    return forecastOf({ rules: this.rules, byDefault: defaults.upstream, now: now(), isBroken }, context)
  }

  /** When the next live rule expires; infinite if none does. */
  expiresAt(): number {
    const now = this.#deps.now()
    return Math.min(Infinity, ...this.rules.filter((rule) => rule.isLive(now)).map((rule) => rule.expiresAt))
  }

  redactResult(context: PolicyContext, value: Json, redacting: readonly string[] = []): Redacted {
    const plan = this.#planOf(this.#resultRules(context, redacting))
    return context.tool === null ? redact(plan, value) : redactToolResult(plan, value)
  }

  redactsResultOf(context: PolicyContext, redacting: readonly string[] = []): boolean {
    return this.#resultRules(context, redacting).length > 0
  }

  #ruling(context: PolicyContext, note: Note): Ruling {
    const now = this.#deps.now()
    const redacting: CompiledRule[] = []
    const decided = this.#unbroken(context, redacting, this.#decide(context, now, redacting, note))
    const ofArgs = this.#planOf(redacting.filter((rule) => rule.redactsArgs))
    const ofText: Plan = { ...ofArgs, paths: [] }
    const seconds = decided.rule?.draft.approval_expires_in_seconds ?? null
    return {
      action: decided.action,
      rule_id: decided.rule?.id ?? null,
      reason: decided.reason,
      expires_in_ms: seconds === null ? null : seconds * 1000,
      approve_by: decided.action === 'REQUIRE_APPROVAL' ? (decided.rule?.draft.approve_by ?? 'person') : null,
      redacting: redacting.map(({ id }) => id),
      redactArgs: (args) => redact(ofArgs, args),
      redactText: (value) => redact(ofText, value),
    }
  }

  /**
   * The first rule that allows, blocks or requires approval decides. REDACT rules do not decide; all that apply are
   * collected, also those after the deciding rule. A rule that cannot be evaluated redacts and blocks.
   */
  #decide(context: PolicyContext, now: number, redacting: CompiledRule[], note: Note): Decided {
    let decider: CompiledRule | undefined
    let failure: Decided | undefined
    for (const rule of this.rules) {
      const { action, approves } = rule.draft
      if (!rule.isLive(now)) {
        note(rule, false, rule.draft.enabled ? 'it has expired' : 'it is not enabled')
        continue
      }
      if (approves !== null) {
        note(rule, false, 'it stands in where approval is required, and nowhere else')
        continue
      }
      const isRedact = action === 'REDACT'
      if (!isRedact && (decider ?? failure) !== undefined) {
        note(rule, false, 'a rule before it has decided')
        continue
      }
      const verdict = rule.verdict(context)
      if (verdict.is === 'not') {
        note(rule, false, verdict.why)
        continue
      }
      if (isRedact) redacting.push(rule)
      if (verdict.is === 'failed') {
        note(rule, true, `${verdict.why}, which blocks`)
        if (failure === undefined && decider?.draft.action !== 'BLOCK') {
          failure = { action: 'BLOCK', rule, reason: `Rule ${rule.id} blocks: ${verdict.why}.` }
        }
      } else if (isRedact) note(rule, true, redactionNote(rule))
      else {
        note(rule, true, 'it decides')
        decider = rule
      }
    }
    if (failure !== undefined) return failure
    if (decider !== undefined) return this.#decidedBy(decider, context, now, note)
    return this.#byDefault(context, now, redacting, note)
  }

  #decidedBy(rule: CompiledRule, context: PolicyContext, now: number, note: Note): Decided {
    const { action } = rule.draft
    if (action === 'REQUIRE_APPROVAL') return this.#approval(context, now, rule, note)
    return { action, rule, reason: `${nameOf(rule)} ${action === 'ALLOW' ? 'allows' : 'blocks'} this.` }
  }

  #byDefault(context: PolicyContext, now: number, redacting: readonly CompiledRule[], note: Note): Decided {
    const { defaults } = this.#deps
    const isCall = context.tool !== null
    const action = isCall ? defaults.upstream : defaults.plain
    const about = isCall ? 'calls of upstream tools' : 'tasks'
    switch (action) {
      case 'ALLOW': {
        const [first] = redacting
        if (first !== undefined)
          return { action: 'REDACT', rule: first, reason: `${nameOf(first)} redacts this.` }
        return { action, rule: null, reason: `No rule applies, and ${about} are allowed by default.` }
      }
      case 'BLOCK':
        return { action, rule: null, reason: `No rule allows this, and ${about} are blocked by default.` }
      case 'REQUIRE_APPROVAL':
        return this.#approval(context, now, null, note)
    }
  }

  /** A person must approve, unless a rule replaces the approval. */
  #approval(context: PolicyContext, now: number, rule: CompiledRule | null, note: Note): Decided {
    const asking = rule?.id ?? THE_DEFAULT
    for (const standIn of this.rules) {
      const { approves } = standIn.draft
      if (approves === null || (approves !== '*' && approves !== asking) || !standIn.isLive(now)) continue
      if (standIn.verdict(context).is !== 'applies') continue
      note(standIn, true, `it stands in for the approval that ${rule?.id ?? 'the default'} requires`)
      return {
        action: 'ALLOW',
        rule: standIn,
        reason: `${nameOf(standIn)} allows this without asking again.`,
      }
    }
    const who = rule === null ? 'No rule allows this, and by default it' : `${nameOf(rule)} says that this`
    return { action: 'REQUIRE_APPROVAL', rule, reason: `${who} needs approval.` }
  }

  /** Blocks if the arguments must be redacted but cannot be. */
  #unbroken(context: PolicyContext, redacting: readonly CompiledRule[], decided: Decided): Decided {
    const rule = redacting.find(
      (each) => each.redactsArgs && (context.elsewhere || this.#planOf([each]).isBroken),
    )
    if (rule === undefined || decided.action === 'BLOCK') return decided
    const why = context.elsewhere
      ? 'it redacts the arguments, and some of them are at payload_pointer'
      : 'it names a redaction pattern that does not exist'
    return { action: 'BLOCK', rule, reason: `Rule ${rule.id} blocks: ${why}.` }
  }

  /** The rules that redact the result of a task. A rule that cannot be evaluated redacts it. */
  #resultRules(context: PolicyContext, redacting: readonly string[]): CompiledRule[] {
    const now = this.#deps.now()
    return this.rules.filter((rule) => {
      if (!rule.redactsResults || !rule.isLive(now)) return false
      return redacting.includes(rule.id) || rule.verdict(context).is !== 'not'
    })
  }

  #planOf(rules: readonly CompiledRule[]): Plan {
    const names = new Set(rules.flatMap(({ draft }) => draft.redact?.patterns ?? []))
    const patterns = [...names].map((name) => this.#deps.patterns.get(name))
    return {
      paths: rules.flatMap(({ paths }) => paths),
      patterns: patterns.filter((pattern) => pattern !== undefined && pattern !== null),
      isBroken: patterns.includes(undefined) || rules.some((rule) => rule.isBroken),
    }
  }
}

function redactionNote({ redactsArgs, redactsResults }: CompiledRule): string {
  const what = [redactsArgs && 'the arguments', redactsResults && 'the result']
  return `it redacts ${what.filter(Boolean).join(' and ')}`
}
