import type { PrincipalKey } from './principal.ts'
import type { ReceiptType } from './receipt.ts'

/** Receipts that can be in an inbox. The others are the record of how it came to them. */
export const INBOX_TYPES: readonly ReceiptType[] = [
  'task.result_ready',
  'task.progress',
  'task.escalated',
  'question.asked',
  'lease.expired',
  'system.anomaly',
]

const ASKING: ReadonlySet<ReceiptType> = new Set(INBOX_TYPES.filter((type) => type !== 'task.progress'))

/** Whether receipts of this type go to the inbox unless a decision says otherwise. Of progress, only milestones do. */
export function asksForAttention(type: ReceiptType): boolean {
  return ASKING.has(type)
}

/** A receipt in the inbox of a principal, with its history there. Each time is set once and never changes. */
export interface InboxItem {
  readonly tenant: number
  readonly principal: PrincipalKey
  /** Of the receipt. */
  readonly seq: number
  readonly created_at: number
  /** When it was first handed over; whether it was noticed is another matter. */
  readonly delivered_at: number | null
  readonly delivery_count: number
  readonly read_at: number | null
  readonly fetched_at: number | null
  readonly promoted_at: number | null
  readonly archived_at: number | null
}

export const INBOX_MARKS = ['delivered', 'read', 'fetched', 'promoted', 'archived'] as const
export type InboxMark = (typeof INBOX_MARKS)[number]

/** How far an item has come. What was put away without being stored in a memory is archived. */
export const INBOX_STATES = ['unread', 'delivered', 'read', 'fetched', 'promoted', 'archived'] as const
export type InboxState = (typeof INBOX_STATES)[number]

export function newItem(tenant: number, principal: PrincipalKey, seq: number, now: number): InboxItem {
  return {
    tenant,
    principal,
    seq,
    created_at: now,
    delivered_at: null,
    delivery_count: 0,
    read_at: null,
    fetched_at: null,
    promoted_at: null,
    archived_at: null,
  }
}

/** A principal that has fetched or stored the result has also read the notice. */
const READING: ReadonlySet<InboxMark> = new Set<InboxMark>(['read', 'fetched', 'promoted'])

/** The item with a mark: the same object if it had it already. Every delivery counts until the item is read. */
export function marked(item: InboxItem, mark: InboxMark, now: number): InboxItem {
  const delivers = mark === 'delivered' && (item.read_at === null || item.delivered_at === null)
  const once = (applies: boolean, before: number | null) => (applies ? (before ?? now) : before)
  const read_at = once(READING.has(mark), item.read_at)
  const fetched_at = once(mark === 'fetched', item.fetched_at)
  const promoted_at = once(mark === 'promoted', item.promoted_at)
  const archived_at = once(mark === 'archived', item.archived_at)
  const same =
    read_at === item.read_at &&
    fetched_at === item.fetched_at &&
    promoted_at === item.promoted_at &&
    archived_at === item.archived_at
  if (same && !delivers) return item
  return {
    tenant: item.tenant,
    principal: item.principal,
    seq: item.seq,
    created_at: item.created_at,
    delivered_at: once(delivers, item.delivered_at),
    delivery_count: item.delivery_count + (delivers ? 1 : 0),
    read_at,
    fetched_at,
    promoted_at,
    archived_at,
  }
}

/** Whether it still waits there: neither put away nor stored in a memory. */
export function isInInbox(item: InboxItem): boolean {
  return item.promoted_at === null && item.archived_at === null
}

export function stateOf(item: InboxItem): InboxState {
  if (item.promoted_at !== null) return 'promoted'
  if (item.archived_at !== null) return 'archived'
  if (item.fetched_at !== null) return 'fetched'
  if (item.read_at !== null) return 'read'
  return item.delivered_at === null ? 'unread' : 'delivered'
}
