import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'
import { WRITES, WRITES_ONCE } from '../../features/define-operation.ts'
import type { Gate } from '../../features/gate.ts'
import { text } from '../../features/input.ts'
import { asOldPriority } from '../../features/legacy-priority.ts'
import { serverShape } from '../../features/server/server.ts'
import {
  type Notification,
  notificationOf,
  notificationShape,
  OLD_STATUSES,
  oldStatus,
} from './descriptions.ts'
import { type AnyLegacyTool, legacyTool } from './legacy-tool.ts'

/** How many a session is shown when it begins. */
const SHOWN = 10

const which = z.strictObject({ id: text(64).optional(), notification_id: text(64).optional() })

const time = z.iso.datetime()

export const notificationTools: readonly AnyLegacyTool[] = [
  legacyTool({
    name: 'async_bootstrap',
    now: 'list_inbox',
    title: 'Begin a session',
    description:
      'Call it when a session begins: what you have not read yet (at most 10, the newest), and what is still under way for you. It stays unread until you read, fetch or archive it.',
    input: z.strictObject({
      ai_name: text(255).optional().meta({ description: 'Who you are' }),
      ai_platform: text(255).optional(),
    }),
    output: z.object({
      server: serverShape,
      ai_name: z.string(),
      unread_count: z.int(),
      notifications: z.array(notificationShape),
      active_tasks: z.array(
        z.object({
          task_id: z.string(),
          type: z.string(),
          status: z.enum(OLD_STATUSES),
          priority: z.int(),
          created_at: time,
        }),
      ),
    }),
    actor: 'anyone',
    effect: WRITES,
    identity: ({ ai_name }) => ({ ...(ai_name !== undefined && { agent_id: ai_name }) }),
    async run({ gate }, caller) {
      const { items } = await gate.listInbox(caller, { state: 'unread', order: 'newest', limit: SHOWN })
      const { states } = await gate.inboxStats(caller, { days: 365 })
      const { server } = await gate.listOpenObligations(caller, { limit: 1 })
      const { tasks } = await gate.activeTasks(caller, { limit: 50 })
      return {
        server,
        ai_name: caller.principal.id,
        unread_count: states.unread + states.delivered,
        notifications: items.map(notificationOf),
        active_tasks: tasks.map((task) => ({
          task_id: task.task_id,
          type: task.type,
          status: oldStatus(task),
          priority: asOldPriority(task.priority),
          created_at: task.created_at,
        })),
      }
    },
  }),
  legacyTool({
    name: 'get_notifications',
    now: 'list_inbox',
    title: 'Get notifications',
    description:
      'Your notifications, newest first: completed and failed tasks, and what else needs attention.',
    input: z.strictObject({
      unread_only: z.boolean().default(true),
      limit: z.int().min(1).max(200).default(50),
    }),
    output: z.object({ notifications: z.array(notificationShape) }),
    actor: 'anyone',
    effect: WRITES,
    async run({ gate }, caller, { unread_only, limit }) {
      const state = unread_only ? 'unread' : 'all'
      const { items } = await gate.listInbox(caller, { state, order: 'newest', limit })
      return { notifications: items.map(notificationOf) }
    },
  }),
  legacyTool({
    name: 'read_notification',
    now: 'mark_inbox',
    title: 'Read a notification',
    description: 'Marks a notification as read, and shows it. Fetch the result with fetch_task_result.',
    input: which,
    output: notificationShape,
    actor: 'anyone',
    effect: WRITES_ONCE,
    run: ({ gate }, caller, input) => marked(gate, caller, idOf(input), 'read'),
  }),
  legacyTool({
    name: 'archive_notification',
    now: 'mark_inbox',
    title: 'Archive a notification',
    description: 'Puts a notification away: it is not shown any more. The task and its result stay.',
    input: which,
    output: notificationShape,
    actor: 'anyone',
    effect: WRITES_ONCE,
    run: ({ gate }, caller, input) => marked(gate, caller, idOf(input), 'archived'),
  }),
]

function idOf({ id, notification_id }: z.output<typeof which>): string {
  const named = id ?? notification_id
  if (named === undefined) throw invalid('id', 'is required')
  if (id !== undefined && notification_id !== undefined && id !== notification_id) {
    throw invalid('notification_id', 'is another than id')
  }
  return named
}

async function marked(
  gate: Gate,
  caller: Caller,
  receipt_id: string,
  as: 'read' | 'archived',
): Promise<Notification> {
  await gate.markInbox(caller, { receipt_ids: [receipt_id], as })
  return notificationOf(await gate.getInboxItem(caller, { receipt_id }))
}
