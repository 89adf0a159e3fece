import { z } from 'zod'
import { STATUSES, type Status, TERMINAL_STATUSES } from '../../core/transitions.ts'
import { childrenShape, waitingShape } from '../flow/flow-view.ts'
import { dependency } from '../flow/relation-input.ts'
import { json, jsonObject, principalShape, time } from '../input.ts'
import { openQuestionShape } from '../questions/view.ts'
import { retryPolicy } from '../task-types/type-options.ts'
import { webhookShape } from '../webhooks/webhook-url.ts'

export const statusShape = z.enum(STATUSES).describe('Current status of the task')

export const requirementsShape = z
  .object({
    capabilities: z
      .array(z.string())
      .readonly()
      .describe('Capabilities that a worker must have, all of them'),
    tags: z.array(z.string()).readonly().describe('Tags of the task; not used to match workers'),
  })
  .describe('What a worker must have to claim the task')

const textOrNull = z.string().nullable()

const PARENT_TASK = 'Task that this one is part of; null if none was given'
const CAUSE = 'Receipt that led to the task; null if none was given'
const KEY = 'Idempotency key under which the task was created; null if it has none'

/** What a task and the work that it hands to a worker have in common. */
const workFields = {
  type: z.string().describe('Kind of work'),
  summary: textOrNull.describe('The work in one sentence; null if none was given'),
  payload: json.describe('Input of the work, as it was approved last; an empty object if there is none'),
  payload_pointer: z.string().describe('Where the payload is: inline://task/ID if the task itself has it'),
  body: textOrNull.describe('Full instructions; null if none were given'),
  inputs: json.describe('Named inputs; an empty object if there are none'),
  principal_ai: z.string().describe('Agent on whose behalf the task is done'),
  priority: z.int().describe('Tasks with a higher priority are claimed first'),
  max_attempts: z.int().describe('Number of attempts, including the first, before the task fails'),
  timeout_seconds: z.int().nullable().describe('Seconds that one attempt may take; null if not limited'),
  deadline_at: time.nullable().describe('Time by which the task must have ended; null if it has no deadline'),
  requirements: requirementsShape,
  success_criteria: textOrNull.describe('When the work counts as done, in words; null if not given'),
  result_delivery: z.string().describe('Where and how the result is expected, in words'),
  expected_outcome_kind: textOrNull.describe('Kind of result that the owner expects; null if not given'),
  expected_artifact_mime: textOrNull.describe('Media type that the owner expects; null if not given'),
  session_id: textOrNull.describe('Label that groups tasks; null if the task has none'),
}

