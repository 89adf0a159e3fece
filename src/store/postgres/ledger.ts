import type pg from 'pg'
import { isUuid } from '../../core/ids.ts'
import type { Receipt, ReceiptType } from '../../core/receipt.ts'
import { OpenSegment, type Segment } from '../layout/segments.ts'
import { mergedPage, type Order, pageOf, type SeqList } from '../layout/seq-lists.ts'
import { childrenOf, receiptLine } from '../layout/views.ts'
import type { ChildRow } from '../layout/written-tasks.ts'
import type { LedgerReads, ReceiptPath } from '../reads.ts'
import { arrayOf } from './arrays.ts'
import { ask } from './ask.ts'
import { readTenant } from './borrow.ts'
import { parameters } from './columns.ts'
import { type Pooled, settled } from './database.ts'
import { PARENT_KEY } from './queries.ts'
import { SEQ_KEY } from './shapes.ts'
import { findTasks } from './tasks.ts'

type ReceiptReads = Pick<
  LedgerReads,
  | 'receipt'
  | 'receiptsAt'
  | 'receipts'
  | 'receiptLines'
  | 'children'
  | 'obligations'
  | 'obligationLines'
  | 'hadLease'
>

/** Segments per statement when all receipts are walked. */
const SEGMENTS = 32

export function ledgerReadsOn(pooled: Pooled): ReceiptReads {
  const receiptsAt = (tenant: number, seqs: readonly number[]) =>
    readTenant(pooled, tenant, (client) => findReceipts(client, tenant, seqs))
  const page = (tenant: number, path: ReceiptPath, from: number, order: Order, limit: number) =>
    readTenant(pooled, tenant, (client) => pageOfReceipts(client, tenant, path, { from, order, limit }))
  const owed: LedgerReads['obligations'] = (tenant, principal, after, limit) =>
    readTenant(pooled, tenant, async (client) => {
      const rows = await ask<{ seq: number }>(client, 'owed', [tenant, principal, after, limit])
      const seqs = rows.map(({ seq }) => seq)
      return findReceipts(client, tenant, mergedPage(seqs, [], after, 'ascending', limit))
    })
  return {
    receipt: async (tenant, seq) => (await receiptsAt(tenant, [seq]))[0],
    receiptsAt,
    receipts: page,
    receiptLines: async (...query) => (await page(...query)).map(receiptLine),
    children: (tenant, parents, types) =>
      readTenant(pooled, tenant, async (client) => {
        const keys = parameters(
          PARENT_KEY,
          parents.map((parent) => ({ tenant, parent })),
        )
        const [rows, within] = await settled([
          ask<ChildRow>(client, 'children', [...keys, arrayOf('text', types)]),
          findWithinTasks(client, tenant, parents),
        ])
        return parents.flatMap((parent) =>
          childrenOf(
            parent,
            within.get(parent) ?? [],
            rows.filter((row) => row.parent === parent),
          ).filter((child) => types.includes(child.receipt_type)),
        )
      }),
    obligations: owed,
    obligationLines: async (...query) => (await owed(...query)).map(receiptLine),
    hadLease: async (tenant, taskId, leaseId, limit) => {
      const path = { by: 'task', task_id: taskId } as const
      const newest = await page(tenant, path, Number.MAX_SAFE_INTEGER, 'descending', limit)
      return newest.some((receipt) => receipt.lease_id === leaseId)
    },
  }
}

/** In the order of the seqs; absent ones are left out. */
async function findReceipts(
  client: pg.ClientBase,
  tenant: number,
  seqs: readonly number[],
): Promise<Receipt[]> {
  if (seqs.length === 0) return []
  const refs = seqs.map((seq) => ({ tenant, seq }))
  const rows = await ask<Segment>(client, 'segments_at', parameters(SEQ_KEY, refs))
  const segments = rows.map((row) => new OpenSegment(row)).sort((a, b) => a.first - b.first)
  return seqs.flatMap((seq) => {
    const segment = segments.findLast((each) => each.first <= seq)
    return segment?.has(tenant, seq) ? [segment.at(seq)] : []
  })
}

