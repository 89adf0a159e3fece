import { body } from '../../core/bodies.ts'
import { invalid } from '../../core/errors.ts'
import { canonical } from '../../core/json/json.ts'
import { GATE, type PrincipalKey } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import { TenantCopies } from '../../engine/tenant-cache.ts'
import { isBuiltIn } from '../../policy/built-in-patterns.ts'
import type { PatternDraft } from '../../policy/pattern.ts'
import type { RuleDraft } from '../../policy/rule.ts'
import type { RuleBook } from '../../policy/rule-book.ts'
import type { Defaults } from '../../policy/ruling.ts'
import type { Entry } from '../../store/entries.ts'
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

const RULE = 'policy'
const PATTERN = 'redaction_pattern'
const PAGE = 200

/** Limits per tenant: all rules and patterns of a tenant are in memory. */
export const MAX_RULES = 1000
export const MAX_PATTERNS = 200

export interface PolicyOptions {
  readonly defaults?: Partial<Defaults>
  /** The rules and patterns of the operator's file. */
  readonly fixed?: FixedPolicies
}

/** The rules and patterns of every tenant: stored, and compiled in memory so that creating a task reads nothing. */
export class StoredPolicies {
  readonly #engine: Engine
  readonly #parts: CopyParts
  readonly #copies: TenantCopies<PolicyCopy>
  readonly #listeners = new Set<(tenant: number) => void>()

