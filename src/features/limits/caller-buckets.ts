import { type Caller, type PrincipalKey, principalKey } from '../../core/principal.ts'
import type { RateLimit } from '../../core/rate-limit.ts'
import type { Abuse } from './abuse.ts'
import type { Level } from './fault.ts'
import type { Bucket } from './port.ts'
import { isActive } from './record.ts'
import type { TenantLimits } from './tenant-limits.ts'

export interface LeveledBucket extends Bucket {
  readonly level: Level
}

/** Principals of a tenant whose buckets are remembered. */
const MAX_PRINCIPALS = 10_000

/** The buckets that a call is counted in. Every request needs them, so those of a principal are made once. */
export class CallerBuckets {
  readonly #global: readonly LeveledBucket[]
  readonly #abuse: Abuse
  /** Limits are replaced when they change, so what is remembered for them stays true. */
  readonly #made = new WeakMap<TenantLimits, Map<PrincipalKey, readonly LeveledBucket[]>>()

  constructor(global: RateLimit | null, abuse: Abuse) {
    this.#global = global === null ? [] : [{ level: 'global', name: 'global:api_calls', limit: global }]
    this.#abuse = abuse
  }

  of(caller: Caller, limits: TenantLimits): readonly LeveledBucket[] {
    const key = principalKey(caller.principal)
    const { bypass, principals } = limits.stored
    const own = Object.hasOwn(principals, key) ? principals[key] : undefined
    const now = Date.now()
    if (isActive(bypass, now) || isActive(own?.bypass, now)) return this.#global
    const calls = own?.calls ?? limits.principal_calls
    const allowed = this.#abuse.limitOf(caller, calls)
    if (allowed !== calls) return this.#make(caller, key, limits, allowed)
    const made = this.#madeFor(limits)
    const known = made.get(key)
    if (known !== undefined) return known
    const buckets = this.#make(caller, key, limits, calls)
    if (made.size >= MAX_PRINCIPALS) made.clear()
    made.set(key, buckets)
    return buckets
  }

  #madeFor(limits: TenantLimits): Map<PrincipalKey, readonly LeveledBucket[]> {
    const known = this.#made.get(limits)
    if (known !== undefined) return known
    const made = new Map<PrincipalKey, readonly LeveledBucket[]>()
    this.#made.set(limits, made)
    return made
  }

  #make(
    caller: Caller,
    key: PrincipalKey,
    { tenant_calls }: TenantLimits,
    principal_calls: RateLimit | null,
  ): readonly LeveledBucket[] {
    const buckets = [...this.#global]
    const tenant = encoded(caller.tenant)
    if (tenant_calls !== null)
      buckets.push({ level: 'tenant', name: `tenant:${tenant}:api_calls`, limit: tenant_calls })
    if (principal_calls !== null) {
      const name = `principal:${tenant}:${encoded(key)}:api_calls`
      buckets.push({ level: 'principal', name, limit: principal_calls })
    }
    return buckets
  }
}

/** The bucket of the new tasks of a tenant. */
export function taskBucket(tenant: string, limit: RateLimit): LeveledBucket {
  return { level: 'tasks', name: `tenant:${encoded(tenant)}:tasks`, limit }
}

/** Names of buckets are sent in headers. */
function encoded(name: string): string {
  return encodeURIComponent(name.toWellFormed())
}
