import type { PrincipalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import type { PartialContext } from '../../policy/compiled-rule.ts'
import type { RuleBook } from '../../policy/rule-book.ts'
import type { TenantRef } from '../../store/store.ts'
import type { StoredPolicies } from '../policies/stored-policies.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import type { TenantUpstreams, UpstreamTool } from './upstreams.ts'

type Names = ReadonlySet<string>

const NONE: Names = new Set()

/** Callers whose names are cached. Only callers with their own key are distinguished, so there are few. */
const MAX_CALLERS = 100

/** The maximum delay of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** The result for one rule book and one list of tools of a tenant. */
interface Evaluation {
  readonly tenant: TenantRef
  readonly book: RuleBook
  readonly tools: readonly UpstreamTool[]
  /** When the next rule expires. */
  readonly until: number
  /** Blocked for every caller. */
  readonly forAll: Names
  /** Blocked for some callers. */
  readonly perCaller: readonly UpstreamTool[]
  /** Names by caller; undefined stands for a caller that is not known before the call. */
  readonly cached: Map<PrincipalKey | undefined, Names>
}

interface Deps {
  readonly engine: Engine
  readonly policies: StoredPolicies
  readonly upstreams: TenantUpstreams | undefined
}

/** The upstream tools that the rules block regardless of the arguments. Evaluated again only when rules or tools change. */
export class BlockedTools {
  readonly #deps: Deps
  readonly #listeners = new Set<() => void>()
  /** By tenant. */
  readonly #evaluations = new Map<number, Evaluation>()
  readonly #timers = new Map<number, NodeJS.Timeout>()

  constructor(deps: Deps) {
    this.#deps = deps
    deps.policies.onChange((tenant) => this.#changed(tenant))
  }

  /**
   * The names of blocked tools, as clients call them. The set is the same object until the names change. Without a
   * principal: the tools that are blocked for every caller.
   */
  async names(tenantName: string, principal?: PrincipalKey): Promise<Names> {
    const { engine, upstreams, policies } = this.#deps
    const registry = upstreams?.named(tenantName)
    if (registry === undefined) return NONE
    const tenant = await engine.tenant(tenantName)
    const { book } = policies.known(tenant.tenant) ?? (await policies.load(tenant.tenant))
    return namesOf(this.#current(tenant, book, registry.tools()), principal)
  }

  /** The listener is called when changed or expired rules change the names for a caller. Returns an unsubscribe function. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  stop(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#listeners.clear()
  }

  #current(tenant: TenantRef, book: RuleBook, tools: readonly UpstreamTool[]): Evaluation {
    const before = this.#evaluations.get(tenant.tenant)
    if (before?.book === book && before.tools === tools && Date.now() < before.until) return before
    const evaluation = evaluate(tenant, book, tools, before)
    this.#evaluations.set(tenant.tenant, evaluation)
    this.#wake(tenant.tenant, evaluation.until)
    return evaluation
  }

  /** Names that no caller has requested cannot have changed for a caller. */
  #changed(tenant: number): void {
    const before = this.#evaluations.get(tenant)
    const { upstreams, policies } = this.#deps
    const registry = upstreams?.of(tenant)
    if (before === undefined || registry === undefined) return
    const book = policies.known(tenant)?.book ?? before.book
    const now = this.#current(before.tenant, book, registry.tools())
    const isSame = [...before.cached].every(([principal, names]) => namesOf(now, principal) === names)
    if (!isSame) for (const listener of this.#listeners) listener()
  }

  #wake(tenant: number, until: number): void {
    clearTimeout(this.#timers.get(tenant))
    this.#timers.delete(tenant)
    if (until === Infinity) return
    const ms = Math.min(Math.max(until - Date.now(), 0) + 1, MAX_TIMER_MS)
    this.#timers.set(tenant, setTimeout(() => this.#changed(tenant), ms).unref())
  }
}

function evaluate(
  tenant: TenantRef,
  book: RuleBook,
  tools: readonly UpstreamTool[],
  before: Evaluation | undefined,
): Evaluation {
  const forecasts = tools.map((tool) => ({ tool, ...book.forecast(contextOf(tenant, tool)) }))
  const forAll = new Set(
    forecasts.filter(({ outcome }) => outcome === 'blocked').map(({ tool }) => tool.name),
  )
  const perCaller = forecasts
    .filter(({ depends_on }) => depends_on.includes('caller'))
    .map(({ tool }) => tool)
  const evaluation = { tenant, book, tools, until: book.expiresAt(), forAll, perCaller, cached: new Map() }
  // Equal sets stay the same object, so that lists derived from them do too.
  for (const [principal, names] of before?.cached ?? []) {
    const now = namesFor(evaluation, principal)
    evaluation.cached.set(principal, isSame(now, names) ? names : now)
  }
  return evaluation
}

function namesOf(evaluation: Evaluation, principal: PrincipalKey | undefined): Names {
  const known = evaluation.cached.get(principal)
  if (known !== undefined) return known
  if (evaluation.cached.size >= MAX_CALLERS) evaluation.cached.clear()
  const names = namesFor(evaluation, principal)
  evaluation.cached.set(principal, names)
  return names
}

function namesFor(
  { tenant, book, forAll, perCaller }: Evaluation,
  principal: PrincipalKey | undefined,
): Names {
  if (principal === undefined || perCaller.length === 0) return forAll
  const more = perCaller.filter(
    (tool) => book.forecast({ ...contextOf(tenant, tool), principal }).outcome === 'blocked',
  )
  return more.length === 0 ? forAll : new Set([...forAll, ...more.map(({ name }) => name)])
}

function contextOf({ name }: TenantRef, { upstream, tool, category }: UpstreamTool): PartialContext {
  return { type: TOOL_CALL, tenant: name, upstream, tool, category }
}

function isSame(some: Names, others: Names): boolean {
  return some.size === others.size && [...some].every((name) => others.has(name))
}
