import { QUOTAS, type QuotaName, type Quotas } from '../../core/settings.ts'
import type { Tenant } from '../../core/world.ts'

export interface QuotaUse {
  readonly quota: QuotaName
  /** -1 is no limit. */
  readonly limit: number
  /** Null if the quota applies to a single request or task. */
  readonly used: number | null
}

type Counters = Pick<Tenant, 'open_tasks' | 'ended_tasks' | 'active_leases' | 'receipt_bytes'>

/** The quotas of a tenant and what is used of them. */
export function quotaUse(quotas: Quotas, counters: Counters): QuotaUse[] {
  const used: Readonly<Record<QuotaName, number | null>> = {
    max_active_tasks: counters.open_tasks,
    max_terminal_tasks: counters.ended_tasks,
    max_concurrent_leases: counters.active_leases,
    max_payload_bytes: null,
    max_receipt_bytes: counters.receipt_bytes,
    max_receipts_per_task: null,
  }
  return QUOTAS.map((quota) => ({ quota, limit: quotas[quota], used: used[quota] }))
}

/** Whether a quota that is counted is set. */
export function hasQuota(quotas: Quotas): boolean {
  return WARNED.some((name) => quotas[name] >= 0)
}

/** The quotas that refuse new tasks. A claim beyond the quota of leases only waits. */
const WARNED: readonly QuotaName[] = ['max_active_tasks', 'max_terminal_tasks', 'max_receipt_bytes']

/** From this part of a quota on, agents are warned. */
const NEAR = 0.9

/** A sentence for each quota that refuses new tasks, or soon will. */
export function quotaWarnings(quotas: Quotas, counters: Counters): string[] {
  return quotaUse(quotas, counters).flatMap(({ quota, limit, used }) => {
    if (!WARNED.includes(quota) || used === null || limit < 0 || used < limit * NEAR) return []
    const state = used >= limit ? 'is used up: new tasks are refused' : 'is nearly used up'
    return [`The quota ${quota} ${state} (${used} of ${limit}).`]
  })
}

/** The part of a quota of what is stored from which on the oldest is archived, where anything is. */
const NEARLY = 0.9

/** Whether the ended tasks or the receipts of a tenant have nearly used up their quota. */
export function isNearQuota(
  { max_terminal_tasks, max_receipt_bytes }: Pick<Quotas, 'max_terminal_tasks' | 'max_receipt_bytes'>,
  { ended_tasks, receipt_bytes }: Pick<Counters, 'ended_tasks' | 'receipt_bytes'>,
): boolean {
  const isNear = (limit: number, used: number) => limit >= 0 && used > 0 && used >= NEARLY * limit
  return isNear(max_terminal_tasks, ended_tasks) || isNear(max_receipt_bytes, receipt_bytes)
}
