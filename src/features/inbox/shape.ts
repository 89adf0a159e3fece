import { z } from 'zod'
import { receiptId } from '../../core/ids.ts'
import { INBOX_STATES, INBOX_TYPES, type InboxItem, stateOf } from '../../core/inbox.ts'
import { isoOrNull, isoTime } from '../../core/time.ts'
import { TERMINAL_STATUSES } from '../../core/transitions.ts'
import type { TenantRef } from '../../store/store.ts'
import { time } from '../input.ts'

/** An inbox item with its marks: the times at which its state changed. */
export const marksShape = z.object({
  receipt_id: z.string().describe('Id of the receipt in the inbox'),
  state: z.enum(INBOX_STATES).describe('The furthest state that the item has reached'),
  created_at: time.describe('When the receipt was written'),
  delivered_at: time.nullable().describe('When the item was first delivered; null if it was not'),
  delivery_count: z.int().describe('How often the item was delivered before it was read'),
  read_at: time
    .nullable()
    .describe('When the item was marked as read or its result was fetched; null if neither'),
  fetched_at: time.nullable().describe('When the result was first fetched; null if it was not'),
  promoted_at: time.nullable().describe('When the result was stored in a memory; null if it was not'),
  archived_at: time.nullable().describe('When the item was archived or acknowledged; null if neither'),
})

export const inboxItemShape = marksShape.extend({
  receipt_type: z.enum(INBOX_TYPES).describe('The event that the receipt records'),
  task_id: z.string().nullable().describe('The task that the item is about; null if it is about none'),
  type: z.string().nullable().describe('Type of the task; null without a task'),
  summary: z.string().describe('What happened, in one sentence'),
  status: z.enum(TERMINAL_STATUSES).nullable().describe('How the task ended; null if it has not ended'),
  dead_letter: z.boolean().describe('Whether the task failed because its attempts or lease expiries ran out'),
})

export type InboxItemView = z.output<typeof inboxItemShape>

export function marksView(tenant: TenantRef, item: InboxItem): z.output<typeof marksShape> {
  return {
    receipt_id: receiptId(tenant.salt, item.seq),
    state: stateOf(item),
    created_at: isoTime(item.created_at),
    delivered_at: isoOrNull(item.delivered_at),
    delivery_count: item.delivery_count,
    read_at: isoOrNull(item.read_at),
    fetched_at: isoOrNull(item.fetched_at),
    promoted_at: isoOrNull(item.promoted_at),
    archived_at: isoOrNull(item.archived_at),
  }
}
