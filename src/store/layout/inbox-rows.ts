import type { InboxItem } from '../../core/inbox.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { Changes } from '../store.ts'
import type { Known, UnreadRow } from './known.ts'
import { decodeSeqs, encodeSeqs, seqListsOf } from './seq-lists.ts'

type UnreadKey = Pick<UnreadRow, 'tenant' | 'principal' | 'first'>

/**
 * An item that was only filed is a seq in a row of `inbox_unread`. Once it has a mark it has a row of `inbox`; it leaves
 * `inbox_unread` when it is read or archived.
 */
export interface InboxRows {
  readonly unread: readonly UnreadRow[]
  readonly unread_changed: readonly UnreadRow[]
  readonly unread_removed: readonly UnreadKey[]
  /** New or changed. */
  readonly items: readonly InboxItem[]
}

/** A row of unread items is written again when one of them is read. */
const MAX_UNREAD = 64

export function inboxRows({ filed, marked }: Pick<Changes, 'filed' | 'marked'>, known: Known): InboxRows {
  const read = new Set<string>()
  const before = new Map<UnreadRow, number[]>()
  const isFiled = new Set(marked.length === 0 ? [] : filed.map(keyOf))
  for (const item of marked) {
    if (!known.hasItem(item.tenant, item.principal, item.seq) && !isFiled.has(keyOf(item))) {
      throw new Error(`an item to be marked is not there (${item.principal}, ${item.seq})`)
    }
    if (isUnread(item)) continue
    read.add(keyOf(item))
    const row = known.unreadWith(item.tenant, item.principal, item.seq)
    if (row === undefined) continue
    const left = before.get(row) ?? decodeSeqs(row.first, row.seqs)
    before.set(
      row,
      left.filter((seq) => seq !== item.seq),
    )
  }
  const rows = [...before]
  return {
    unread: unreadRows(read.size === 0 ? filed : filed.filter((item) => !read.has(keyOf(item)))),
    unread_changed: rows.flatMap(([row, left]) =>
      left.length === 0 ? [] : [{ ...row, seqs: encodeSeqs(row.first, left) }],
    ),
    unread_removed: rows.flatMap(([row, left]) => (left.length === 0 ? [row] : [])),
    items: marked,
  }
}

export function isUnread({ read_at, archived_at }: InboxItem): boolean {
  return read_at === null && archived_at === null
}

/** Those of a row were filed at the same time. */
function unreadRows(filed: readonly InboxItem[]): UnreadRow[] {
  const [first] = filed
  if (first === undefined) return []
  const { created_at } = first
  const others = filed.filter((item) => item.created_at !== created_at)
  const together = others.length === 0 ? filed : filed.filter((item) => item.created_at === created_at)
  return [...seqListsOf(together, MAX_UNREAD).map((list) => ({ ...list, created_at })), ...unreadRows(others)]
}

function keyOf({ tenant, principal, seq }: { tenant: number; principal: PrincipalKey; seq: number }): string {
  return `${tenant} ${seq} ${principal}`
}