interface Page {
  readonly from: number
  readonly order: Order
  readonly limit: number
}

async function pageOfReceipts(
  client: pg.ClientBase,
  tenant: number,
  path: ReceiptPath,
  page: Page,
): Promise<Receipt[]> {
  const { from, order, limit } = page
  switch (path.by) {
    case 'all':
      return walkLedger(client, tenant, page)
    case 'to': {
      // A list has at least one seq, and the first may have none beyond `from`.
      const lists = await ask<SeqList>(client, `addressed_${order}`, [tenant, path.to, from, limit + 1])
      return findReceipts(client, tenant, pageOf(lists, from, order, limit))
    }
    case 'task':
      return findReceipts(client, tenant, await receiptsOfTask(client, tenant, path.task_id, page))
  }
}

async function walkLedger(
  client: pg.ClientBase,
  tenant: number,
  { from, order, limit }: Page,
): Promise<Receipt[]> {
  const receipts: Receipt[] = []
  let position = from
  for (;;) {
    const rows = await ask<Segment>(client, `segments_${order}`, [tenant, position, SEGMENTS])
    const before = receipts.length
    for (const row of rows) {
      const segment = new OpenSegment(row)
      for (const receipt of order === 'ascending' ? segment.after(position) : segment.before(position)) {
        receipts.push(receipt)
        if (receipts.length === limit) return receipts
      }
    }
    position = receipts.at(-1)?.seq ?? position
    if (rows.length < SEGMENTS || receipts.length === before) return receipts
  }
}

async function receiptsOfTask(
  client: pg.ClientBase,
  tenant: number,
  taskId: string,
  { from, order, limit }: Page,
): Promise<number[]> {
  if (!isUuid(taskId)) return []
  const [[stored], others] = await settled([
    findTasks(client, tenant, [taskId]),
    ask<{ seq: number }>(client, `task_receipts_${order}`, [tenant, taskId, from, limit]),
  ])
  const rest = others.map(({ seq }) => seq)
  return mergedPage(stored?.receipts ?? [], rest, from, order, limit)
}

/** The later receipts of the tasks of these receipts, by receipt. */
async function findWithinTasks(
  client: pg.ClientBase,
  tenant: number,
  seqs: readonly number[],
): Promise<ReadonlyMap<number, Receipt[]>> {
  const parents = await findReceipts(client, tenant, seqs)
  const taskIds = new Set(parents.flatMap(({ task_id }) => task_id ?? []))
  const tasks = await findTasks(client, tenant, [...taskIds])
  const named = new Map(tasks.map(({ task, receipts }) => [task.task_id, receipts]))
  const later = ({ seq, task_id }: Receipt) =>
    (task_id === null ? [] : (named.get(task_id) ?? [])).filter((other) => other > seq)
  const wanted = new Set(parents.flatMap(later))
  const found = await findReceipts(client, tenant, [...wanted])
  const bySeq = new Map(found.map((receipt) => [receipt.seq, receipt]))
  return new Map(parents.map((parent) => [parent.seq, later(parent).flatMap((seq) => bySeq.get(seq) ?? [])]))
}

/** How many of the newest receipts of a task are looked at for items about it. */
const MAX_PER_TASK = 1_000

/** The newest receipts of tasks that have one of these types, newest first. */
export async function newestOfTasks(
  client: pg.ClientBase,
  tenant: number,
  taskIds: readonly string[],
  types: readonly ReceiptType[],
): Promise<(Receipt & { readonly task_id: string })[]> {
  const page: Page = { from: Number.MAX_SAFE_INTEGER, order: 'descending', limit: MAX_PER_TASK }
  const seqs = await settled(taskIds.map((taskId) => receiptsOfTask(client, tenant, taskId, page)))
  const receipts = await findReceipts(client, tenant, seqs.flat())
  return receipts.flatMap((receipt) => {
    const { task_id, receipt_type } = receipt
    return task_id !== null && types.includes(receipt_type) ? [{ ...receipt, task_id }] : []
  })
}