  constructor(engine: Engine, { defaults, fixed = NO_POLICIES }: PolicyOptions = {}) {
    this.#engine = engine
    this.#parts = {
      fixed,
      defaults: { plain: 'ALLOW', upstream: 'BLOCK', ...defaults },
      now: () => Date.now(),
    }
    this.#copies = new TenantCopies({
      shared: engine.store.shared,
      read: (tenant, before) => this.#read(tenant, before),
      replaced: (tenant, after, before) => {
        if (after !== before) for (const listener of this.#listeners) listener(tenant)
      },
      report: (error) => engine.report(error),
    })
  }

  get parts(): CopyParts {
    return this.#parts
  }

  /** The compiled rules, if they are loaded. */
  known(tenant: number): RuleBook | undefined {
    return this.#copies.known(tenant)?.book
  }

  async load(tenant: number): Promise<RuleBook> {
    const { book } = await this.#engine.reading(() => this.#copies.load(tenant))
    return book
  }

  /** The listener is called when the rules or patterns of a tenant have changed. */
  onChange(listener: (tenant: number) => void): void {
    this.#listeners.add(listener)
  }

  /** Reads the store. */
  copy(tenant: number): Promise<PolicyCopy> {
    return this.#engine.reading(() => this.#copies.refresh(tenant))
  }

  /** Reads the store; concurrent calls share one read. */
  async fresh(tenant: number): Promise<RuleBook> {
    const { book } = await this.#engine.reading(() => this.#copies.fresh(tenant))
    return book
  }

  /** Creates or replaces a rule. Writing the same rule again changes nothing. */
  async putRule(tenant: number, draft: RuleDraft, by: PrincipalKey): Promise<PolicyView> {
    for (;;) {
      const { rules, patterns } = await this.copy(tenant)
      const before = rules.get(draft.id)?.view
      if (before?.source === 'file') throw fixed('id', 'rule')
      checkRule(draft, (name) => patterns.has(name))
      if (before !== undefined && isSame(draft, before)) return before
      if (before === undefined && rules.size >= MAX_RULES) throw tooMany('id', MAX_RULES)
      const entry = await this.#write({ tenant, kind: RULE, name: draft.id, draft, before, by, what: 'rule' })
      if (entry !== undefined) return ruleView(entry)
    }
  }

  async putPattern(tenant: number, draft: PatternDraft, by: PrincipalKey): Promise<PatternView> {
    for (;;) {
      const { patterns } = await this.copy(tenant)
      const before = patterns.get(draft.name)?.view
      if (isBuiltIn(draft.name))
        throw invalid('name', 'is the name of a built-in pattern: choose another one')
      if (before?.source === 'file') throw fixed('name', 'pattern')
      if (before !== undefined && isSame(draft, before)) return before
      if (before === undefined && patterns.size >= MAX_PATTERNS) throw tooMany('name', MAX_PATTERNS)
      const entry = await this.#write({
        tenant,
        kind: PATTERN,
        name: draft.name,
        draft,
        before,
        by,
        what: 'pattern',
      })
      if (entry !== undefined) return patternView(entry)
    }
  }

  /** Resolves with whether there was such a rule. */
  async removeRule(tenant: number, id: string, by: PrincipalKey): Promise<boolean> {
    const before = (await this.copy(tenant)).rules.get(id)?.view
    if (before?.source === 'file') throw fixed('id', 'rule')
    if (before === undefined) return false
    return this.#remove(tenant, RULE, id, before, by, 'rule')
  }

  async removePattern(tenant: number, name: string, by: PrincipalKey): Promise<boolean> {
    const { rules, patterns } = await this.copy(tenant)
    const before = patterns.get(name)?.view
    if (before === undefined) return false
    if (before.source === 'built_in') throw invalid('name', 'is a built-in pattern')
    if (before.source === 'file') throw fixed('name', 'pattern')
    const user = [...rules.values()].find(({ view }) => view.redact?.patterns.includes(name))
    if (user !== undefined) throw invalid('name', `is in use by rule ${user.view.id}: change that first`)
    return this.#remove(tenant, PATTERN, name, before, by, 'pattern')
  }

  /** Writes the rule of a remembered approval and resolves with its id. Expired ones are deleted: they have no effect. */
  async remember(tenant: number, approval: Remembered): Promise<string> {
    for (const { view } of (await this.copy(tenant)).rules.values()) {
      if (isOutdated(view)) await this.#engine.writing((entries) => entries.remove(tenant, RULE, view.id))
    }
    return (await this.putRule(tenant, rememberedRule(approval), approval.by)).id
  }

  stop(): Promise<void> {
    return this.#copies.stop()
  }

  /** The receipt is written first: a change without a receipt would be worse than a receipt without its change. */
  async #write<Draft extends RuleDraft | PatternDraft>(change: {
    readonly tenant: number
    readonly kind: string
    readonly name: string
    readonly draft: Draft
    readonly before: PolicyView | PatternView | undefined
    readonly by: PrincipalKey
    readonly what: 'rule' | 'pattern'
  }): Promise<Entry | undefined> {
    const { tenant, kind, name, draft, before, by, what } = change
    const stored: Stored<Draft> = { ...draft, updated_at: isoTime(Date.now()), updated_by: by }
    const entry = { tenant, kind, name, value: JSON.stringify(stored), due_at: null }
    await this.#note(tenant, by, {
      what,
      id: name,
      change: 'set',
      before: before && asDraft(before),
      after: draft,
    })
    const version = await this.#engine.writing((entries) => entries.put(entry, before?.version ?? 0))
    await this.copy(tenant)
    return version === undefined ? undefined : { ...entry, version }
  }

  async #remove(
    tenant: number,
    kind: string,
    name: string,
    before: PolicyView | PatternView,
    by: PrincipalKey,
    what: 'rule' | 'pattern',
  ): Promise<boolean> {
    await this.#note(tenant, by, {
      what,
      id: name,
      change: 'removed',
      before: asDraft(before),
      after: undefined,
    })
    const removed = await this.#engine.writing((entries) => entries.remove(tenant, kind, name))
    await this.copy(tenant)
    return removed
  }

  async #note(tenant: number, from: PrincipalKey, change: Change): Promise<void> {
    const { what, id, change: how, before, after } = change
    await this.#engine.submit({
      verb: 'record',
      tenant,
      type: 'policy.changed',
      from,
      to: GATE,
      body: body({
        what: canonical(what),
        id: canonical(id),
        change: canonical(how),
        before: canonical(before ?? null),
        after: canonical(after ?? null),
      }),
    })
  }

  async #read(tenant: number, before: PolicyCopy | undefined): Promise<PolicyCopy> {
    const [rules, patterns] = [await this.#all(tenant, RULE), await this.#all(tenant, PATTERN)]
    return copyOf(this.#parts, rules, patterns, before)
  }

  async #all(tenant: number, kind: string): Promise<Entry[]> {
    const found: Entry[] = []
    for (let after = ''; ; after = found.at(-1)?.name ?? '') {
      const page = await this.#engine.store.entries.list(tenant, kind, after, PAGE)
      found.push(...page)
      if (page.length < PAGE) return found
    }
  }
}

interface Change {
  readonly what: 'rule' | 'pattern'
  readonly id: string
  readonly change: 'set' | 'removed'
  readonly before: object | undefined
  readonly after: object | undefined
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
