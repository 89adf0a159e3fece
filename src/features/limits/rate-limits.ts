import { type Caller, principalKey } from '../../core/principal.ts'
import type { RateLimit, Standing } from '../../core/rate-limit.ts'
import type { Engine } from '../../engine/engine.ts'
import type { AuditSink } from '../audit/port.ts'
import { Abuse } from './abuse.ts'
import { type Level, rateFault, shownStanding } from './fault.ts'
import { MemoryBuckets } from './memory-buckets.ts'
import type { Bucket, Buckets } from './port.ts'
import { isActive } from './record.ts'
import type { DefaultRates, TenantLimits, TenantLimitsRegistry } from './tenant-limits.ts'

export interface RateLimitOptions extends DefaultRates {
  /** If false, nothing is limited. */
  readonly isEnabled: boolean
  /** All calls of this server, or of all servers that share the buckets; null is no limit. */
  readonly global: RateLimit | null
  /** Where calls are counted; in this process by default. */
  readonly buckets?: Buckets
}

export const NO_RATE_LIMITS: RateLimitOptions = {
  isEnabled: false,
  global: null,
  tenant: null,
  principal: null,
}

/**
 * Calls of a worker about a lease that it holds. If one were lost, the task would be done again. They count, but only the
 * global limit refuses them.
 */
const LEASE_CALLS: ReadonlySet<string> = new Set([
  'start_task',
  'renew_lease',
  'renew_many',
  'report_progress',
  'complete',
  'complete_many',
  'fail',
  'release_lease',
  'report_cancel',
  'upload_result',
])

/** Probes and the limits themselves can always be read. */
const EXEMPT: ReadonlySet<string> = new Set(['health', 'get_limits'])

export interface LeveledBucket extends Bucket {
  readonly level: Level
}

interface Deps {
  readonly engine: Pick<Engine, 'tenant' | 'knownTenant'>
  readonly registry: TenantLimitsRegistry
  readonly audit: AuditSink
}

/** Counts the calls of each principal, of each tenant and of the server, and refuses those above a limit. */
export class RateLimits {
  readonly isEnabled: boolean
  readonly #deps: Deps
  readonly #global: RateLimit | null
  readonly #buckets: Buckets
  readonly #abuse: Abuse

  constructor(deps: Deps, options: RateLimitOptions) {
    this.isEnabled = options.isEnabled
    this.#deps = deps
    this.#global = options.global
    this.#buckets = options.buckets ?? new MemoryBuckets()
    this.#abuse = new Abuse(deps.audit)
  }

  /**
   * Counts a request. Throws or rejects with RATE_LIMIT_EXCEEDED. A request that runs several operations counts once, and
   * calls of this process do not count. A promise only if something has to be read.
   */
  count(caller: Caller, operation: string): Promise<void> | undefined {
    const { origin } = caller
    if (!this.isEnabled || origin === undefined || origin.isCounted || EXEMPT.has(operation)) return undefined
    const tenant = this.#deps.engine.knownTenant(caller.tenant)
    const limits = tenant && this.#deps.registry.known(tenant.tenant)
    if (limits === undefined)
      return this.#loaded(caller).then((loaded) => this.#count(caller, operation, loaded))
    return this.#count(caller, operation, limits)
  }

  /** Counts a new task of a tenant. Rejects with RATE_LIMIT_EXCEEDED. */
  async countTask({ tenant }: Caller, limits: TenantLimits): Promise<void> {
    const { tasks: limit, stored } = limits
    if (!this.isEnabled || limit === null || isActive(stored.bypass, Date.now())) return
    const bucket: LeveledBucket = { level: 'tasks', name: `tenant:${encoded(tenant)}:tasks`, limit }
    const [standing] = await this.#buckets.take([bucket], 1)
    if (standing !== undefined && !standing.isAllowed) throw rateFault(bucket, standing)
  }

  /** The limits of a caller and what is left of them. */
  async standings(
    caller: Caller,
    limits: TenantLimits,
  ): Promise<{ readonly bucket: LeveledBucket; readonly standing: Standing }[]> {
    const buckets = this.isEnabled ? this.#bucketsOf(caller, limits) : []
    const standings = await this.#buckets.take(buckets, 0)
    return buckets.flatMap((bucket, i) => {
      const standing = standings[i]
      return standing === undefined || bucket.level === 'global' ? [] : [{ bucket, standing }]
    })
  }

  async #loaded({ tenant: name }: Caller): Promise<TenantLimits> {
    const { engine, registry } = this.#deps
    const { tenant } = await engine.tenant(name)
    return registry.known(tenant) ?? registry.load(tenant)
  }

  #count(caller: Caller, operation: string, limits: TenantLimits): Promise<void> | undefined {
    const buckets = this.#bucketsOf(caller, limits)
    if (buckets.length === 0) return undefined
    const standings = this.#buckets.take(buckets, 1)
    if (!(standings instanceof Promise)) return this.#decide(caller, operation, buckets, standings)
    return standings.then((known) => this.#decide(caller, operation, buckets, known))
  }

  #decide(
    caller: Caller,
    operation: string,
    buckets: readonly LeveledBucket[],
    standings: readonly Standing[],
  ): Promise<void> | undefined {
    const { bucket, standing } = shownStanding(buckets, standings)
    caller.origin?.counted?.({ bucket: bucket.name, limit: bucket.limit.calls, ...standing })
    if (standing.isAllowed) return undefined
    if (LEASE_CALLS.has(operation)) return this.#countLeaseCall(buckets)
    this.#abuse.refused(caller, bucket)
    throw rateFault(bucket, standing)
  }

  /** A call that a tenant or principal has no more room for is counted globally. */
  #countLeaseCall(buckets: readonly LeveledBucket[]): Promise<void> | undefined {
    const global = buckets.find(({ level }) => level === 'global')
    if (global === undefined) return undefined
    const check = ([standing]: readonly Standing[]) => {
      if (standing !== undefined && !standing.isAllowed) throw rateFault(global, standing)
    }
    const standings = this.#buckets.take([global], 1)
    if (standings instanceof Promise) return standings.then(check)
    check(standings)
    return undefined
  }

  #bucketsOf(caller: Caller, { stored, tenant_calls, principal_calls }: TenantLimits): LeveledBucket[] {
    const buckets: LeveledBucket[] = []
    if (this.#global !== null)
      buckets.push({ level: 'global', name: 'global:api_calls', limit: this.#global })
    const now = Date.now()
    const key = principalKey(caller.principal)
    const own = Object.hasOwn(stored.principals, key) ? stored.principals[key] : undefined
    if (isActive(stored.bypass, now) || isActive(own?.bypass, now)) return buckets
    const tenant = encoded(caller.tenant)
    if (tenant_calls !== null)
      buckets.push({ level: 'tenant', name: `tenant:${tenant}:api_calls`, limit: tenant_calls })
    const principal = this.#abuse.limitOf(caller, own?.calls ?? principal_calls)
    if (principal !== null)
      buckets.push({
        level: 'principal',
        name: `principal:${tenant}:${encoded(key)}:api_calls`,
        limit: principal,
      })
    return buckets
  }
}

/** Names of buckets are sent in headers. */
function encoded(name: string): string {
  return encodeURIComponent(name.toWellFormed())
}
