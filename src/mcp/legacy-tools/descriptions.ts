import { z } from 'zod'
import type { InboxItemView } from '../../features/inbox/shape.ts'
import type { TaskView } from '../../features/tasks/shape.ts'

// The words of the old tools, and what they are called now.

export const OLD_STATUSES = ['queued', 'running', 'complete', 'failed', 'dead_letter', 'canceled'] as const
export type OldStatus = (typeof OLD_STATUSES)[number]

const STATUSES: Readonly<Record<TaskView['status'], OldStatus>> = {
  queued: 'queued',
  leased: 'running',
  running: 'running',
  // Nobody is at them.
  pending_approval: 'queued',
  input_required: 'queued',
  succeeded: 'complete',
  failed: 'failed',
  canceled: 'canceled',
}

export function oldStatus({ status, dead_letter }: Pick<TaskView, 'status' | 'dead_letter'>): OldStatus {
  return dead_letter ? 'dead_letter' : STATUSES[status]
}

const time = z.iso.datetime().nullable()

export const notificationShape = z.object({
  id: z.string(),
  task_id: z.string().nullable(),
  task_type: z.string().nullable(),
  notification_type: z.string(),
  summary: z.string(),
  status: z.enum(OLD_STATUSES).nullable(),
  created_at: z.iso.datetime(),
  delivered_at: time,
  delivery_count: z.int(),
  read_at: time,
  fetched_at: time,
  promoted_to_memory_at: time,
  archived_at: time,
})

export type Notification = z.output<typeof notificationShape>

export function notificationOf(item: InboxItemView): Notification {
  const { status, dead_letter } = item
  return {
    id: item.receipt_id,
    task_id: item.task_id,
    task_type: item.type,
    notification_type: notificationType(item),
    summary: item.summary,
    status: status === null ? null : oldStatus({ status, dead_letter }),
    created_at: item.created_at,
    delivered_at: item.delivered_at,
    delivery_count: item.delivery_count,
    read_at: item.read_at,
    fetched_at: item.fetched_at,
    promoted_to_memory_at: item.promoted_at,
    archived_at: item.archived_at,
  }
}

/** Results are named by how they ended; the others by their receipts, as in lease_expired. */
function notificationType({ receipt_type, status, dead_letter }: InboxItemView): string {
  if (receipt_type !== 'task.result_ready' || status === null) return receipt_type.replace('.', '_')
  return `task_${oldStatus({ status, dead_letter })}`
}

/** The members of a progress report that the old tools knew. */
export function progressOf(progress: TaskView['progress']): {
  percent: number | null
  message: string | null
} {
  const { percent, message } = progress ?? {}
  return {
    percent: typeof percent === 'number' ? percent : null,
    message: typeof message === 'string' ? message : null,
  }
}
