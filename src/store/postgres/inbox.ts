import type pg from 'pg'
import { isUuid } from '../../core/ids.ts'
import type { InboxItem } from '../../core/inbox.ts'
import type { InboxCounts, InboxReads, TaskItem } from '../reads.ts'
import { textArray } from './arrays.ts'
import { readTenant } from './borrow.ts'
import { list, parameters, rowsOf } from './columns.ts'
import { type Pooled, run, type Value } from './database.ts'
import { loads } from './load.ts'
import { ITEM, ITEM_KEY, TASK_KEY } from './shapes.ts'

const UNREAD = 'AND read_at IS NULL AND archived_at IS NULL'

export const inboxQueries = {
  items: loads.items,

  all_items_ascending: itemsAfter(''),
  all_items_descending: itemsBefore(''),
  unread_items_ascending: itemsAfter(UNREAD),
  unread_items_descending: itemsBefore(UNREAD),

  // CASE and not coalesce(), which PostgreSQL does not take for leakproof: under row-level security it would only filter.
  items_of_tasks: `
    SELECT ${list(ITEM, 'i.')}, x.task_id FROM ${rowsOf(TASK_KEY)}
    CROSS JOIN LATERAL (
      SELECT tenant, "to", seq FROM receipts
      WHERE tenant = x.tenant AND task_id = x.task_id AND receipt_type = ANY ($4::text[])
      ORDER BY seq DESC LIMIT $5
    ) r
    CROSS JOIN LATERAL (
      SELECT * FROM inbox
      WHERE tenant = r.tenant AND principal = CASE WHEN $3::text IS NULL THEN r."to" ELSE $3 END AND seq = r.seq
      LIMIT 1
    ) i`,

  inbox_counts: `
    SELECT
      count(*)::int AS items,
      count(*) FILTER (WHERE promoted_at IS NOT NULL)::int AS promoted,
      count(*) FILTER (WHERE promoted_at IS NULL AND archived_at IS NOT NULL)::int AS archived,
      count(*) FILTER (WHERE waits AND fetched_at IS NOT NULL)::int AS fetched,
      count(*) FILTER (WHERE waits AND fetched_at IS NULL AND read_at IS NOT NULL)::int AS read,
      count(*) FILTER (WHERE waits AND read_at IS NULL AND delivered_at IS NOT NULL)::int AS delivered,
      count(*) FILTER (WHERE waits AND read_at IS NULL AND delivered_at IS NULL)::int AS unread,
      count(*) FILTER (WHERE fetched_at IS NOT NULL AND promoted_at IS NULL)::int AS fetched_not_promoted,
      count(*) FILTER (WHERE delivery_count > 1)::int AS redelivered,
      (avg(fetched_at - delivered_at) FILTER (WHERE fetched_at >= delivered_at))::float8 AS average_ms_to_fetch
    FROM (
      SELECT *, promoted_at IS NULL AND archived_at IS NULL AS waits
      FROM inbox WHERE tenant = $1 AND principal = $2 ORDER BY seq DESC LIMIT $3
    ) i
    WHERE created_at >= $4`,
} as const satisfies Readonly<Record<string, string>>

function itemsAfter(condition: string): string {
  return `
    SELECT ${list(ITEM)} FROM inbox
    WHERE tenant = $1 AND principal = $2 AND seq > $3 ${condition} ORDER BY seq LIMIT $4`
}

function itemsBefore(condition: string): string {
  return `
    SELECT ${list(ITEM)} FROM inbox
    WHERE tenant = $1 AND principal = $2 AND seq < $3 ${condition} ORDER BY seq DESC LIMIT $4`
}

export function inboxReadsOn(pooled: Pooled): InboxReads {
  const read = <Row extends pg.QueryResultRow>(
    tenant: number,
    name: keyof typeof inboxQueries,
    values: readonly Value[],
  ) => readTenant(pooled, tenant, (client) => run<Row>(client, { name, text: inboxQueries[name] }, values))
  return {
    items: async (tenant, refs) => {
      const rows = refs.map(({ principal, seq }) => ({ tenant, principal, seq }))
      return rows.length === 0 ? [] : read<InboxItem>(tenant, 'items', parameters(ITEM_KEY, rows))
    },
    inbox: (tenant, principal, which, from, order, limit) =>
      read<InboxItem>(tenant, `${which}_items_${order}`, [tenant, principal, from, limit]),
    itemsOfTasks: async (tenant, principal, taskIds, types, limit) => {
      const tasks = taskIds.filter(isUuid).map((task_id) => ({ task_id, tenant }))
      if (tasks.length === 0) return []
      const values = [...parameters(TASK_KEY, tasks), principal, textArray(types), limit]
      return read<TaskItem>(tenant, 'items_of_tasks', values)
    },
    inboxCounts: async (tenant, principal, since, limit) => {
      const [counts] = await read<InboxCounts>(tenant, 'inbox_counts', [tenant, principal, limit, since])
      if (counts === undefined) throw new Error('a count has no row')
      return counts
    },
  }
}
