import { type InboxItem, newItem } from '../../core/inbox.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { Known, UnreadRow } from '../layout/known.ts'
import { decodeSeqs } from '../layout/seq-lists.ts'
import { list, rowsOf } from './columns.ts'
import { ITEM_KEY, ITEM_MARKS } from './shapes.ts'

/** An item with its marks, if it has any, and the row in which it may be unread. */
export interface ItemRow extends Omit<InboxItem, 'created_at' | 'delivery_count'> {
  readonly created_at: number | null
  readonly delivery_count: number | null
  readonly unread_first: number | null
  readonly unread_at: number | null
  readonly unread_seqs: string | null
}

export const ITEM_LOOKUP = `
  SELECT x.tenant, x.principal, x.seq, i.created_at, ${list(ITEM_MARKS, 'i.')},
    u.first AS unread_first, u.created_at AS unread_at, u.seqs AS unread_seqs
  FROM ${rowsOf(ITEM_KEY)}
  LEFT JOIN LATERAL (
    SELECT * FROM inbox WHERE tenant = x.tenant AND principal = x.principal AND seq = x.seq LIMIT 1
  ) i ON true
  LEFT JOIN LATERAL (
    SELECT * FROM inbox_unread WHERE tenant = x.tenant AND principal = x.principal AND first <= x.seq
    ORDER BY first DESC LIMIT 1
  ) u ON true`

/** The item of a row, if it exists. Lets `known` know where it is unread. */
export function itemOf(row: ItemRow, known?: Known): InboxItem | undefined {
  const { tenant, principal, seq } = row
  const unread = unreadOf(row, tenant, principal, seq)
  const item = markedOf(row) ?? (unread && newItem(tenant, principal, seq, unread.created_at))
  if (item !== undefined) known?.item(tenant, principal, seq, unread)
  return item
}

function markedOf(row: ItemRow): InboxItem | undefined {
  const { created_at, delivery_count } = row
  if (created_at === null || delivery_count === null) return undefined
  return {
    tenant: row.tenant,
    principal: row.principal,
    seq: row.seq,
    created_at,
    delivered_at: row.delivered_at,
    delivery_count,
    read_at: row.read_at,
    fetched_at: row.fetched_at,
    promoted_at: row.promoted_at,
    archived_at: row.archived_at,
  }
}

function unreadOf(
  { unread_first: first, unread_at: created_at, unread_seqs: seqs }: ItemRow,
  tenant: number,
  principal: PrincipalKey,
  seq: number,
): UnreadRow | undefined {
  if (first === null || created_at === null || seqs === null) return undefined
  return decodeSeqs(first, seqs).includes(seq) ? { tenant, principal, first, created_at, seqs } : undefined
}
