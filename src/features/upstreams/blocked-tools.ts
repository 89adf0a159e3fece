import type { PrincipalKey } from '../../core/principal.ts'
import type { PartialContext } from '../../policy/compiled-rule.ts'
import type { RuleBook } from '../../policy/rule-book.ts'
import type { TenantRef } from '../../store/store.ts'
import type { Services } from '../services.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import type { UpstreamTool } from './upstreams.ts'

type Names = ReadonlySet<string>

const NONE: Names = new Set()

/** Callers for whom it is remembered what they see. Only those with a key of their own count, so there are few. */
const MAX_CALLERS = 100

/** The longest that a timer can wait. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** What was worked out for one rule book and one list of tools. */
interface Worked {
  readonly tenant: TenantRef
  readonly book: RuleBook
  readonly tools: readonly UpstreamTool[]
  /** When the next rule expires. */
  readonly until: number
  /** Blocked whoever calls. */
  readonly forAll: Names
  /** Blocked or not, depending on the caller. */
  readonly others: readonly UpstreamTool[]
  /** By caller; undefined stands for one that is not known before the call. */
  readonly told: Map<PrincipalKey | undefined, Names>
}

/** The tools of upstreams that the rules block whatever the arguments. Worked out again only when something changes. */
export class BlockedTools {
  readonly #engine: Services
  readonly #listeners = new Set<() => void>()
  #worked: Worked | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(engine: Services) {
    this.#engine = engine
    engine.policies.onChange((tenant) => {
      if (tenant === engine.upstreams?.tenant) this.#changed()
    })
  }

  /**
   * The names that clients use for them. The same set as long as the names are the same. Without a principal: those
   * that are blocked for everybody.
   */
  async names(tenantName: string, principal?: PrincipalKey): Promise<Names> {
    const { upstreams, policies } = this.#engine
    if (upstreams === undefined) return NONE
    const tenant = await this.#engine.tenant(tenantName)
    if (upstreams.tenant !== tenant.tenant) return NONE
    const book = policies.known(tenant.tenant) ?? (await policies.load(tenant.tenant))
    return told(this.#current(tenant, book, upstreams.tools()), principal)
  }

  /** Calls back when rules have changed or expired so that somebody sees other tools. Returns the way to stop. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#listeners.clear()
  }

  #current(tenant: TenantRef, book: RuleBook, tools: readonly UpstreamTool[]): Worked {
    const before = this.#worked
    if (before?.book === book && before.tools === tools && Date.now() < before.until) return before
    const worked = work(tenant, book, tools, before)
    this.#worked = worked
    this.#wake(worked.until)
    return worked
  }

  /** A list that nobody has been told cannot be another one. */
  #changed(): void {
    const before = this.#worked
    const { upstreams, policies } = this.#engine
    if (before === undefined || upstreams === undefined) return
    const book = policies.known(upstreams.tenant) ?? before.book
    const now = this.#current(before.tenant, book, upstreams.tools())
    const isSame = [...before.told].every(([principal, names]) => told(now, principal) === names)
    if (!isSame) for (const listener of this.#listeners) listener()
  }

  #wake(until: number): void {
    clearTimeout(this.#timer)
    if (until === Infinity) return
    const ms = Math.min(Math.max(until - Date.now(), 0) + 1, MAX_TIMER_MS)
    this.#timer = setTimeout(() => this.#changed(), ms).unref()
  }
}

function work(
  tenant: TenantRef,
  book: RuleBook,
  tools: readonly UpstreamTool[],
  before: Worked | undefined,
): Worked {
  const forecasts = tools.map((tool) => ({ tool, ...book.forecast(contextOf(tenant, tool)) }))
  const forAll = new Set(
    forecasts.filter(({ outcome }) => outcome === 'blocked').map(({ tool }) => tool.name),
  )
  const others = forecasts.filter(({ depends_on }) => depends_on.includes('caller')).map(({ tool }) => tool)
  const worked = { tenant, book, tools, until: book.expiresAt(), forAll, others, told: new Map() }
  // Sets that say the same stay the same, so that lists made of them do.
  for (const [principal, names] of before?.told ?? []) {
    const now = namesFor(worked, principal)
    worked.told.set(principal, isSame(now, names) ? names : now)
  }
  return worked
}

function told(worked: Worked, principal: PrincipalKey | undefined): Names {
  const known = worked.told.get(principal)
  if (known !== undefined) return known
  if (worked.told.size >= MAX_CALLERS) worked.told.clear()
  const names = namesFor(worked, principal)
  worked.told.set(principal, names)
  return names
}

function namesFor({ tenant, book, forAll, others }: Worked, principal: PrincipalKey | undefined): Names {
  if (principal === undefined || others.length === 0) return forAll
  const more = others.filter(
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
