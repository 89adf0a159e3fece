import type { RateLimit } from '../../core/rate-limit.ts'

export const TIERS = ['free', 'paid', 'enterprise'] as const
export type Tier = (typeof TIERS)[number]

/** What a tier limits; null is no limit. */
interface TierLimits {
  readonly tenant_calls: RateLimit | null
  readonly principal_calls: RateLimit | null
  readonly tasks: RateLimit | null
  /** -1 is no limit. */
  readonly max_concurrent_leases: number
  readonly max_receipt_bytes: number
}

const GIB = 1024 ** 3

const perHour = (calls: number): RateLimit => ({ calls, window_seconds: 3600 })

export const TIER_LIMITS: Readonly<Record<Tier, TierLimits>> = {
  free: {
    tenant_calls: perHour(1_000),
    principal_calls: { calls: 100, window_seconds: 60 },
    tasks: perHour(100),
    max_concurrent_leases: 10,
    max_receipt_bytes: GIB,
  },
  paid: {
    tenant_calls: perHour(100_000),
    principal_calls: null,
    tasks: perHour(10_000),
    max_concurrent_leases: 100,
    max_receipt_bytes: 10 * GIB,
  },
  enterprise: {
    tenant_calls: null,
    principal_calls: null,
    tasks: null,
    max_concurrent_leases: -1,
    max_receipt_bytes: -1,
  },
}
