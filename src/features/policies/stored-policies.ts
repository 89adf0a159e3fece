import { body } from '../../core/bodies.ts'
import { invalid } from '../../core/errors.ts'
import { canonical } from '../../core/json/json.ts'
import { GATE, type PrincipalKey } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import { isBuiltIn } from '../../policy/built-in-patterns.ts'
import type { PatternDraft } from '../../policy/pattern.ts'
import type { RuleDraft } from '../../policy/rule.ts'
import type { Defaults } from '../../policy/ruling.ts'
import { Collection, type Item, TenantRegistry } from '../collection.ts'
import {
  type CopyParts,
  copyOf,
  type FixedPolicies,
  NO_POLICIES,
  type PolicyCopy,
  patternView,
  ruleView,
  type Stored,
} from './copy.ts'
import { isOutdated, type Remembered, rememberedRule } from './remembered-rule.ts'
import { checkRule, type PatternView, type PolicyView } from './shape.ts'

/** Limits per tenant: all rules and patterns of a tenant are in memory. */
export const MAX_RULES = 1000
export const MAX_PATTERNS = 200

export interface PolicyOptions {
  readonly defaults?: Partial<Defaults>
  /** The rules and patterns of the operator's file. */
  readonly fixed?: FixedPolicies
}

/** The rules and patterns of every tenant: stored, and compiled in memory so that creating a task reads nothing. */
export class StoredPolicies extends TenantRegistry<PolicyCopy> {
  readonly #rules = new Collection<Stored<RuleDraft>>(this.engine, 'policy', JSON.parse)
  readonly #patterns = new Collection<Stored<PatternDraft>>(this.engine, 'redaction_pattern', JSON.parse)
  readonly parts: CopyParts

  constructor(engine: Engine, { defaults, fixed = NO_POLICIES }: PolicyOptions = {}) {
    super(engine)
    this.parts = {
      fixed,
      defaults: { plain: 'ALLOW', upstream: 'BLOCK', ...defaults },
      now: () => Date.now(),
    }
  }

  /** The listener is called when the rules or patterns of a tenant have changed. */
  onChange(listener: (tenant: number) => void): void {
    this.onReplaced((tenant, after, before) => {
      if (after !== before) listener(tenant)
    })
  }

  /** Creates or replaces a rule. Writing the same rule again changes nothing. */
  async putRule(tenant: number, draft: RuleDraft, by: PrincipalKey): Promise<PolicyView> {
    for (;;) {
      const { rules, patterns } = await this.refresh(tenant)
      const before = rules.get(draft.id)?.view
      if (before?.source === 'file') throw fixed('id', 'rule')
      checkRule(draft, (name) => patterns.has(name))
      if (before !== undefined && isSame(draft, before)) return before
      if (before === undefined && rules.size >= MAX_RULES) throw tooMany('id', MAX_RULES)
      const change = { tenant, by, what: 'rule', id: draft.id, before } as const
      const item = await this.#write(this.#rules, change, draft)
      if (item !== undefined) return ruleView(item)
    }
  }

  async putPattern(tenant: number, draft: PatternDraft, by: PrincipalKey): Promise<PatternView> {
    for (;;) {
      const { patterns } = await this.refresh(tenant)
      const before = patterns.get(draft.name)?.view
      if (isBuiltIn(draft.name))
        throw invalid('name', 'is the name of a built-in pattern: choose another one')
      if (before?.source === 'file') throw fixed('name', 'pattern')
      if (before !== undefined && isSame(draft, before)) return before
      if (before === undefined && patterns.size >= MAX_PATTERNS) throw tooMany('name', MAX_PATTERNS)
      const change = { tenant, by, what: 'pattern', id: draft.name, before } as const
      const item = await this.#write(this.#patterns, change, draft)
      if (item !== undefined) return patternView(item)
    }
  }

  /** Resolves with whether there was such a rule. */
  async removeRule(tenant: number, id: string, by: PrincipalKey): Promise<boolean> {
    const before = (await this.refresh(tenant)).rules.get(id)?.view
    if (before?.source === 'file') throw fixed('id', 'rule')
    if (before === undefined) return false
    return this.#remove(this.#rules, { tenant, by, what: 'rule', id, before })
  }

  async removePattern(tenant: number, name: string, by: PrincipalKey): Promise<boolean> {
    const { rules, patterns } = await this.refresh(tenant)
    const before = patterns.get(name)?.view
    if (before === undefined) return false
    if (before.source === 'built_in') throw invalid('name', 'is a built-in pattern')
    if (before.source === 'file') throw fixed('name', 'pattern')
    const user = [...rules.values()].find(({ view }) => view.redact?.patterns.includes(name))
    if (user !== undefined) throw invalid('name', `is in use by rule ${user.view.id}: change that first`)
    return this.#remove(this.#patterns, { tenant, by, what: 'pattern', id: name, before })
  }

  /** Writes the rule of a remembered approval and resolves with its id. Expired ones are deleted: they have no effect. */
  async remember(tenant: number, approval: Remembered): Promise<string> {
    for (const { view } of (await this.refresh(tenant)).rules.values()) {
      if (isOutdated(view)) await this.#rules.remove(tenant, view.id)
    }
    return (await this.putRule(tenant, rememberedRule(approval), approval.by)).id
  }

  protected async read(tenant: number, before: PolicyCopy | undefined): Promise<PolicyCopy> {
    return copyOf(this.parts, await this.#rules.all(tenant), await this.#patterns.all(tenant), before)
  }

  async #write<Draft extends RuleDraft | PatternDraft>(
    stored: Collection<Stored<Draft>>,
    change: Change,
    draft: Draft,
  ): Promise<Item<Stored<Draft>> | undefined> {
    const { tenant, by, id, before } = change
    await this.#note(change, draft)
    const value = { ...draft, updated_at: isoTime(Date.now()), updated_by: by }
    const item = await stored.put(tenant, id, value, before?.version ?? 0)
    await this.refresh(tenant)
    return item
  }

  async #remove(stored: Collection<Stored<object>>, change: Change): Promise<boolean> {
    await this.#note(change, null)
    const removed = await stored.remove(change.tenant, change.id)
    await this.refresh(change.tenant)
    return removed
  }

  /** The receipt is written first: a change without a receipt would be worse than a receipt without its change. */
  async #note(
    { tenant, by, what, id, before }: Change,
    after: RuleDraft | PatternDraft | null,
  ): Promise<void> {
    await this.engine.submit({
      verb: 'record',
      tenant,
      type: 'policy.changed',
      from: by,
      to: GATE,
      body: body({
        what: canonical(what),
        id: canonical(id),
        change: canonical(after === null ? 'removed' : 'set'),
        before: canonical(before === undefined ? null : asDraft(before)),
        after: canonical(after),
      }),
    })
  }
}

interface Change {
  readonly tenant: number
  readonly by: PrincipalKey
  readonly what: 'rule' | 'pattern'
  readonly id: string
  readonly before: PolicyView | PatternView | undefined
}

function asDraft(view: PolicyView | PatternView): object {
  const { source: _, version, updated_at, updated_by, ...draft } = view
  return draft
}

/** Compares canonical texts, so the order of members makes no difference. */
function isSame(draft: RuleDraft | PatternDraft, view: PolicyView | PatternView): boolean {
  return canonical(draft) === canonical(asDraft(view))
}

function fixed(path: string, what: string) {
  return invalid(path, `is a ${what} of the operator's file and can only be changed there`)
}

function tooMany(path: string, limit: number) {
  return invalid(path, `cannot be added: limit of ${limit} reached`)
}
