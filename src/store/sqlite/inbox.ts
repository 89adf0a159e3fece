import { type InboxItem, newItem } from '../../core/inbox.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import { countItems, type ItemPage, mergeItems, type UnreadItem, unreadItems } from '../layout/inbox-pages.ts'
import type { InboxRows } from '../layout/inbox-rows.ts'
import type { Known, UnreadRow } from '../layout/known.ts'
import { decodeSeqs, type Order } from '../layout/seq-lists.ts'
import type { InboxReads, TaskItem } from '../reads.ts'
import type { Database } from './database.ts'
import { attemptAvailable } from './failure.ts'
import { prepareReceiptLookup, prepareTaskReceipts } from './ledger.ts'

const COLUMNS = [
  'tenant',
  'principal',
  'seq',
  'created_at',
  'delivered_at',
  'delivery_count',
  'read_at',
  'fetched_at',
  'promoted_at',
  'archived_at',
] as const satisfies readonly (keyof InboxItem)[]

const UNREAD = 'tenant, principal, first, created_at, seqs'

export const ITEM = `SELECT ${COLUMNS} FROM inbox WHERE tenant = ? AND principal = ? AND seq = ?`
export const MARKED = {
  ascending: `SELECT ${COLUMNS} FROM inbox WHERE tenant = ? AND principal = ? AND seq > ? ORDER BY seq LIMIT ?`,
  descending: `SELECT ${COLUMNS} FROM inbox WHERE tenant = ? AND principal = ? AND seq < ? ORDER BY seq DESC LIMIT ?`,
} as const
export const UNREAD_WITH = `SELECT ${UNREAD} FROM inbox_unread
  WHERE tenant = ? AND principal = ? AND first <= ? ORDER BY first DESC LIMIT 1`
export const UNREAD_LISTS = {
  ascending: `SELECT ${UNREAD} FROM inbox_unread
    WHERE tenant = ? AND principal = ? AND first >= coalesce(
      (SELECT max(first) FROM inbox_unread WHERE tenant = ? AND principal = ? AND first <= ?), 0)
    ORDER BY first LIMIT ?`,
  descending: `SELECT ${UNREAD} FROM inbox_unread
    WHERE tenant = ? AND principal = ? AND first < ? ORDER BY first DESC LIMIT ?`,
} as const

/** Finds an item, and lets `known` know where it is unread. */
export function prepareItemLookup(
  database: Database,
): (tenant: number, principal: PrincipalKey, seq: number, known?: Known) => InboxItem | undefined {
  const marked = database.prepare(ITEM)
  const unread = database.prepare(UNREAD_WITH)
  return (tenant, principal, seq, known) => {
    const item = marked.get(tenant, principal, seq) as InboxItem | undefined
    if (item !== undefined && known === undefined) return item
    const near = unread.get(tenant, principal, seq) as UnreadRow | undefined
    const row = near && decodeSeqs(near.first, near.seqs).includes(seq) ? near : undefined
    if (item === undefined && row === undefined) return undefined
    known?.item(tenant, principal, seq, row)
    return item ?? (row && newItem(tenant, principal, seq, row.created_at))
  }
}

