import { INBOX_TYPES, type InboxItem } from '../../core/inbox.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { ReceiptType } from '../../core/receipt.ts'
import type { InboxCounts, InboxReads, TaskItem } from '../reads.ts'
import type { Changes } from '../store.ts'
import type { Database } from './database.ts'
import { attemptAvailable } from './failure.ts'

const COLUMNS =
  'tenant, principal, seq, created_at, delivered_at, delivery_count, read_at, fetched_at, promoted_at, archived_at'

export const ITEM = `SELECT ${COLUMNS} FROM inbox WHERE tenant = ? AND principal = ? AND seq = ?`

const pages = (index: string, condition: string) => ({
  ascending: `SELECT ${COLUMNS} FROM inbox ${index}
    WHERE tenant = ? AND principal = ? AND seq > ? ${condition} ORDER BY seq LIMIT ?`,
  descending: `SELECT ${COLUMNS} FROM inbox ${index}
    WHERE tenant = ? AND principal = ? AND seq < ? ${condition} ORDER BY seq DESC LIMIT ?`,
})

// The condition of the partial index stands here word for word: otherwise SQLite does not use it.
export const PAGES = {
  all: pages('', ''),
  unread: pages('INDEXED BY inbox_unread', 'AND read_at IS NULL AND archived_at IS NULL'),
} as const

export const OF_TASK = `SELECT ${COLUMNS.split(', ').map((column) => `i.${column}`)}, r.task_id
  FROM receipts r INDEXED BY receipts_task
  CROSS JOIN inbox i ON i.tenant = r.tenant AND i.principal = coalesce(?, r."to") AND i.seq = r.seq
  WHERE r.tenant = ? AND r.task_id = ? AND r.receipt_type IN (${INBOX_TYPES.map(() => '?')})
  ORDER BY r.seq DESC LIMIT ?`

export const COUNTS = `SELECT
    count(*) AS items,
    count(*) FILTER (WHERE promoted_at IS NOT NULL) AS promoted,
    count(*) FILTER (WHERE promoted_at IS NULL AND archived_at IS NOT NULL) AS archived,
    count(*) FILTER (WHERE waits AND fetched_at IS NOT NULL) AS fetched,
    count(*) FILTER (WHERE waits AND fetched_at IS NULL AND read_at IS NOT NULL) AS read,
    count(*) FILTER (WHERE waits AND read_at IS NULL AND delivered_at IS NOT NULL) AS delivered,
    count(*) FILTER (WHERE waits AND read_at IS NULL AND delivered_at IS NULL) AS unread,
    count(*) FILTER (WHERE fetched_at IS NOT NULL AND promoted_at IS NULL) AS fetched_not_promoted,
    count(*) FILTER (WHERE delivery_count > 1) AS redelivered,
    avg(fetched_at - delivered_at) FILTER (WHERE fetched_at >= delivered_at) AS average_ms_to_fetch
  FROM (
    SELECT *, promoted_at IS NULL AND archived_at IS NULL AS waits
    FROM inbox WHERE tenant = ? AND principal = ? ORDER BY seq DESC LIMIT ?
  ) WHERE created_at >= ?`

export function prepareItemLookup(
  database: Database,
): (tenant: number, principal: PrincipalKey, seq: number) => InboxItem | undefined {
  const select = database.prepare(ITEM)
  return (tenant, principal, seq) => select.get(tenant, principal, seq) as InboxItem | undefined
}

export function prepareInboxReads(database: Database): InboxReads {
  const find = prepareItemLookup(database)
  const page = {
    all: {
      ascending: database.prepare(PAGES.all.ascending),
      descending: database.prepare(PAGES.all.descending),
    },
    unread: {
      ascending: database.prepare(PAGES.unread.ascending),
      descending: database.prepare(PAGES.unread.descending),
    },
  }
  const ofTask = database.prepare(OF_TASK)
  const counts = database.prepare(COUNTS)
  return {
    items: async (tenant, refs) =>
      attemptAvailable(() => refs.flatMap(({ principal, seq }) => find(tenant, principal, seq) ?? [])),
    inbox: async (tenant, principal, which, from, order, limit) =>
      attemptAvailable(() => page[which][order].all(tenant, principal, from, limit) as InboxItem[]),
    itemsOfTasks: async (tenant, principal, taskIds, types, limit) =>
      attemptAvailable(() =>
        taskIds.flatMap(
          (taskId) => ofTask.all(principal, tenant, taskId, ...padded(types), limit) as TaskItem[],
        ),
      ),
    inboxCounts: async (tenant, principal, since, limit) =>
      attemptAvailable(() => counts.get(tenant, principal, limit, since) as InboxCounts),
  }
}

/** As many as the statement has places: only these types are ever in an inbox. */
function padded(types: readonly ReceiptType[]): (ReceiptType | null)[] {
  return INBOX_TYPES.map((type) => (types.includes(type) ? type : null))
}

export function prepareInboxWrites(database: Database): (changes: Changes) => void {
  const file = database.prepare('INSERT INTO inbox (tenant, principal, seq, created_at) VALUES (?, ?, ?, ?)')
  const mark = database.prepare(
    `UPDATE inbox SET delivered_at = ?, delivery_count = ?, read_at = ?, fetched_at = ?, promoted_at = ?,
       archived_at = ? WHERE tenant = ? AND principal = ? AND seq = ?`,
  )
  return (changes) => {
    for (const { tenant, principal, seq, created_at } of changes.filed) {
      file.run(tenant, principal, seq, created_at)
    }
    for (const item of changes.marked) {
      const { tenant, principal, seq } = item
      const { changes: found } = mark.run(
        item.delivered_at,
        item.delivery_count,
        item.read_at,
        item.fetched_at,
        item.promoted_at,
        item.archived_at,
        tenant,
        principal,
        seq,
      )
      if (Number(found) !== 1) throw new Error(`an item to be marked is not there (${principal}, ${seq})`)
    }
  }
}
