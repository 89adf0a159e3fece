import { receiptId } from '../core/ids.ts'
import { parsePrincipalKey } from '../core/principal.ts'
import type { Receipt } from '../core/receipt.ts'
import { isoOrNull, isoTime } from '../core/time.ts'
import { storedJson } from '../engine/stored-json.ts'
import type { TenantRef } from '../store/store.ts'
import type { ReceiptView } from './shapes.ts'

export function receiptView(
  tenant: TenantRef,
  receipt: Receipt,
  deliveredAt: number | null = null,
): ReceiptView {
  return {
    receipt_id: receiptId(tenant.salt, receipt.seq),
    seq: receipt.seq,
    receipt_type: receipt.receipt_type,
    created_at: isoTime(receipt.created_at),
    tenant_id: tenant.name,
    from: parsePrincipalKey(receipt.from),
    to: parsePrincipalKey(receipt.to),
    task_id: receipt.task_id,
    lease_id: receipt.lease_id,
    schedule_id: receipt.schedule_id,
    parents: receipt.parents.map((seq) => receiptId(tenant.salt, seq)),
    body: storedJson(receipt.body),
    hash: receipt.hash,
    asyncgate_instance: receipt.instance,
    delivered_at: isoOrNull(deliveredAt),
  }
}