export function prepareInboxReads(database: Database): InboxReads {
  const find = prepareItemLookup(database)
  const page = preparePages(database)
  const receipts = prepareReceiptLookup(database)
  const receiptsOf = prepareTaskReceipts(database)

  const itemsOfTask = (
    tenant: number,
    principal: PrincipalKey | null,
    taskId: string,
    types: ReadonlySet<string>,
    limit: number,
  ): TaskItem[] => {
    const findReceipt = receipts()
    const items: TaskItem[] = []
    for (const seq of receiptsOf(tenant, taskId, Number.MAX_SAFE_INTEGER, 'descending', MAX_RECEIPTS)) {
      const receipt = findReceipt(tenant, seq)
      if (receipt === undefined || !types.has(receipt.receipt_type)) continue
      const item = find(tenant, principal ?? receipt.to, seq)
      if (item !== undefined) items.push({ ...item, task_id: taskId })
      if (items.length === limit) break
    }
    return items
  }

  return {
    items: async (tenant, refs) =>
      attemptAvailable(() => refs.flatMap(({ principal, seq }) => find(tenant, principal, seq) ?? [])),
    inbox: async (tenant, principal, which, from, order, limit) =>
      attemptAvailable(() => page[which](tenant, principal, from, order, limit)),
    itemsOfTasks: async (tenant, principal, taskIds, types, limit) =>
      attemptAvailable(() => {
        const wanted = new Set<string>(types)
        return taskIds.flatMap((taskId) => itemsOfTask(tenant, principal, taskId, wanted, limit))
      }),
    inboxCounts: async (tenant, principal, since, limit) =>
      attemptAvailable(() =>
        countItems(page.all(tenant, principal, Number.MAX_SAFE_INTEGER, 'descending', limit), since),
      ),
  }
}

/** How many of the newest receipts of a task are looked at for items about it. */
const MAX_RECEIPTS = 1_000

type Page = (
  tenant: number,
  principal: PrincipalKey,
  from: number,
  order: Order,
  limit: number,
) => InboxItem[]

function preparePages(database: Database): Record<'all' | 'unread', Page> {
  const item = database.prepare(ITEM)
  const marked = {
    ascending: database.prepare(MARKED.ascending),
    descending: database.prepare(MARKED.descending),
  }
  const ascending = database.prepare(UNREAD_LISTS.ascending)
  const descending = database.prepare(UNREAD_LISTS.descending)
  const unreadOf = (
    tenant: number,
    principal: PrincipalKey,
    { from, order, limit }: ItemPage,
  ): UnreadItem[] => {
    const rows =
      order === 'ascending'
        ? ascending.iterate(tenant, principal, tenant, principal, from, limit + 1)
        : descending.iterate(tenant, principal, from, limit)
    return unreadItems(rows as Iterable<UnreadRow>, { from, order, limit })
  }
  return {
    unread: (tenant, principal, from, order, limit) =>
      unreadOf(tenant, principal, { from, order, limit }).map(({ seq, created_at }) => {
        const known = item.get(tenant, principal, seq) as InboxItem | undefined
        return known ?? newItem(tenant, principal, seq, created_at)
      }),
    all: (tenant, principal, from, order, limit) => {
      const unread = unreadOf(tenant, principal, { from, order, limit }).map(({ seq, created_at }) =>
        newItem(tenant, principal, seq, created_at),
      )
      const others = marked[order].all(tenant, principal, from, limit) as InboxItem[]
      return mergeItems(others, unread, order, limit)
    },
  }
}

export function prepareInboxWrites(database: Database): (rows: InboxRows) => void {
  const insert = database.prepare(`INSERT INTO inbox_unread (${UNREAD}) VALUES (?, ?, ?, ?, ?)`)
  const change = database.prepare(
    'UPDATE inbox_unread SET seqs = ? WHERE tenant = ? AND principal = ? AND first = ?',
  )
  const remove = database.prepare('DELETE FROM inbox_unread WHERE tenant = ? AND principal = ? AND first = ?')
  const put = database.prepare(
    `INSERT INTO inbox (${COLUMNS}) VALUES (${COLUMNS.map(() => '?')})
     ON CONFLICT DO UPDATE SET ${COLUMNS.slice(4).map((column) => `${column} = excluded.${column}`)}`,
  )
  return ({ unread, unread_changed, unread_removed, items }) => {
    for (const { tenant, principal, first, created_at, seqs } of unread) {
      insert.run(tenant, principal, first, created_at, seqs)
    }
    for (const { tenant, principal, first, seqs } of unread_changed) {
      change.run(seqs, tenant, principal, first)
    }
    for (const { tenant, principal, first } of unread_removed) remove.run(tenant, principal, first)
    for (const item of items) put.run(...COLUMNS.map((column) => item[column]))
  }
}
