import type { Receipt } from '../../core/receipt.ts'
import { OpenSegment, type Segment } from '../layout/segments.ts'
import { mergedPage, type Order, pageOf, type SeqList } from '../layout/seq-lists.ts'
import type { ChildRow } from '../layout/written-tasks.ts'
import type { Database } from './database.ts'
import { prepareTaskLookup } from './tasks.ts'

const SEGMENT = 'tenant, first, created_at, instance, receipts'
const LIST = 'first, seqs'

// A row covers the seqs from its first one on, so the row with a seq is the last one that starts at or before it.
export const SEGMENT_WITH = `SELECT ${SEGMENT} FROM ledger
  WHERE tenant = ? AND first <= ? ORDER BY first DESC LIMIT 1`
export const SEGMENTS = {
  ascending: `SELECT ${SEGMENT} FROM ledger
    WHERE tenant = ? AND first >= coalesce(
      (SELECT max(first) FROM ledger WHERE tenant = ? AND first <= ?), 0)
    ORDER BY first`,
  descending: `SELECT ${SEGMENT} FROM ledger WHERE tenant = ? AND first < ? ORDER BY first DESC`,
} as const

const listsOf = (table: string, columns = LIST) => ({
  ascending: `SELECT ${columns} FROM ${table}
    WHERE tenant = ? AND principal = ? AND first >= coalesce(
      (SELECT max(first) FROM ${table} WHERE tenant = ? AND principal = ? AND first <= ?), 0)
    ORDER BY first`,
  descending: `SELECT ${columns} FROM ${table}
    WHERE tenant = ? AND principal = ? AND first < ? ORDER BY first DESC`,
})

export const LISTS = {
  owned_tasks: listsOf('owned_tasks'),
  addressed_receipts: listsOf('addressed_receipts'),
} as const

export const TASK_RECEIPTS = {
  ascending: `SELECT seq FROM task_receipts
    WHERE tenant = ? AND task_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
  descending: `SELECT seq FROM task_receipts
    WHERE tenant = ? AND task_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?`,
} as const
export const CHILDREN = `SELECT tenant, parent, child, receipt_type, "from" FROM receipt_children
  WHERE tenant = ? AND parent = ? ORDER BY child`

/** Finds receipts by seq. What is near the last one it found is found without a query. */
export function prepareReceiptLookup(
  database: Database,
): () => (tenant: number, seq: number) => Receipt | undefined {
  const select = database.prepare(SEGMENT_WITH)
  return () => {
    let open: OpenSegment | undefined
    return (tenant, seq) => {
      if (open === undefined || !open.has(tenant, seq)) {
        const row = select.get(tenant, seq) as Segment | undefined
        open = row && new OpenSegment(row)
      }
      return open?.has(tenant, seq) ? open.at(seq) : undefined
    }
  }
}

/** Walks the receipts of a tenant. */
export function prepareLedgerWalk(
  database: Database,
): (tenant: number, from: number, order: Order) => Generator<Receipt> {
  const ascending = database.prepare(SEGMENTS.ascending)
  const descending = database.prepare(SEGMENTS.descending)
  return function* (tenant, from, order) {
    const rows =
      order === 'ascending' ? ascending.iterate(tenant, tenant, from) : descending.iterate(tenant, from)
    for (const row of rows as Iterable<Segment>) {
      const segment = new OpenSegment(row)
      yield* order === 'ascending' ? segment.after(from) : segment.before(from)
    }
  }
}

/** Finds the next seqs in the lists of a principal. */
export function prepareSeqPages(
  database: Database,
  table: keyof typeof LISTS,
): (tenant: number, principal: string, from: number, order: Order, limit: number) => number[] {
  const ascending = database.prepare(LISTS[table].ascending)
  const descending = database.prepare(LISTS[table].descending)
  return (tenant, principal, from, order, limit) => {
    const rows =
      order === 'ascending'
        ? ascending.iterate(tenant, principal, tenant, principal, from)
        : descending.iterate(tenant, principal, from)
    return pageOf(rows as Iterable<SeqList>, from, order, limit)
  }
}

/** Finds the next seqs among the receipts of a task. */
export function prepareTaskReceipts(
  database: Database,
): (tenant: number, taskId: string, from: number, order: Order, limit: number) => number[] {
  const findTask = prepareTaskLookup(database)
  const ascending = database.prepare(TASK_RECEIPTS.ascending)
  const descending = database.prepare(TASK_RECEIPTS.descending)
  return (tenant, taskId, from, order, limit) => {
    const named = findTask(tenant, taskId)?.receipts ?? []
    const rows = (order === 'ascending' ? ascending : descending).all(tenant, taskId, from, limit)
    const others = (rows as { readonly seq: number }[]).map(({ seq }) => seq)
    return mergedPage(named, others, from, order, limit)
  }
}

/** Finds the children of a receipt that are not found through its task. */
export function prepareChildren(database: Database): (tenant: number, parent: number) => ChildRow[] {
  const select = database.prepare(CHILDREN)
  return (tenant, parent) => select.all(tenant, parent) as ChildRow[]
}
