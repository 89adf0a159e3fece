import { z } from 'zod'
import type { CanonicalJson } from '../../core/json/json.ts'
import { membersIn } from '../../core/json/members.ts'
import { LARGE, storedJson } from '../../engine/stored-json.ts'
import { isObject } from '../../util/guards.ts'
import { relationFields } from '../flow/relation-input.ts'
import { json, jsonObject, labels, ONE_YEAR, seconds, text } from '../input.ts'
import { retryPolicy } from '../task-types/type-options.ts'
import { webhookUrl } from '../webhooks/webhook-url.ts'

const idempotencyKey = text(255)
  .optional()
  .describe('Requests with the same key, such as report-42, create one task, however often they are sent')

/** 100 years. */
export const MAX_RETENTION_DAYS = 36_500

const deadline = z.iso.datetime({ offset: true }).optional()

/** The fields of retry_task that do not come from the task it repeats. */
export const retryFields = {
  idempotency_key: idempotencyKey,
  deadline_at: deadline.describe(
    'Deadline of the new task, at most 365 days ahead. The deadline of the original task is not copied',
  ),
  payload: json
    .optional()
    .describe(
      'Payload of the new task, if it differs from that of the original. The rules are checked again',
    ),
}

export const createInput = z.strictObject({
  type: text(255).describe('Kind of work, such as summarise; list_task_types shows them'),
  principal_ai: text(255)
    .optional()
    .describe('Agent on whose behalf the task is done; the caller if absent. It may read the task'),
  payload: json
    .optional()
    .describe(
      'Input of the work, such as {"document": "report.pdf"}; at most 1 MiB unless the server sets another limit',
    ),
  payload_pointer: text(2048).optional().describe('Where the input is, if it is stored elsewhere'),
  summary: text(2000).optional().describe('The work in one sentence, for people and lists'),
  body: text(100 * 1024)
    .optional()
    .describe('Full instructions'),
  inputs: jsonObject.optional().describe('Named inputs; at most 128 KiB'),
  requirements: z
    .strictObject({
      capabilities: z
        .array(text(128))
        .max(32)
        .optional()
        .describe('Capabilities that a worker must have, all of them; compared exactly'),
      tags: z.array(text(128)).max(32).optional().describe('Stored with the task; not used to match workers'),
    })
    .optional()
    .describe('What a worker must have to claim the task'),
  priority: z
    .int()
    .min(-1000)
    .max(1000)
    .optional()
    .describe('Tasks with a higher priority are claimed first. Default: that of the task type or the server'),
  idempotency_key: idempotencyKey,
  max_attempts: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe('Number of attempts, including the first, before the task fails. Default: task type or server'),
  max_expiries: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe('Number of expired leases after which the task fails. Default: that of the server'),
  retry_backoff_seconds: seconds(ONE_YEAR)
    .optional()
    .describe('Seconds before the second attempt; doubled before each further one. Default: type or server'),
  retry: retryPolicy
    .optional()
    .describe('Pauses between attempts, and which errors are retried. Default: that of the task type'),
  delay_seconds: seconds(ONE_YEAR).optional().describe('Seconds before the task can be claimed; 0 if absent'),
  timeout_seconds: seconds(ONE_YEAR, 1)
    .optional()
    .describe('Seconds that one attempt may take, from its claim. Default: task type or server'),
  deadline_at: deadline.describe(
    'Time by which the task must have ended, such as 2027-01-31T18:00:00Z; then it fails with DEADLINE_EXCEEDED',
  ),
  retention_days: z
    .int()
    .min(1)
    .max(MAX_RETENTION_DAYS)
    .optional()
    .describe('Days after its end at which the contents of the task are removed. Default: type or server'),
  escalation_class: z
    .int()
    .min(0)
    .max(1000)
    .optional()
    .describe(
      'Class of ESCALATION_TARGETS that is notified if the task is escalated. Default: task type or server',
    ),
  success_criteria: text(4000)
    .optional()
    .describe('When the work counts as done, in words. Shown to the worker and in the task.assigned receipt'),
  result_delivery: text(500)
    .optional()
    .describe(
      'Where and how the result is expected, in words, such as "store artifact pointer"; return_payload if absent',
    ),
  expected_outcome_kind: text(50)
    .optional()
    .describe('Kind of result that the owner expects: a word that owner and worker agree on'),
  expected_artifact_mime: text(255).optional().describe('Media type of the result that the owner expects'),
  ...relationFields,
  caused_by_receipt_id: text(64)
    .optional()
    .describe('Receipt that led to this task. It must exist, and becomes a parent in the ledger'),
  session_id: text(255)
    .optional()
    .describe('Free label that groups tasks, to list, follow or cancel them together'),
  webhook_url: webhookUrl
    .optional()
    .describe(
      'URL that receives a signed message when the task has ended; see docs/webhooks.md. Default: that of the task type',
    ),
  labels: labels
    .optional()
    .describe('Names and values to find tasks by, such as {"team": "search"}; at most 32'),
})

export type CreateInput = z.output<typeof createInput>

/** The members that can be large and deep. */
const DEEP: ReadonlySet<string> = new Set(['payload', 'inputs'])

/** The input of create_task, which was validated when the task was created. A large payload is not parsed yet. */
export function storedInput(text: CanonicalJson): CreateInput {
  if (text.length < LARGE) return JSON.parse(text)
  const members = membersIn(text)
  const others = members.filter(([name]) => !DEEP.has(name))
  const input: CreateInput = JSON.parse(`{${others.map(([name, member]) => `"${name}":${member}`)}}`)
  for (const [name, member] of members) {
    if (name === 'payload') input.payload = storedJson(member)
    if (name === 'inputs') {
      const inputs = storedJson(member)
      if (isObject(inputs)) input.inputs = inputs
    }
  }
  return input
}

/** The same, with every member parsed. */
export function inputOf(text: CanonicalJson): CreateInput {
  return JSON.parse(text)
}

export function deliveryOf({ result_delivery }: CreateInput): string {
  return result_delivery ?? 'return_payload'
}

export function requirementsOf({ requirements }: CreateInput): { capabilities: string[]; tags: string[] } {
  return { capabilities: requirements?.capabilities ?? [], tags: requirements?.tags ?? [] }
}
