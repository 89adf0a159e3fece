import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'
import { findOperation } from '../../features/catalogue.ts'
import { ENDS, READS, WRITES, WRITES_ONCE } from '../../features/define-operation.ts'
import { sendEmail } from '../../features/email/send-email.ts'
import { fullEmailShape } from '../../features/email/shape.ts'
import type { Gate } from '../../features/gate.ts'
import { taskId, text } from '../../features/input.ts'
import { asOldPriority } from '../../features/legacy-priority.ts'
import { fetchResultInput, MAX_LENGTH } from '../../features/results/fetch-task-result.ts'
import { serverShape } from '../../features/server/server.ts'
import {
  type AnyLegacyTool,
  LEGACY_STATUSES,
  legacyStatus,
  legacyTool,
  type Notification,
  notificationOf,
  notificationShape,
} from './legacy-tool.ts'

const task = z.strictObject({ task_id: taskId })

export const resultTools: readonly AnyLegacyTool[] = [
  legacyTool({
    name: 'fetch_task_result',
    now: 'fetch_task_result',
    title: 'Fetch a result',
    description:
      'The result of a completed task, wherever it is kept. A large one comes in pages: go on with offset = next_offset until it is null. Its notification then counts as read.',
    input: fetchResultInput.extend({ length: fetchResultInput.shape.length.default(MAX_LENGTH) }),
    output: outputOf('fetch_task_result'),
    actor: 'anyone',
    effect: READS,
    run: ({ gate }, caller, input) => gate.fetchTaskResult(caller, input),
  }),
  legacyTool({
    name: 'fetch_task_email',
    now: 'fetch_task_email',
    title: 'Fetch the mail of a task',
    description:
      'The mail with the result of a task: its body (JSON if it carries JSON) and attachments in base64.',
    input: task,
    output: fullEmailShape.pick({ subject: true, body: true, attachments: true, message_id: true }),
    actor: 'anyone',
    effect: WRITES_ONCE,
    async run({ gate }, caller, input) {
      const { subject, body, attachments, message_id } = await gate.fetchTaskEmail(caller, input)
      return { subject, body, attachments, message_id }
    },
  }),
  legacyTool({
    name: 'archive_task_result',
    now: 'archive_task_result',
    title: 'Archive a result',
    description: 'Says that the stored result of a task is no longer needed. The task and its receipts stay.',
    input: task,
    output: z.object({ task_id: z.string(), archived: z.boolean(), archived_at: z.iso.datetime() }),
    actor: 'agent',
    effect: ENDS,
    async run({ gate }, caller, input) {
      const { task_id, ok, archived_at } = await gate.archiveTaskResult(caller, input)
      return { task_id, archived: ok, archived_at }
    },
  }),
  legacyTool({
    name: 'send_email',
    now: 'send_email',
    title: 'Send a mail',
    description: 'Send a mail to another AI of this gate, or to an address that the operator allows.',
    input: sendEmail.input.pick({
      to: true,
      subject: true,
      body: true,
      attachments: true,
      archive_copy: true,
    }),
    output: z.object({ message_id: z.string(), status: z.string() }),
    actor: 'agent',
    effect: WRITES,
    async run({ gate }, caller, input) {
      const { message_id, status } = await gate.sendEmail(caller, {
        ...input,
        archive_copy: input.archive_copy ?? true,
      })
      return { message_id, status }
    },
  }),
  legacyTool({
    name: 'store_task_result_in_memory',
    now: 'promote_task_result',
    title: 'Store a result in memory',
    description:
      'Hands the result of a task to the memory that the operator has configured, marks its notification as promoted, and with auto_archive puts it away. With purge_payload a result that is stored in a channel is then removed; one that the task itself carries stays readable, and result_archived is false.',
    input: z.strictObject({
      task_id: taskId,
      as_observation: z.boolean().default(true).meta({ description: 'As an observation, else as a pattern' }),
      domain: z.string().min(1).max(255).nullish().meta({ description: 'The type of the task if absent' }),
      auto_archive: z.boolean().default(true),
      purge_payload: z.boolean().default(true),
    }),
    output: z.object({
      memory_id: z.string().nullable().meta({ description: 'If the memory tells one' }),
      notification_archived: z.boolean(),
      promoted_at: z.iso.datetime().nullable(),
      result_archived: z.boolean(),
    }),
    actor: 'agent',
    effect: WRITES_ONCE,
    async run(
      { gate },
      caller,
      { task_id, as_observation, domain, auto_archive, purge_payload },
      { signal },
    ) {
      const asked = {
        task_id,
        kind: as_observation ? 'observation' : 'pattern',
        ...(typeof domain === 'string' && { domain }),
        archive: auto_archive,
        purge: purge_payload,
      }
      const promoted = await gate.promoteTaskResult(caller, asked, signal)
      return {
        memory_id: promoted.memory_id,
        notification_archived: promoted.is_archived,
        promoted_at: promoted.promoted_at,
        result_archived: promoted.is_purged,
      }
    },
  }),
]

/** For tools whose output has not changed. */
function outputOf(name: string): z.ZodType<object> {
  const operation = findOperation(name)
  if (operation === undefined) throw new Error(`there is no operation ${name}`)
  return operation.output
}

/** The number of notifications at the start of a session. */
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
          status: z.enum(LEGACY_STATUSES),
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
          status: legacyStatus(task),
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
    throw invalid('notification_id', 'differs from id')
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
