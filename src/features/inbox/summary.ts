import { z } from 'zod'
import { nextCursor } from '../input.ts'
import { age, line, summaryView } from '../summary.ts'
import { ageShape } from '../tasks/summary.ts'
import type { InboxItemView } from './shape.ts'

const MAX_SUMMARY = 120

const rowShape = z.object({
  receipt_id: z.string().describe('Id of the receipt: acknowledge it with ack_receipt'),
  task_id: z.string().optional().describe('The task that the item is about'),
  receipt_type: z.string().describe('The event'),
  age: ageShape.describe('Time since the receipt was written, such as 3m'),
  summary: z.string().describe('What happened, in one sentence'),
})

export const inboxSummary = summaryView({
  shape: z.object({ items: z.array(rowShape), next_cursor: nextCursor }),
  defaults: { limit: 15 },
  of: (page: { items: readonly InboxItemView[]; next_cursor: string | null }, now) => ({
    items: page.items.map((item) => ({
      receipt_id: item.receipt_id,
      ...(item.task_id !== null && { task_id: item.task_id }),
      receipt_type: item.receipt_type,
      age: age(item.created_at, now),
      summary: line(item.summary, MAX_SUMMARY),
    })),
    next_cursor: page.next_cursor,
  }),
})
