import type { Receipt } from '../core/receipt.ts'
import { isOpen } from '../core/task.ts'
import { type ReceiptView, receiptView } from '../features/receipts/get-receipt.ts'
import type { Archive } from '../features/retention/archive.ts'
import type { Store, TenantRef } from '../store/store.ts'
import { forwardedTypes, type Target } from './canonical.ts'
import { archivedContents, type Contents, contentsOf } from './contents.ts'
import { renderReceipt } from './render.ts'
import type { CanonicalReceipt } from './shape.ts'

const PAGE = 200

/** A receipt of an export. */
export interface ExportedReceipt {
  readonly receipt: ReceiptView
  /** The secret salt of the commitment to its body; null if the body was erased. */
  readonly salt: string | null
  /** The receipt in the format of the shared ledger; null if it has no counterpart there, or is archived. */
  readonly canonical: CanonicalReceipt | null
  /** What the receipt only refers to; null if that is nothing, or was removed. */
  readonly contents: Contents | null
}

interface Deps {
  readonly store: Pick<Store, 'reads' | 'ledgerLog'>
  readonly archive: Pick<Archive, 'committedFrom' | 'task'>
}

/** All receipts of a tenant, oldest first, also those that were archived. */
export async function* exportReceipts(
  { store, archive }: Deps,
  tenant: TenantRef,
  target: Target,
): AsyncGenerator<ExportedReceipt> {
  const { reads } = store
  const types = forwardedTypes(target)
  const lanes = new Map((await reads.lanes(tenant.tenant, 0)).map((row) => [row.lane, row.capabilities]))
  const { seq: last } = await reads.counters(tenant.tenant)
  for (let from = 0; from < last; ) {
    const page = await reads.receipts(tenant.tenant, { by: 'all' }, from, 'ascending', PAGE)
    for (const receipt of page) {
      if (receipt.seq !== from + 1) break
      const isForwarded = types.has(receipt.receipt_type)
      const canonical = isForwarded ? await renderReceipt(reads, tenant, receipt.seq, target) : undefined
      const committed = await store.ledgerLog.receipt(tenant.tenant, receipt.seq)
      yield {
        receipt: receiptView(tenant, receipt),
        salt: committed?.salt ?? null,
        canonical: canonical ?? null,
        contents: await readContents(receipt),
      }
      from = receipt.seq
    }
    const archived = from < last ? await archive.committedFrom(tenant.tenant, from + 1) : []
    for (const { receipt, salt } of archived) {
      const { task_id } = receipt
      const task = task_id === null ? undefined : await archive.task(tenant.tenant, task_id)
      const contents = archivedContents(receipt, task)
      yield { receipt: receiptView(tenant, receipt), salt: salt ?? null, canonical: null, contents }
      from = receipt.seq
    }
    if (page.length === 0 && archived.length === 0) throw new Error(`receipt ${from + 1} is missing`)
  }

  async function readContents(receipt: Receipt): Promise<Contents | null> {
    const record = receipt.task_id === null ? undefined : await reads.task(tenant.tenant, receipt.task_id)
    if (record === undefined) return null
    const capabilities = isOpen(record.task) ? lanes.get(record.task.lane) : undefined
    return contentsOf(receipt, record, capabilities ?? [])
  }
}
