import type { InboxItem } from '../core/inbox.ts'
import { isOpen } from '../core/task.ts'
import type { TaskRecord } from '../store/reads.ts'
import type { TenantRef } from '../store/store.ts'
import type { Engine } from './engine.ts'
import { type InboxItemView, inboxItemView } from './inbox-view.ts'

/** The items with what they are about: their receipts, the tasks, and how those ended. */
export async function describeItems(
  engine: Engine,
  tenant: TenantRef,
  items: readonly InboxItem[],
): Promise<InboxItemView[]> {
  const { reads } = engine.store
  const seqs = items.map(({ seq }) => seq)
  const receipts = await engine.reading(() => reads.receiptsAt(tenant.tenant, seqs))
  const receiptOf = new Map(receipts.map((receipt) => [receipt.seq, receipt]))
  const ids = new Set(receipts.flatMap(({ task_id }) => task_id ?? []))
  const records = await engine.reading(() => reads.tasks(tenant.tenant, [...ids]))
  const recordOf = new Map(records.map((record) => [record.task.task_id, record]))
  const endings = await engine.reading(() => reads.receiptsAt(tenant.tenant, records.flatMap(endingOf)))
  const endingAt = new Map(endings.map((receipt) => [receipt.seq, receipt]))
  return items.flatMap((item) => {
    const receipt = receiptOf.get(item.seq)
    if (receipt === undefined) return []
    const record = receipt.task_id === null ? undefined : recordOf.get(receipt.task_id)
    const [ending] = record === undefined ? [] : endingOf(record)
    return [
      inboxItemView(tenant, item, {
        receipt,
        record,
        ending: ending === undefined ? undefined : endingAt.get(ending),
      }),
    ]
  })
}

/** The seq of the receipt that ended the task. */
function endingOf({ task }: TaskRecord): number[] {
  return isOpen(task) ? [] : [task.outcome.receipt_seq]
}
