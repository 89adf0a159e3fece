import { z } from 'zod'
import { RECEIPT_TYPES } from '../core/receipt.ts'
import { STATUSES, TERMINAL_STATUSES } from '../core/transitions.ts'
import { principalShape, time } from './fields.ts'
import { json, jsonObject } from './input.ts'
import { answerShape, openQuestionShape } from './questions/shape.ts'

// The public shapes. Answers are built to these types, and the schemas that clients see are made from them.

const deadline = time
  .nullable()
  .meta({ description: 'When the task as a whole has to have ended; null if it has no deadline' })
const id = z.string()

export const statusShape = z.enum(STATUSES)

export const requirementsShape = z.object({
  capabilities: z.array(z.string()).readonly(),
  tags: z.array(z.string()).readonly(),
})

export const taskShape = z.object({
  task_id: id,
  type: z.string(),
  status: statusShape,
  summary: z.string().nullable(),
  payload: json,
  payload_pointer: z.string(),
  body: z.string().nullable(),
  inputs: json,
  created_by: principalShape,
  principal_ai: z.string(),
  requirements: requirementsShape,
  priority: z.int(),
  attempt: z.int().meta({ description: 'Failures that led to another try' }),
  max_attempts: z.int(),
  expiry_count: z.int().meta({ description: 'Leases that lapsed' }),
  max_expiries: z.int(),
  retry_backoff_seconds: z.int(),
  idempotency_key: z.string().nullable(),
  next_eligible_at: time.nullable(),
  created_at: time,
  updated_at: time,
  started_at: time.nullable(),
  timeout_seconds: z.int().nullable(),
  timeout_at: time.nullable(),
  deadline_at: deadline,
  parent_task_id: z.string().nullable(),
  caused_by_receipt_id: z.string().nullable(),
  session_id: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  success_criteria: z.string().nullable(),
  result_delivery: z.string(),
  expected_outcome_kind: z.string().nullable(),
  expected_artifact_mime: z.string().nullable(),
  asyncgate_instance: z.string(),
  question: openQuestionShape
    .nullable()
    .meta({ description: 'What it waits for while it is pending_approval or input_required' }),
  policy: json.meta({ description: 'What a rule said about it: action, rule_id, reason, redacted_fields' }),
  progress: jsonObject.optional().meta({ description: 'The latest progress, with updated_at' }),
  lease: z.object({ worker_id: id, worker_instance_id: z.string().optional(), expires_at: time }).optional(),
  dead_letter: z.boolean().optional().meta({ description: 'True when retries or expiries ran out' }),
  result: z
    .object({
      outcome: z.enum(TERMINAL_STATUSES),
      result: json,
      error: json,
      artifacts: json,
      completed_at: time,
      how_to_retrieve: z
        .object({ operation: z.literal('fetch_task_result'), task_id: id, download: z.string() })
        .optional()
        .meta({ description: 'Present when result only says where the result is' }),
    })
    .optional()
    .meta({ description: 'Present when the task has ended' }),
  cancellation: z
    .object({
      requested_at: time,
      requested_by: principalShape,
      reason: z.string().nullable(),
      acknowledged_at: time.nullable().meta({ description: 'When the worker had heard of it' }),
      stopped_at: time.nullable().meta({ description: 'When the worker said that the work had stopped' }),
    })
    .optional()
    .meta({ description: 'Present when the task was canceled while a worker held it' }),
  console_url: z.string().optional().meta({ description: 'The page of the task, for people' }),
  hint: z.string().optional().meta({ description: 'What the task waits for, and who can help' }),
})

export const receiptShape = z.object({
  receipt_id: id,
  seq: z.int(),
  receipt_type: z.enum(RECEIPT_TYPES),
  created_at: time,
  tenant_id: z.string(),
  from: principalShape,
  to: principalShape,
  task_id: id.nullable(),
  lease_id: id.nullable(),
  schedule_id: id.nullable(),
  parents: z.array(id).readonly(),
  body: json,
  hash: z.string(),
  asyncgate_instance: z.string(),
  delivered_at: time.nullable(),
})

/** What a worker is handed with a task: the work itself, whoever does it. An approver sees all of it. */
export const workShape = z.object({
  type: z.string(),
  summary: z.string().nullable(),
  payload: json,
  payload_pointer: z.string(),
  body: z.string().nullable(),
  inputs: json,
  principal_ai: z.string(),
  priority: z.int(),
  max_attempts: z.int(),
  timeout_seconds: z.int().nullable(),
  deadline_at: deadline,
  requirements: requirementsShape,
  success_criteria: z.string().nullable(),
  result_delivery: z.string(),
  expected_outcome_kind: z.string().nullable(),
  expected_artifact_mime: z.string().nullable(),
  session_id: z.string().nullable(),
  provenance: z.object({
    parent_task_id: z.string().nullable(),
    caused_by_receipt_id: z.string().nullable(),
    dedupe_key: z.string().nullable(),
  }),
})

export const offerShape = z.object({
  task_id: id,
  lease_id: id,
  fence: z.int().meta({ description: 'Higher than that of every earlier lease of the task' }),
  ...workShape.shape,
  attempt: z.int(),
  expires_at: time,
  expires_in_ms: z.int(),
  answers: z
    .array(answerShape)
    .readonly()
    .optional()
    .meta({ description: 'What was asked about this task before, in that order; present if anything was' }),
})

export const serverShape = z.object({
  name: z.literal('AsyncGate'),
  version: z.string(),
  instance_id: z.string(),
  environment: z.string(),
  uptime: z.int().meta({ description: 'Seconds' }),
})

export const relationshipShape = z.object({
  principal_kind: z.string(),
  principal_id: z.string(),
  first_seen_at: time.nullable(),
  last_seen_at: time.nullable(),
  sessions_count: z.int().meta({ description: 'How often an instance came, or came back after 30 minutes' }),
  agent_instance_id: z.string().nullable().meta({ description: 'The instance that reported in last' }),
  agent_version: z.string().nullable().meta({ description: 'As it last said so' }),
  client_capabilities: json.meta({ description: 'As it last said so; null if it never did' }),
})

export type TaskView = z.output<typeof taskShape>
export type ReceiptView = z.output<typeof receiptShape>
export type WorkView = z.output<typeof workShape>
export type OfferView = z.output<typeof offerShape>
export type ServerView = z.output<typeof serverShape>
export type RelationshipView = z.output<typeof relationshipShape>
