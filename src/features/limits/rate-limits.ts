import type { Caller } from '../../core/principal.ts'
import type { RateLimit, Standing } from '../../core/rate-limit.ts'
import type { Engine } from '../../engine/engine.ts'
import type { AuditSink } from '../audit/port.ts'
import { Abuse } from './abuse.ts'
import { CallerBuckets, type LeveledBucket, taskBucket } from './caller-buckets.ts'
import { rateFault, shownStanding } from './fault.ts'
import { MemoryBuckets } from './memory-buckets.ts'
import type { Buckets } from './port.ts'
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

interface Deps {
  readonly engine: Pick<Engine, 'tenant' | 'knownTenant'>
  readonly registry: TenantLimitsRegistry
  readonly audit: AuditSink
}

/** Counts the calls of each principal, of each tenant and of the server, and refuses those above a limit. */
export class RateLimits {
  readonly isEnabled: boolean
  readonly #deps: Deps
  readonly #buckets: Buckets
  readonly #abuse: Abuse
  readonly #callerBuckets: CallerBuckets

  constructor(deps: Deps, options: RateLimitOptions) {
    this.isEnabled = options.isEnabled
    this.#deps = deps
    this.#buckets = options.buckets ?? new MemoryBuckets()
    this.#abuse = new Abuse(deps.audit)
    this.#callerBuckets = new CallerBuckets(options.global, this.#abuse)
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
    const bucket = taskBucket(tenant, limit)
    const [standing] = await this.#buckets.take([bucket], 1)
    if (standing !== undefined && !standing.isAllowed) throw rateFault(bucket, standing)
  }

  /** The limits of a caller and what is left of them. */
  async standings(
    caller: Caller,
    limits: TenantLimits,
  ): Promise<{ readonly bucket: LeveledBucket; readonly standing: Standing }[]> {
    const buckets = this.isEnabled ? this.#callerBuckets.of(caller, limits) : []
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
    const buckets = this.#callerBuckets.of(caller, limits)
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
    const shown = shownStanding(buckets, standings)
    if (shown === undefined) return undefined
    const { bucket, standing } = shown
    caller.origin?.counted?.({ bucket: bucket.name, limit: bucket.limit.calls, standing })
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
}
