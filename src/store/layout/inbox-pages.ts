import { INBOX_STATES, type InboxItem, type InboxState, stateOf } from '../../core/inbox.ts'
import type { InboxCounts } from '../reads.ts'
import type { UnreadRow } from './known.ts'
import { decodeSeqs, type Order } from './seq-lists.ts'

export interface ItemPage {
  readonly from: number
  readonly order: Order
  readonly limit: number
}

export interface UnreadItem {
  readonly seq: number
  readonly created_at: number
}

/** The next items of rows that come in that order. */
export function unreadItems(rows: Iterable<UnreadRow>, { from, order, limit }: ItemPage): UnreadItem[] {
  const items: UnreadItem[] = []
  for (const { first, seqs, created_at } of rows) {
    const found = decodeSeqs(first, seqs)
    if (order === 'descending') found.reverse()
    for (const seq of found) {
      if (items.length === limit) return items
      if (order === 'ascending' ? seq > from : seq < from) items.push({ seq, created_at })
    }
    if (items.length === limit) return items
  }
  return items
}

/** Both lists are in that order. An item that is unread and has a mark is in both: then its marks count. */
export function mergeItems(
  marked: readonly InboxItem[],
  unread: readonly InboxItem[],
  order: Order,
  limit: number,
): InboxItem[] {
  const items = new Map<number, InboxItem>()
  for (const item of unread) items.set(item.seq, item)
  for (const item of marked) items.set(item.seq, item)
  const sorted = [...items.values()].sort((a, b) => (order === 'ascending' ? a.seq - b.seq : b.seq - a.seq))
  return sorted.slice(0, limit)
}

/** Counts over those that came at `since` or later. */
export function countItems(items: readonly InboxItem[], since: number): InboxCounts {
  const counted = items.filter((item) => item.created_at >= since)
  const states = new Map<InboxState, number>(INBOX_STATES.map((state) => [state, 0]))
  for (const item of counted) {
    const state = stateOf(item)
    states.set(state, (states.get(state) ?? 0) + 1)
  }
  const of = (state: InboxState) => states.get(state) ?? 0
  const delays = counted.flatMap(({ fetched_at, delivered_at }) =>
    fetched_at !== null && delivered_at !== null && fetched_at >= delivered_at
      ? [fetched_at - delivered_at]
      : [],
  )
  return {
    items: counted.length,
    unread: of('unread'),
    delivered: of('delivered'),
    read: of('read'),
    fetched: of('fetched'),
    promoted: of('promoted'),
    archived: of('archived'),
    fetched_not_promoted: counted.filter((item) => item.fetched_at !== null && item.promoted_at === null)
      .length,
    redelivered: counted.filter((item) => item.delivery_count > 1).length,
    average_ms_to_fetch:
      delays.length === 0 ? null : delays.reduce((sum, delay) => sum + delay, 0) / delays.length,
  }
}
