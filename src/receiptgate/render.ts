import type { PrincipalKey } from '../core/principal.ts'
import type { Reads } from '../store/reads.ts'
import type { TenantRef } from '../store/store.ts'
import { canonicalReceipt, HISTORY_TYPES, type Target } from './canonical.ts'
import type { CanonicalReceipt } from './shape.ts'

type RenderReads = Pick<Reads, 'receipt' | 'receiptsAt' | 'task' | 'children'>

/** Renders receipts of the ledger of a tenant. Undefined if the shared ledger takes no such receipt. */
export async function renderReceipt(
  reads: RenderReads,
  tenant: TenantRef,
  seq: number,
  target: Target,
): Promise<CanonicalReceipt | undefined> {
  const receipt = await reads.receipt(tenant.tenant, seq)
  if (receipt === undefined || receipt.task_id === null) return undefined
  const record = await reads.task(tenant.tenant, receipt.task_id)
  if (record === undefined) return undefined
  const history = await reads.children(tenant.tenant, [record.task.seq], HISTORY_TYPES)
  const escalations = history.filter((child) => child.receipt_type === 'task.escalated' && child.seq < seq)
  const escalatedTo = await recipientOf(
    reads,
    tenant.tenant,
    escalations.map((child) => child.seq),
  )
  return canonicalReceipt({ tenant, receipt, record, history, escalatedTo }, target)
}

/** The recipient of the last of these receipts. */
async function recipientOf(
  reads: RenderReads,
  tenant: number,
  seqs: readonly number[],
): Promise<PrincipalKey | undefined> {
  if (seqs.length === 0) return undefined
  const [last] = await reads.receiptsAt(tenant, [Math.max(...seqs)])
  return last?.to
}
