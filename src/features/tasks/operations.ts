import { z } from 'zod'
import { LOG_LEVELS } from '../../core/log.ts'
import { ENDS, operation, READS, WRITES } from '../define-operation.ts'
import { jsonObject } from '../input.ts'
import { statusShape, taskShape } from '../shapes.ts'
import { cancelMany, cancelManyInput } from './cancel-many.ts'
import { cancelTask } from './cancel-task.ts'
import { countTasks, countTasksInput, taskCountsShape } from './count-tasks.ts'
import { create, createInput } from './create.ts'
import { createMany, createManyInput } from './create-many.ts'
import { getProgress, getProgressInput } from './get-progress.ts'
import { getTask, getTaskInput } from './get-task.ts'
import { listLogs, listLogsInput } from './list-logs.ts'
import { listTasks, listTasksInput } from './list-tasks.ts'
import { retry, retryInput } from './retry.ts'
import { waitForTask, waitForTaskInput } from './wait-for-task.ts'

const liveWorkers = z.int().optional().meta({ description: 'Workers heard of lately that take this type' })

export const created = z.object({
  task_id: z.string(),
  status: statusShape,
  is_duplicate: z.boolean().meta({ description: 'True if the idempotency_key was known: this is that task' }),
  receipt_id: z.string().meta({ description: 'The task.assigned receipt: the obligation towards you' }),
  estimated_runtime_seconds: z.int().optional().meta({ description: 'What tasks of this type usually take' }),
  poll_suggestion_seconds: z
    .int()
    .optional()
    .meta({ description: 'Suggested delay before the first look, in seconds' }),
  live_workers: liveWorkers,
  console_url: taskShape.shape.console_url,
  hint: taskShape.shape.hint,
})

const logLineShape = z.object({
  at: z.iso.datetime(),
  level: z.enum(LOG_LEVELS),
  text: z.string(),
  context: jsonObject.optional().meta({ type: 'object', description: 'What the worker added to the line' }),
  truncated: z
    .literal(true)
    .optional()
    .meta({ description: 'The log was full: what came after this line was dropped' }),
})

/** The body of an error, as an item of a list of outcomes. */
export const itemError = z.object({
  error: z.string(),
  code: z.string(),
  message: z.string(),
  hint: z.string(),
  retryable: z.boolean(),
  details: z.unknown().optional(),
})

export const taskOperations = [
  operation({
    name: 'create_task',
    title: 'Create a task',
    description:
      'Hand over work to be done by a worker, and go on. Answers at once with a task_id; the work is durable from then on. ' +
      'Give an idempotency_key so that sending the same request again never does the work twice. ' +
      'Then use wait_for_task to get the result, or come back later with get_task.',
    input: createInput,
    output: created,
    actor: 'agent',
    rest: { method: 'POST', path: '/v1/tasks' },
    effect: WRITES,
    call: create,
  }),
  operation({
    name: 'create_tasks',
    title: 'Create many tasks',
    description:
      'Hand over up to 1,000 tasks in one call. Each has its own outcome, in the order of the list: an answer as of create_task, or an error.',
    input: createManyInput,
    output: z.object({ results: z.array(z.union([created, itemError])).readonly() }),
    actor: 'agent',
    rest: { method: 'POST', path: '/v1/tasks/batch' },
    effect: WRITES,
    call: createMany,
  }),
  operation({
    name: 'get_task',
    title: 'Look at a task',
    description:
      'The task as it is now: status, progress, and its result once it has ended (succeeded, failed or canceled). To wait for the end use wait_for_task instead of asking again and again.',
    input: getTaskInput,
    output: taskShape,
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/tasks/{task_id}' },
    effect: READS,
    call: getTask,
  }),
  operation({
    name: 'get_task_progress',
    title: 'Progress reports of a task',
    description:
      'Everything that workers reported about a task, oldest first unless order says newest. Go on with next_cursor until it is null. get_task shows the latest report only.',
    input: getProgressInput,
    output: z.object({
      progress: z
        .array(
          jsonObject.meta({
            description:
              'As reported (percent, message, ...), with updated_at and run_id: the lease it came under',
          }),
        )
        .readonly(),
      next_cursor: z.string().nullable(),
    }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/tasks/{task_id}/progress' },
    effect: READS,
    call: getProgress,
  }),
  operation({
    name: 'list_logs',
    title: 'Log of a task',
    description:
      'What workers logged about a task, oldest first. A line with truncated true says that the log was full. For how far the work is, see get_task.',
    input: listLogsInput,
    output: z.object({ lines: z.array(logLineShape).readonly(), next_cursor: z.string().nullable() }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/tasks/{task_id}/logs' },
    effect: READS,
    call: listLogs,
  }),
  operation({
    name: 'wait_for_task',
    title: 'Wait for a task to end',
    description:
      'Waits up to wait_seconds (at most 50) for the task to end, and answers with the task. If done is false it is still under way: call again after next_check_after_seconds, or do something else meanwhile. ' +
      'It answers early when the task is pending_approval or input_required: question says what it waits for. Tell your people, or give the input with answer_question. ' +
      'With until: done it goes on waiting then, until the task has ended.',
    input: waitForTaskInput,
    output: taskShape.extend({
      done: z.boolean(),
      next_check_after_seconds: z.number(),
      live_workers: liveWorkers,
    }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/tasks/{task_id}/wait' },
    effect: READS,
    call: waitForTask,
  }),
  operation({
    name: 'list_tasks',
    title: 'List tasks',
    description:
      'Your tasks, newest first, by status, type, session_id, created_by or labels. A page may be short: go on with next_cursor until it is null.',
    input: listTasksInput,
    output: z.object({ tasks: z.array(taskShape).readonly(), next_cursor: z.string().nullable() }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/tasks' },
    effect: READS,
    call: listTasks,
  }),
  operation({
    name: 'count_tasks',
    title: 'Count tasks by status',
    description:
      'How many of your tasks have each status, by type, session_id, created_by or labels. ' +
      'If more is true, the count stopped at its limit and each number is a lower bound.',
    input: countTasksInput,
    output: taskCountsShape,
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/tasks/counts' },
    effect: READS,
    call: countTasks,
  }),
  cancelTask,
  operation({
    name: 'cancel_tasks',
    title: 'Cancel many tasks',
    description:
      'Stops all your open tasks that fit a filter (session_id, type, status, created_by, labels; or all: true), or those named in task_ids. ' +
      'Only tasks that were created before the call are meant. While more is true, call again with cursor: next_cursor.',
    input: cancelManyInput,
    output: z.object({
      count: z.int().meta({ description: 'Tasks that this call ended' }),
      matched: z.int().meta({ description: 'Open tasks that fitted, or tasks that were named' }),
      skipped: z
        .int()
        .meta({ description: 'Those of them that had ended just before, or are not yours or not there' }),
      more: z.boolean(),
      next_cursor: z.string().nullable(),
    }),
    actor: 'agent',
    rest: { method: 'POST', path: '/v1/tasks/cancel' },
    effect: ENDS,
    isLong: true,
    call: cancelMany,
  }),
  operation({
    name: 'retry_task',
    title: 'Do a task again',
    description:
      'Asks for the work of a failed or canceled task again, as a new task with the same input. The old one stays as it is. ' +
      'Give an idempotency_key so that sending the same request again makes no second task.',
    input: retryInput,
    output: created,
    actor: 'agent',
    rest: { method: 'POST', path: '/v1/tasks/{task_id}/retry' },
    effect: WRITES,
    call: retry,
  }),
] as const
