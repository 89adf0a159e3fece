import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { isPrincipalKind, type PrincipalKey } from '../../core/principal.ts'
import { QUOTAS, type QuotaName } from '../../core/settings.ts'
import { text } from '../input.ts'
import { type Bypass, rateLimitShape, type StoredLimits } from './record.ts'
import { TIERS } from './tiers.ts'

/** Principals of a tenant with their own limits: all of them are in memory. */
export const MAX_PRINCIPALS = 1000

const count = z.int().min(-1).nullable().optional()

/** What set_limits can change. Null returns to the default. */
export const setFields = {
  tier: z.enum(TIERS).nullable().optional().describe('free, paid or enterprise; see docs/limits.md'),
  tenant_calls: rateLimitShape.nullable().optional().describe('Calls of the tenant'),
  principal_calls: rateLimitShape.nullable().optional().describe('Calls of each principal'),
  tasks: rateLimitShape.nullable().optional().describe('New tasks of the tenant'),
  quotas: z
    .strictObject({
      max_active_tasks: count.describe('Maximum open tasks'),
      max_terminal_tasks: count.describe('Ended tasks above which none can be created'),
      max_concurrent_leases: count.describe('Maximum concurrent leases'),
      max_payload_bytes: z.int().min(1).nullable().optional().describe('Maximum size of a payload'),
      max_receipt_bytes: count.describe('Size of receipts above which no task can be created'),
      max_receipts_per_task: count.describe('Receipts of a task above which progress has none'),
    } satisfies Record<QuotaName, z.ZodType>)
    .optional()
    .describe('Quotas of the tenant; -1 is no limit'),
  principal: text(300)
    .optional()
    .describe('A principal, as kind:id: principal_calls and bypass then apply to it alone'),
  bypass: z
    .strictObject({
      reason: text(500).describe('Why; recorded in the audit log'),
      expires_at: z.iso.datetime({ offset: true }).optional().describe('When it ends; never if absent'),
    })
    .nullable()
    .optional()
    .describe('Exempts the tenant or the principal from their rate limits; null ends the exemption'),
} as const

export type LimitsChange = z.output<z.ZodObject<typeof setFields>>

/** The stored limits after a change by an admin. Throws if the change contradicts itself. */
export function change(
  before: StoredLimits,
  given: LimitsChange,
  by: PrincipalKey,
  now: number,
): StoredLimits {
  const { principal, principal_calls, bypass } = given
  const exemption = bypass === undefined ? undefined : bypassOf(bypass, by, now)
  const common: StoredLimits = {
    ...before,
    ...(given.tier !== undefined && { tier: given.tier }),
    ...(given.tenant_calls !== undefined && { tenant_calls: given.tenant_calls }),
    ...(given.tasks !== undefined && { tasks: given.tasks }),
    quotas: quotasAfter(before, given),
  }
  if (principal === undefined) {
    return {
      ...common,
      ...(principal_calls !== undefined && { principal_calls }),
      ...(exemption !== undefined && { bypass: exemption }),
    }
  }
  checkPrincipal(principal)
  const own = before.principals[principal] ?? { calls: null, bypass: null }
  const calls = principal_calls === undefined ? own.calls : principal_calls
  const after = { calls, bypass: exemption === undefined ? own.bypass : exemption }
  const { [principal]: _, ...others } = before.principals
  const isDefault = after.calls === null && after.bypass === null
  return { ...common, principals: isDefault ? others : { ...others, [principal]: after } }
}

function quotasAfter({ quotas }: StoredLimits, given: LimitsChange): StoredLimits['quotas'] {
  const entries = QUOTAS.flatMap((name) => {
    const value = given.quotas?.[name]
    const after = value === undefined ? quotas[name] : (value ?? undefined)
    return after === undefined ? [] : [[name, after] as const]
  })
  return Object.fromEntries(entries)
}

function bypassOf(
  bypass: NonNullable<LimitsChange['bypass']> | null,
  by: PrincipalKey,
  now: number,
): Bypass | null {
  if (bypass === null) return null
  const expires_at = bypass.expires_at === undefined ? null : Date.parse(bypass.expires_at)
  if (expires_at !== null && expires_at <= now) throw invalid('bypass.expires_at', 'is in the past')
  return { reason: bypass.reason, expires_at, approved_by: by }
}

function checkPrincipal(principal: string): void {
  const [, kind = '', id = ''] = /^([a-z]+):(.+)$/s.exec(principal) ?? []
  if (!isPrincipalKind(kind) || id === '')
    throw invalid('principal', 'is not a principal, as in agent:planner')
}
