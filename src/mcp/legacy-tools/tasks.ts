import { z } from 'zod'
import { ENDS, READS, WRITES } from '../../features/define-operation.ts'
import { json, jsonObject, taskId, text } from '../../features/input.ts'
import { asOldPriority, newPriority, oldPriority } from '../../features/legacy-priority.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { type AnyLegacyTool, LEGACY_STATUSES, legacyStatus, legacyTool, progressOf } from './legacy-tool.ts'

const status = z.enum(LEGACY_STATUSES)
const time = z.iso.datetime()
const agent = text(255)

export const taskTools: readonly AnyLegacyTool[] = [
  legacyTool({
    name: 'queue_task',
    now: 'create_task',
    title: 'Queue a task',
    description:
      'Queue a new async task, and go on. You get a notification when it completes or fails; there is no need to poll. With an idempotency_key the same request is never done twice.',
    input: z.strictObject({
      task_type: text(255),
      params: jsonObject.default({}),
      priority: oldPriority.optional().meta({ description: '1 to 10, 10 is the highest; 5 if absent' }),
      recipient_ai: agent.optional().meta({ description: 'Who is told when it is done; you if absent' }),
      idempotency_key: text(255).optional(),
      caused_by_receipt_id: text(64).optional(),
    }),
    output: z.object({
      task_id: z.string(),
      status: z.enum(['queued', 'duplicate']),
      is_duplicate: z.boolean(),
      estimated_runtime_seconds: z.int().nullable(),
      poll_suggestion_seconds: z.int().nullable(),
      inbox_on_complete: z.literal(true),
      receipt_id: z.string(),
    }),
    actor: 'agent',
    effect: WRITES,
    identity: ({ recipient_ai }) => ({ ...(recipient_ai !== undefined && { principal_ai: recipient_ai }) }),
    async run({ gate }, caller, { task_type, params, priority, recipient_ai, ...rest }) {
      const created = await gate.createTask(caller, {
        type: task_type,
        payload: params,
        ...(priority !== undefined && { priority: newPriority(priority) }),
        ...(recipient_ai !== undefined && { principal_ai: recipient_ai }),
        ...present(rest),
      })
      const { task_id, is_duplicate, receipt_id } = created
      return {
        task_id,
        status: is_duplicate ? 'duplicate' : 'queued',
        is_duplicate,
        estimated_runtime_seconds: created.estimated_runtime_seconds ?? null,
        poll_suggestion_seconds: created.poll_suggestion_seconds ?? null,
        inbox_on_complete: true,
        receipt_id,
      }
    },
  }),
  legacyTool({
    name: 'check_task_status',
    now: 'get_task',
    title: 'Check a task',
    description:
      'How far a task is: its status, progress and retries. Fetch the result of a complete one with fetch_task_result.',
    input: z.strictObject({ task_id: taskId }),
    output: z.object({
      task_id: z.string(),
      task_type: z.string(),
      status,
      progress_percent: z.number().nullable(),
      progress_message: z.string().nullable(),
      created_at: time,
      started_at: time.nullable(),
      completed_at: time.nullable(),
      retry_count: z.int(),
      can_retry: z.boolean(),
      error: json,
    }),
    actor: 'anyone',
    effect: READS,
    async run({ gate }, caller, input) {
      const task = await gate.peekTask(caller, input)
      const { percent, message } = progressOf(task.progress)
      return {
        task_id: task.task_id,
        task_type: task.type,
        status: legacyStatus(task),
        progress_percent: percent,
        progress_message: message,
        created_at: task.created_at,
        started_at: task.started_at,
        completed_at: task.result?.completed_at ?? null,
        retry_count: task.attempt,
        can_retry: task.result === undefined && task.attempt + 1 < task.max_attempts,
        error: task.result?.error ?? null,
      }
    },
  }),
  legacyTool({
    name: 'get_task_progress',
    now: 'get_task_progress',
    title: 'Progress of a task',
    description: 'All progress reports of a task, oldest first.',
    input: z.strictObject({ task_id: taskId }),
    output: z.object({ task_id: z.string(), progress: z.array(jsonObject) }),
    actor: 'anyone',
    effect: READS,
    async run({ gate }, caller, { task_id }) {
      const { progress } = await gate.getTaskProgress(caller, { task_id, limit: 200 })
      return { task_id, progress }
    },
  }),
  legacyTool({
    name: 'list_active_tasks',
    now: 'list_tasks',
    title: 'List active tasks',
    description: 'Tasks that are queued or running for you, oldest first.',
    input: z.strictObject({
      task_type: text(255).optional(),
      recipient_ai: agent.optional().meta({ description: 'Only those for this AI; you if absent' }),
    }),
    output: z.object({
      tasks: z.array(
        z.object({
          task_id: z.string(),
          type: z.string(),
          status,
          priority: z.int(),
          created_at: time,
          recipient_ai: z.string(),
          progress: z.object({ percent: z.number().nullable(), message: z.string().nullable() }),
        }),
      ),
    }),
    actor: 'agent',
    effect: READS,
    identity: ({ recipient_ai }) => ({ ...(recipient_ai !== undefined && { principal_ai: recipient_ai }) }),
    async run({ gate }, caller, { task_type, recipient_ai }) {
      const { tasks } = await gate.activeTasks(caller, {
        ...(task_type !== undefined && { type: task_type }),
        principal_ai: recipient_ai ?? caller.principal.id,
        limit: 200,
      })
      return { tasks: tasks.map(activeTask) }
    },
  }),
  legacyTool({
    name: 'cancel_task',
    now: 'cancel_task',
    title: 'Cancel a task',
    description: 'Cancel a queued or running task of yours.',
    input: z.strictObject({ task_id: taskId }),
    output: z.object({ task_id: z.string(), cancelled: z.boolean(), status }),
    actor: 'agent',
    effect: ENDS,
    async run({ gate }, caller, { task_id }) {
      const { ok } = await gate.cancelTask(caller, { task_id })
      const task = await gate.peekTask(caller, { task_id })
      return { task_id, cancelled: ok, status: legacyStatus(task) }
    },
  }),
]

function activeTask(task: TaskView) {
  return {
    task_id: task.task_id,
    type: task.type,
    status: legacyStatus(task),
    priority: asOldPriority(task.priority),
    created_at: task.created_at,
    recipient_ai: task.principal_ai,
    progress: progressOf(task.progress),
  }
}

function present(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
