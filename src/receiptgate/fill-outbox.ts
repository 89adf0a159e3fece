import type { ReceiptType } from '../core/receipt.ts'
import type { Store } from '../store/store.ts'

const PAGE = 500

/** Adds the receipts of these types that were written since the last time to the outbox. */
export async function fillOutbox(
  { outbox, reads }: Pick<Store, 'outbox' | 'reads'>,
  tenant: number,
  types: ReadonlySet<ReceiptType>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const from = await outbox.cursor(tenant)
    const lines = await reads.receiptLines(tenant, { by: 'all' }, from, 'ascending', PAGE)
    const last = lines.at(-1)
    if (last === undefined) return
    const added = lines.flatMap(({ seq, receipt_type, task_id }) =>
      task_id !== null && types.has(receipt_type) ? [{ seq, task_id }] : [],
    )
    // If another process was faster, the next page begins where it has stopped.
    await outbox.advance(tenant, from, last.seq, added)
    if (lines.length < PAGE) return
  }
}
