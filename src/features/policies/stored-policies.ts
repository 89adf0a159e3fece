import { hash } from 'node:crypto'
import { body } from '../../core/bodies.ts'
import { invalid } from '../../core/errors.ts'
import { canonical, type Json } from '../../core/json/json.ts'
import { GATE, type PrincipalKey } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import { TenantCopies } from '../../engine/tenant-cache.ts'
import { isBuiltIn } from '../../policy/built-in-patterns.ts'
import { literally } from '../../policy/glob.ts'
import type { PatternDraft } from '../../policy/pattern.ts'
import { type RuleDraft, type Scope, THE_DEFAULT } from '../../policy/rule.ts'
import type { RuleBook } from '../../policy/rule-book.ts'
import type { Defaults } from '../../policy/ruling.ts'
import type { Entry } from '../../store/entries.ts'
import type { Services } from '../services.ts'
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
import type { Policies, Remembered } from './policies.ts'
import { checkRule, type PatternView, type PolicyView } from './shape.ts'

const RULE = 'policy'
const PATTERN = 'redaction_pattern'
const PAGE = 200

/** All of a tenant's are in memory. */
export const MAX_RULES = 1000
export const MAX_PATTERNS = 200

const REMEMBERED = 'remembered-'

export interface PolicyOptions {
  readonly defaults?: Partial<Defaults>
  /** What the operator's file says. */
  readonly fixed?: FixedPolicies
}

/** The rules of every tenant: in the store, and in memory for whoever creates tasks. */
export class StoredPolicies implements Policies {
  readonly #engine: Services
  readonly #parts: CopyParts
  readonly #copies: TenantCopies<PolicyCopy>
  readonly #listeners = new Set<(tenant: number) => void>()

  constructor(engine: Services, { defaults, fixed = NO_POLICIES }: PolicyOptions = {}) {
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

  known(tenant: number): RuleBook | undefined {
    return this.#copies.known(tenant)?.book
  }

  async load(tenant: number): Promise<RuleBook> {
    const { book } = await this.#engine.reading(() => this.#copies.load(tenant))
    return book
  }

  /** Calls back when the rules or patterns of a tenant are others. */
  onChange(listener: (tenant: number) => void): void {
    this.#listeners.add(listener)
  }

  /** As it is in the store now. */
  copy(tenant: number): Promise<PolicyCopy> {
    return this.#engine.reading(() => this.#copies.refresh(tenant))
  }

  /** The same for many who ask at once. */
  async fresh(tenant: number): Promise<RuleBook> {
    const { book } = await this.#engine.reading(() => this.#copies.fresh(tenant))
    return book
  }

  /** Creates or replaces a rule. The same again changes nothing. */
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
      if (isBuiltIn(draft.name)) throw invalid('name', 'is built in: take another name')
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

  /** Whether it was there. */
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
    if (before.source === 'built_in') throw invalid('name', 'is built in')
    if (before.source === 'file') throw fixed('name', 'pattern')
    const user = [...rules.values()].find(({ view }) => view.redact?.patterns.includes(name))
    if (user !== undefined) throw invalid('name', `is in use by rule ${user.view.id}: change that first`)
    return this.#remove(tenant, PATTERN, name, before, by, 'pattern')
  }

  /** What was remembered before and has expired goes on the way: it has no effect any more. */
  async remember(tenant: number, what: Remembered): Promise<string> {
    const draft = rememberedRule(what)
    for (const { view } of (await this.copy(tenant)).rules.values()) {
      const isOver = view.expires_at !== null && Date.parse(view.expires_at) <= Date.now()
      if (isOver && view.id.startsWith(REMEMBERED) && view.source === 'api') {
        await this.#engine.writing((entries) => entries.remove(tenant, RULE, view.id))
      }
    }
    return (await this.putRule(tenant, draft, what.by)).id
  }

  stop(): Promise<void> {
    return this.#copies.stop()
  }

  /** The receipt comes first: a change that nobody can find out about would be worse than a receipt without one. */
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

/** The rule that stands in for the person who said yes. */
function rememberedRule(what: Remembered): RuleDraft {
  const { principal, type, upstream, tool, uri, until, reason, rule_id } = what
  const scope: Scope = {
    ...(upstream !== null && { upstream: literally(upstream) }),
    ...(tool !== null && { tool: literally(tool) }),
    type: literally(type),
    principal: literally(principal),
  }
  const key: Json = [principal, type, upstream, tool, rule_id ?? null, ...(uri === undefined ? [] : [uri])]
  return {
    id: `${REMEMBERED}${hash('sha256', canonical(key)).slice(0, 16)}`,
    description:
      reason
        .replace(/\p{Cc}+/gu, ' ')
        .slice(0, 1000)
        .toWellFormed() || null,
    scope,
    action: 'ALLOW',
    condition: uri === undefined ? null : { '===': [{ var: 'args.uri' }, uri] },
    redact: null,
    approves: rule_id === undefined ? '*' : (rule_id ?? THE_DEFAULT),
    approval_expires_in_seconds: null,
    priority: 0,
    enabled: true,
    expires_at: isoTime(until),
  }
}

function asDraft(view: PolicyView | PatternView): object {
  const { source: _, version, updated_at, updated_by, ...draft } = view
  return draft
}

/** Texts are compared with their members in order. */
function isSame(draft: RuleDraft | PatternDraft, view: PolicyView | PatternView): boolean {
  return canonical(draft) === canonical(asDraft(view))
}

function fixed(path: string, what: string) {
  return invalid(path, `is a ${what} of the operator's file, which can only be changed there`)
}

function tooMany(path: string, limit: number) {
  return invalid(path, `is one too many: there are ${limit} already, so remove one first`)
}
