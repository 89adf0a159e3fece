import { type ReceiptView, receiptView } from '../features/receipts/get-receipt.ts'
import type { Reads } from '../store/reads.ts'
import type { TenantRef } from '../store/store.ts'
import { forwardedTypes, type Target } from './canonical.ts'
import { renderReceipt } from './render.ts'
import type { CanonicalReceipt } from './shape.ts'

const PAGE = 200

/** A receipt of an export. */
export interface ExportedReceipt {
  readonly receipt: ReceiptView
  /** The receipt in the format of the shared ledger; null if it has no counterpart there. */
  readonly canonical: CanonicalReceipt | null
}

/** All receipts of a tenant, oldest first. */
export async function* exportReceipts(
  reads: Reads,
  tenant: TenantRef,
  target: Target,
): AsyncGenerator<ExportedReceipt> {
  const types = forwardedTypes(target)
  for (let from = 0; ; ) {
    const page = await reads.receipts(tenant.tenant, { by: 'all' }, from, 'ascending', PAGE)
    for (const receipt of page) {
      const isForwarded = types.has(receipt.receipt_type)
      const canonical = isForwarded ? await renderReceipt(reads, tenant, receipt.seq, target) : undefined
      yield { receipt: receiptView(tenant, receipt), canonical: canonical ?? null }
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    from = last.seq
  }
}