export const taskShape = z.object({
  task_id: z.string().describe('Id of the task'),
  type: workFields.type,
  status: statusShape,
  summary: workFields.summary,
  payload: workFields.payload,
  payload_pointer: workFields.payload_pointer,
  body: workFields.body,
  inputs: workFields.inputs,
  created_by: principalShape.describe('Owner of the task'),
  principal_ai: workFields.principal_ai,
  requirements: workFields.requirements,
  priority: workFields.priority,
  attempt: z.int().describe('Number of failed attempts that were followed by another one'),
  max_attempts: workFields.max_attempts,
  expiry_count: z.int().describe('Number of leases that expired'),
  max_expiries: z.int().describe('Number of expired leases after which the task fails'),
  retry_backoff_seconds: z
    .int()
    .describe('Seconds before the second attempt; doubled before each further one'),
  retry: retryPolicy
    .nullable()
    .describe('Pauses between attempts, and which errors are retried; null if not set'),
  idempotency_key: textOrNull.describe(KEY),
  next_eligible_at: time
    .nullable()
    .describe('Time before which the task cannot be claimed; null if it can be now'),
  created_at: time.describe('Time of creation'),
  updated_at: time.describe('Time of the last change'),
  started_at: time
    .nullable()
    .describe('Time at which the current or last attempt started running; null before that'),
  timeout_seconds: workFields.timeout_seconds,
  timeout_at: time.nullable().describe('Time at which the current attempt times out; null if it cannot'),
  deadline_at: workFields.deadline_at,
  retention_days: z
    .int()
    .nullable()
    .describe('Days after its end at which the contents of the task are removed; null if they stay'),
  escalation_class: z
    .int()
    .nullable()
    .describe('Class of ESCALATION_TARGETS that is notified if the task is escalated; null if not set'),
  parent_task_id: textOrNull.describe(PARENT_TASK),
  caused_by_receipt_id: textOrNull.describe(CAUSE),
  session_id: workFields.session_id,
  labels: z.record(z.string(), z.string()).describe('Names and values to find the task by'),
  success_criteria: workFields.success_criteria,
  result_delivery: workFields.result_delivery,
  expected_outcome_kind: workFields.expected_outcome_kind,
  expected_artifact_mime: workFields.expected_artifact_mime,
  asyncgate_instance: z.string().describe('Server that created the task'),
  question: openQuestionShape
    .nullable()
    .describe('The open question while the task is pending_approval or input_required; otherwise null'),
  policy: json.describe(
    'Decision of the policies about the task (action, rule_id, reason, redacted_fields); null if no rule applied',
  ),
  progress: jsonObject.optional().describe('The latest progress report, with updated_at'),
  worker_id: textOrNull.describe('Worker that holds the task or ended it; null if there is none'),
  lease: z
    .object({
      worker_id: z.string().describe('Worker that holds the lease'),
      worker_instance_id: z.string().optional().describe('Process of the worker, if it named one'),
      expires_at: time.describe('Time at which the lease expires'),
    })
    .optional()
    .describe('The current lease; present while the task is leased or running'),
  dead_letter: z
    .boolean()
    .optional()
    .describe('True if the task failed because attempts or expiries ran out'),
  result: z
    .object({
      outcome: z.enum(TERMINAL_STATUSES).describe('How the task ended'),
      result: json.describe('The result; null unless the task succeeded'),
      error: json.describe('The error; null if the task succeeded'),
      artifacts: json.describe('Where the result is stored, as the worker reported it; null if not reported'),
      completed_at: time.describe('Time at which the task ended'),
      how_to_retrieve: z
        .object({
          operation: z.literal('fetch_task_result').describe('Operation that returns the stored result'),
          task_id: z.string().describe('Id of the task'),
          download: z.string().describe('Path from which the stored result can be downloaded'),
        })
        .optional()
        .describe('How to get the stored result; present if the result field only says where it is'),
    })
    .optional()
    .describe('Outcome of the task; present once it has ended'),
  depends_on: z
    .array(dependency)
    .readonly()
    .optional()
    .describe('Tasks that had to end before this one could be claimed; present if any were named'),
  waiting_for: waitingShape
    .optional()
    .describe('What the task waits for without a lease; present while it is queued and waits'),
  children: childrenShape
    .optional()
    .describe('Numbers of the tasks that are part of this one; present in single views if there are any'),
  cancellation: z
    .object({
      requested_at: time.describe('Time at which the task was canceled'),
      requested_by: principalShape.describe('Principal that canceled the task'),
      reason: textOrNull.describe('Why the task was canceled; null if no reason was given'),
      acknowledged_at: time.nullable().describe('Time at which the worker learned of it; null if not yet'),
      stopped_at: time
        .nullable()
        .describe('Time at which the worker reported that it had stopped; null if not yet'),
    })
    .optional()
    .describe('Progress of the cancellation; present if the task was canceled while a worker held it'),
  webhook: webhookShape,
  console_url: z.string().optional().describe('Page of the task in the web console'),
  hint: z.string().optional().describe('What the task is waiting for, and who can resolve it'),
})

/** The work of a task: everything that a worker receives apart from its lease, and what an approver decides on. */
export const workShape = z.object({
  ...workFields,
  provenance: z
    .object({
      parent_task_id: textOrNull.describe(PARENT_TASK),
      caused_by_receipt_id: textOrNull.describe(CAUSE),
      dedupe_key: textOrNull.describe(KEY),
    })
    .describe('Where the task comes from'),
})

const count = (status: string) => z.int().nonnegative().describe(`Number of tasks that are ${status}`)

export const taskCountsShape = z.object({
  queued: count('queued'),
  leased: count('leased'),
  running: count('running'),
  pending_approval: count('waiting for approval'),
  input_required: count('waiting for input'),
  succeeded: count('succeeded'),
  failed: count('failed'),
  canceled: count('canceled'),
  more: z.boolean().describe('Whether the count stopped at its limit, so that each number is a lower bound'),
} satisfies Record<Status | 'more', z.ZodType>)

export type TaskView = z.output<typeof taskShape>
export type WorkView = z.output<typeof workShape>
export type TaskCounts = z.output<typeof taskCountsShape>
