import type { InboxItem } from '../../core/inbox.ts'
import { eachRecord } from '../../engine/portions.ts'
import type { TenantRef } from '../../store/store.ts'
import { nextTurn } from '../../util/turns.ts'
import type { Services } from '../services.ts'
import { type InboxItemView, inboxItemView, type SubjectTask, subjectTask } from './view.ts'

/** Items that are described together: their receipts and tasks are in memory at the same time. */
const AT_ONCE = 25

/** The items with what they are about: their receipts, the tasks, and how those ended. */
export async function describeItems(
  engine: Services,
  tenant: TenantRef,
  items: readonly InboxItem[],
): Promise<InboxItemView[]> {
  const views: InboxItemView[] = []
  for (let from = 0; from < items.length; from += AT_ONCE) {
    if (from > 0) await nextTurn()
    views.push(...(await describeSome(engine, tenant, items.slice(from, from + AT_ONCE))))
  }
  return views
}

async function describeSome(
  engine: Services,
  tenant: TenantRef,
  items: readonly InboxItem[],
): Promise<InboxItemView[]> {
  const readAt = async (seqs: readonly number[]) => {
    const receipts = await engine.reading(() => engine.store.reads.receiptsAt(tenant.tenant, seqs))
    return new Map(receipts.map((receipt) => [receipt.seq, receipt]))
  }
  const receipts = await readAt(items.map(({ seq }) => seq))
  const ids = [...receipts.values()].flatMap(({ task_id }) => task_id ?? [])
  const tasks = new Map<string, SubjectTask>()
  await eachRecord(engine, tenant.tenant, ids, (record) => {
    tasks.set(record.task.task_id, subjectTask(record))
  })
  const endings = await readAt([...tasks.values()].flatMap(({ ended }) => ended?.receipt_seq ?? []))
  return items.flatMap((item) => {
    const receipt = receipts.get(item.seq)
    if (receipt === undefined) return []
    const task = tasks.get(receipt.task_id ?? '')
    const ending = task?.ended && endings.get(task.ended.receipt_seq)
    return [inboxItemView(tenant, item, { receipt, task, ending })]
  })
}
