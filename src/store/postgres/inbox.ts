import type pg from 'pg'
import { type InboxItem, newItem } from '../../core/inbox.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import { countItems, type ItemPage, mergeItems, unreadItems } from '../layout/inbox-pages.ts'
import type { UnreadRow } from '../layout/known.ts'
import type { InboxReads, TaskItem } from '../reads.ts'
import { readTenant } from './borrow.ts'
import { list, parameters } from './columns.ts'
import { type Pooled, run, settled, type Value } from './database.ts'
import { ITEM_LOOKUP, type ItemRow, itemOf } from './items.ts'
import { newestOfTasks } from './ledger.ts'
import { ITEM, ITEM_KEY, UNREAD } from './shapes.ts'

export const inboxQueries = {
  items: ITEM_LOOKUP,

  marked_ascending: `
    SELECT ${list(ITEM)} FROM inbox
    WHERE tenant = $1 AND principal = $2 AND seq > $3 ORDER BY seq LIMIT $4`,
  marked_descending: `
    SELECT ${list(ITEM)} FROM inbox
    WHERE tenant = $1 AND principal = $2 AND seq < $3 ORDER BY seq DESC LIMIT $4`,

  unread_ascending: `
    SELECT ${list(UNREAD)} FROM inbox_unread
    WHERE tenant = $1 AND principal = $2 AND first >= coalesce(
      (SELECT first FROM inbox_unread WHERE tenant = $1 AND principal = $2 AND first <= $3
      ORDER BY first DESC LIMIT 1), 0)
    ORDER BY first LIMIT $4`,
  unread_descending: `
    SELECT ${list(UNREAD)} FROM inbox_unread
    WHERE tenant = $1 AND principal = $2 AND first < $3 ORDER BY first DESC LIMIT $4`,
} as const satisfies Readonly<Record<string, string>>

function ask<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  name: keyof typeof inboxQueries,
  values: readonly Value[],
): Promise<Row[]> {
  return run<Row>(client, { name, text: inboxQueries[name] }, values)
}

export function inboxReadsOn(pooled: Pooled): InboxReads {
  const all = (tenant: number, principal: PrincipalKey, page: ItemPage) =>
    readTenant(pooled, tenant, async (client) => {
      const { from, order, limit } = page
      // Unread ones first: one that is read between the two statements is then found by both, not by neither.
      const [unread, marked] = await settled([
        findUnread(client, tenant, principal, page),
        ask<InboxItem>(client, `marked_${order}`, [tenant, principal, from, limit]),
      ])
      const items = unread.map(({ seq, created_at }) => newItem(tenant, principal, seq, created_at))
      return mergeItems(marked, items, order, limit)
    })
  return {
    items: (tenant, refs) => readTenant(pooled, tenant, (client) => findItems(client, tenant, refs)),
    inbox: (tenant, principal, which, from, order, limit) =>
      which === 'all'
        ? all(tenant, principal, { from, order, limit })
        : readTenant(pooled, tenant, async (client) => {
            const unread = await findUnread(client, tenant, principal, { from, order, limit })
            const refs = unread.map(({ seq }) => ({ principal, seq }))
            const marked = new Map((await findItems(client, tenant, refs)).map((item) => [item.seq, item]))
            return unread.map(
              ({ seq, created_at }) => marked.get(seq) ?? newItem(tenant, principal, seq, created_at),
            )
          }),
    itemsOfTasks: (tenant, principal, taskIds, types, limit) =>
      readTenant(pooled, tenant, async (client) => {
        const receipts = await newestOfTasks(client, tenant, taskIds, types)
        const refs = receipts.map(({ to, seq }) => ({ principal: principal ?? to, seq }))
        const items = new Map((await findItems(client, tenant, refs)).map((item) => [item.seq, item]))
        const counts = new Map<string, number>()
        const found: TaskItem[] = []
        for (const { seq, task_id } of receipts) {
          const item = items.get(seq)
          const count = counts.get(task_id) ?? 0
          if (item === undefined || count === limit) continue
          counts.set(task_id, count + 1)
          found.push({ ...item, task_id })
        }
        return found
      }),
    inboxCounts: async (tenant, principal, since, limit) => {
      const page: ItemPage = { from: Number.MAX_SAFE_INTEGER, order: 'descending', limit }
      return countItems(await all(tenant, principal, page), since)
    },
  }
}

async function findItems(
  client: pg.ClientBase,
  tenant: number,
  refs: readonly { readonly principal: PrincipalKey; readonly seq: number }[],
): Promise<InboxItem[]> {
  if (refs.length === 0) return []
  const keys = refs.map(({ principal, seq }) => ({ tenant, principal, seq }))
  const rows = await ask<ItemRow>(client, 'items', parameters(ITEM_KEY, keys))
  return rows.flatMap((row) => itemOf(row) ?? [])
}

/** A row has at least one item, and the first may have none beyond `from`. */
async function findUnread(client: pg.ClientBase, tenant: number, principal: PrincipalKey, page: ItemPage) {
  const rows = await ask<UnreadRow>(client, `unread_${page.order}`, [
    tenant,
    principal,
    page.from,
    page.limit + 1,
  ])
  return unreadItems(rows, page)
}
