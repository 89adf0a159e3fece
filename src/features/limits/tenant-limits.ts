import type { RateLimit } from '../../core/rate-limit.ts'
import { QUOTAS, type Quotas, type Settings } from '../../core/settings.ts'
import type { Engine } from '../../engine/engine.ts'
import { Collection, TenantRegistry } from '../collection.ts'
import { NO_LIMITS, type StoredLimits, storedLimits } from './record.ts'
import { TIER_LIMITS } from './tiers.ts'

/** A change is effective on every server within a second. */
const READ_EVERY_MS = 700

const KIND = 'limits'
const NAME = 'tenant'

/** The limits that apply unless they are set for a tenant; null is no limit. */
export interface DefaultRates {
  readonly tenant: RateLimit | null
  readonly principal: RateLimit | null
}

/** The limits of a tenant. */
export interface TenantLimits {
  readonly stored: StoredLimits
  readonly tenant_calls: RateLimit | null
  readonly principal_calls: RateLimit | null
  readonly tasks: RateLimit | null
  readonly settings: Settings
}

/** The limits of every tenant: stored, and in memory so that no request reads them. */
export class TenantLimitsRegistry extends TenantRegistry<TenantLimits> {
  readonly #records: Collection<StoredLimits>
  readonly #defaults: DefaultRates

  constructor(engine: Engine, defaults: DefaultRates) {
    // The command line changes the limits of a running server, also where no other server shares its store.
    super(engine, { everyMs: READ_EVERY_MS })
    this.#records = new Collection(engine, KIND, (text) => storedLimits.parse(JSON.parse(text)))
    this.#defaults = defaults
    engine.useSettings((tenant) => this.known(tenant)?.settings ?? engine.settings)
  }

  /** Changes what is stored for a tenant. Concurrent changes are applied one after the other. */
  async change(tenant: number, change: (before: StoredLimits) => StoredLimits): Promise<TenantLimits> {
    for (;;) {
      const found = await this.#records.get(tenant, NAME)
      const changed = change(found?.value ?? NO_LIMITS)
      if (await this.#records.put(tenant, NAME, changed, found?.version ?? 0)) return this.refresh(tenant)
    }
  }

  protected async read(tenant: number, before: TenantLimits | undefined): Promise<TenantLimits> {
    const entry = await this.engine.store.entries.get(tenant, KIND, NAME)
    const stored = entry === undefined ? NO_LIMITS : storedLimits.parse(JSON.parse(entry.value))
    const isSame = before !== undefined && JSON.stringify(before.stored) === JSON.stringify(stored)
    return isSame ? before : limitsOf(stored, this.#defaults, this.engine.settings)
  }
}

/** What is set for the tenant goes first, then its tier, then the defaults of the server. */
export function limitsOf(stored: StoredLimits, defaults: DefaultRates, server: Settings): TenantLimits {
  const tier = stored.tier === null ? undefined : TIER_LIMITS[stored.tier]
  return {
    stored,
    tenant_calls: stored.tenant_calls ?? (tier === undefined ? defaults.tenant : tier.tenant_calls),
    principal_calls:
      stored.principal_calls ?? (tier === undefined ? defaults.principal : tier.principal_calls),
    tasks: stored.tasks ?? tier?.tasks ?? null,
    settings: { ...server, ...tierQuotas(stored), ...quotasOf(stored.quotas) },
  }
}

function tierQuotas({ tier }: StoredLimits): Partial<Quotas> {
  if (tier === null) return {}
  const { max_concurrent_leases, max_receipt_bytes } = TIER_LIMITS[tier]
  return { max_concurrent_leases, max_receipt_bytes }
}

function quotasOf(given: StoredLimits['quotas']): Partial<Quotas> {
  const named = QUOTAS.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]]))
  return Object.fromEntries(named)
}
