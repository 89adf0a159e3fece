import { type Caller, type PrincipalKind, principalKey } from '../../core/principal.ts'
import type { RateLimit } from '../../core/rate-limit.ts'
import type { Abuse } from './abuse.ts'
import type { Level } from './fault.ts'
import type { Bucket } from './port.ts'
import { isActive } from './record.ts'
import type { TenantLimits } from './tenant-limits.ts'

export interface LeveledBucket extends Bucket {
  readonly level: Level
}

/** Principals of one kind of a tenant whose buckets are remembered. */
const MAX_PRINCIPALS = 10_000

/** What is remembered for the limits of a tenant. */
interface Remembered {
  /** Whether a principal has limits of its own. */
  readonly hasPrincipals: boolean
  /** The buckets of principals by kind and id, so that no request has to join the two. */
  readonly kinds: Map<PrincipalKind, Map<string, readonly LeveledBucket[]>>
}

/** The buckets that a call is counted in. Every request needs them, so those of a principal are made once. */
export class CallerBuckets {
  readonly #global: readonly LeveledBucket[]
  readonly #abuse: Abuse
  /** Limits are replaced when they change, so what is remembered for them stays true. */
  readonly #remembered = new WeakMap<TenantLimits, Remembered>()

  constructor(global: RateLimit | null, abuse: Abuse) {
    this.#global = global === null ? [] : [{ level: 'global', name: 'global:api_calls', limit: global }]
    this.#abuse = abuse
  }

  of(caller: Caller, limits: TenantLimits): readonly LeveledBucket[] {
    const { kind, id } = caller.principal
    const remembered = this.#rememberedFor(limits)
    const { bypass, principals } = limits.stored
    const own = remembered.hasPrincipals ? principals[principalKey(caller.principal)] : undefined
    const now = Date.now()
    if (isActive(bypass, now) || isActive(own?.bypass, now)) return this.#global
    const calls = own?.calls ?? limits.principal_calls
    const allowed = this.#abuse.limitOf(caller, calls)
    if (allowed !== calls) return this.#make(caller, limits, allowed)
    let made = remembered.kinds.get(kind)
    const known = made?.get(id)
    if (known !== undefined) return known
    const buckets = this.#make(caller, limits, calls)
    if (made === undefined || made.size >= MAX_PRINCIPALS) {
      made = new Map()
      remembered.kinds.set(kind, made)
    }
    made.set(id, buckets)
    return buckets
  }

  #rememberedFor(limits: TenantLimits): Remembered {
    const known = this.#remembered.get(limits)
    if (known !== undefined) return known
    const hasPrincipals = Object.keys(limits.stored.principals).length > 0
    const remembered: Remembered = { hasPrincipals, kinds: new Map() }
    this.#remembered.set(limits, remembered)
    return remembered
  }

  #make(
    caller: Caller,
    { tenant_calls }: TenantLimits,
    principal_calls: RateLimit | null,
  ): readonly LeveledBucket[] {
    const buckets = [...this.#global]
    const tenant = encoded(caller.tenant)
    if (tenant_calls !== null)
      buckets.push({ level: 'tenant', name: `tenant:${tenant}:api_calls`, limit: tenant_calls })
    if (principal_calls !== null) {
      const name = `principal:${tenant}:${encoded(principalKey(caller.principal))}:api_calls`
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
