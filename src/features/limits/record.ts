import { z } from 'zod'
import { MAX_CALLS, MAX_WINDOW_SECONDS } from '../../core/rate-limit.ts'
import type { QuotaName } from '../../core/settings.ts'
import { TIERS } from './tiers.ts'

export const rateLimitShape = z.strictObject({
  calls: z.int().min(1).max(MAX_CALLS).describe('Calls that are possible at once'),
  window_seconds: z
    .int()
    .min(1)
    .max(MAX_WINDOW_SECONDS)
    .describe('Seconds in which all of them become available again'),
})

/** -1 is no limit. */
const quota = z.int().min(-1)

export const quotaShape = z.strictObject({
  max_active_tasks: quota.optional().describe('Maximum open tasks'),
  max_terminal_tasks: quota.optional().describe('Maximum ended tasks'),
  max_concurrent_leases: quota.optional().describe('Maximum concurrent leases'),
  max_payload_bytes: z.int().min(1).optional().describe('Maximum size of a payload'),
  max_receipt_bytes: quota.optional().describe('Maximum size of all receipts'),
  max_receipts_per_task: quota.optional().describe('Maximum receipts of one task'),
} satisfies Record<QuotaName, z.ZodType>)

export const bypassShape = z.strictObject({
  reason: z.string().describe('Why the limits do not apply'),
  /** The time in milliseconds; null if it does not end. */
  expires_at: z.int().nullable(),
  approved_by: z.string().describe('The principal that allowed it'),
})

export type Bypass = z.output<typeof bypassShape>

/** What an admin has set for a tenant. Absent: the settings of the server apply. */
export const storedLimits = z.object({
  tier: z.enum(TIERS).nullable().default(null),
  tenant_calls: rateLimitShape.nullable().default(null),
  principal_calls: rateLimitShape.nullable().default(null),
  tasks: rateLimitShape.nullable().default(null),
  quotas: quotaShape.default({}),
  bypass: bypassShape.nullable().default(null),
  /** By principal, as kind:id. */
  principals: z
    .record(
      z.string(),
      z.object({
        calls: rateLimitShape.nullable().default(null),
        bypass: bypassShape.nullable().default(null),
      }),
    )
    .default({}),
})

export type StoredLimits = z.output<typeof storedLimits>

export const NO_LIMITS: StoredLimits = storedLimits.parse({})

export function isActive(bypass: Bypass | null | undefined, now: number): boolean {
  return bypass != null && (bypass.expires_at === null || bypass.expires_at > now)
}
