import { z } from 'zod'
import type { RestoredContents } from '../core/command.ts'
import { type CanonicalJson, canonical, parseCanonical } from '../core/json/json.ts'
import { QUESTION_KINDS } from '../core/question.ts'
import type { Receipt } from '../core/receipt.ts'
import { isHeld, isOpen } from '../core/task.ts'
import { json, jsonObject } from '../features/input.ts'
import type { ArchivedTask } from '../features/retention/archive-file.ts'
import { retryPolicy } from '../features/task-types/type-options.ts'
import type { TaskRecord } from '../store/reads.ts'
import { isObject } from '../util/guards.ts'

const time = z.int()

/** What a receipt of an export only refers to. The members depend on its type. */
export const contentsShape = z.object({
  task: z
    .object({
      type: z.string(),
      priority: z.int(),
      capabilities: z.array(z.string()),
      principal_ai: z.string(),
      session_id: z.string().nullable(),
      labels: jsonObject.nullable(),
      idempotency_key: z.string().nullable(),
      /** As create_task has received it. */
      input: jsonObject,
      policy: json.nullable(),
      max_attempts: z.int(),
      max_expiries: z.int(),
      retry_backoff_seconds: z.number(),
      timeout_seconds: z.number().nullable(),
      deadline_at: time.nullable(),
      retention_days: z.int().nullable(),
      escalation_class: z.int().nullable(),
      /** Absent in exports of earlier versions. */
      scheduling: z.object({ retry: retryPolicy.optional() }).nullable().default(null),
    })
    .optional(),
  lease: z
    .object({
      worker_id: z.string(),
      instance_id: z.string().nullable(),
      expires_at: time,
      renewals: z.int(),
    })
    .optional(),
  question: z.object({ kind: z.enum(QUESTION_KINDS), request: json, not_before: time.nullable() }).optional(),
  answer: json.optional(),
  result: json.optional(),
})

export type Contents = z.output<typeof contentsShape>

/** What a receipt refers to, as far as the database has it. */
export function contentsOf(
  receipt: Receipt,
  record: TaskRecord,
  capabilities: readonly string[],
): Contents | null {
  switch (receipt.receipt_type) {
    case 'task.assigned':
      return { task: taskOf(record, capabilities) }
    case 'task.accepted':
      return leaseOf(receipt, record)
    case 'question.asked': {
      const question = record.questions.find(({ seq }) => seq === receipt.seq)
      if (question === undefined) return null
      const { kind, request, not_before } = question
      return { question: { kind, request: parseCanonical(request), not_before } }
    }
    case 'question.answered': {
      const question = record.questions.find(({ decided_seq }) => decided_seq === receipt.seq)
      const answer = question?.answer ?? null
      return answer === null ? null : { answer: parseCanonical(answer) }
    }
    case 'task.completed':
      return resultOf(receipt, record)
    default:
      return null
  }
}

function taskOf({ task, spec }: TaskRecord, capabilities: readonly string[]): Contents['task'] {
  const input = parseCanonical(spec.input)
  const { type, priority, session_id, idempotency_key } = spec
  const labels = spec.labels === null ? null : parseCanonical(spec.labels)
  return {
    ...{ type, priority, capabilities: [...capabilities], session_id, idempotency_key },
    principal_ai: task.principal_ai,
    labels: isObject(labels) ? labels : null,
    input: isObject(input) ? input : {},
    policy: spec.policy === null ? null : parseCanonical(spec.policy),
    max_attempts: task.max_attempts,
    max_expiries: task.max_expiries,
    retry_backoff_seconds: task.retry_backoff_seconds,
    timeout_seconds: task.timeout_seconds,
    deadline_at: task.deadline_at,
    retention_days: task.retention_days,
    escalation_class: task.escalation_class,
    scheduling: task.scheduling,
  }
}

/** What is left of a task that was archived. Its contents are gone. */
export function archivedContents(receipt: Receipt, archived: ArchivedTask | undefined): Contents | null {
  if (receipt.receipt_type !== 'task.assigned' || archived === undefined) return null
  const { type, principal_ai, session_id } = archived
  return {
    task: {
      ...{ type, principal_ai, session_id, input: { type }, capabilities: [], labels: null, policy: null },
      ...{ priority: 0, idempotency_key: null, max_attempts: archived.attempt + 1, max_expiries: 1 },
      ...{ retry_backoff_seconds: 0, timeout_seconds: null, deadline_at: null, retention_days: null },
      escalation_class: null,
      scheduling: null,
    },
  }
}

/** Only the newest lease of a task is known. One that has ended is valid no longer. */
function leaseOf({ lease_id, created_at }: Receipt, { task }: TaskRecord): Contents | null {
  if (isOpen(task)) {
    if (!isHeld(task) || task.lease.lease_id !== lease_id) return null
    const { worker_id, instance_id, expires_at, renewals } = task.lease
    return { lease: { worker_id, instance_id, expires_at, renewals } }
  }
  if (task.lease === null || task.lease.lease_id !== lease_id) return null
  const { worker_id } = task.lease
  return { lease: { worker_id, instance_id: null, expires_at: created_at, renewals: 0 } }
}

/** A result that was too large for its receipt. */
function resultOf({ body }: Receipt, { task }: TaskRecord): Contents | null {
  const said = parseCanonical(body)
  if (isOpen(task) || !isObject(said) || said.result_hash === undefined) return null
  return task.outcome.result === null ? null : { result: parseCanonical(task.outcome.result) }
}

/** The contents as the core restores them. */
export function restoredContents(contents: Contents | null): RestoredContents {
  const { task, lease, question, answer, result } = contents ?? {}
  return {
    lease,
    task: task && {
      ...task,
      labels: textOf(task.labels),
      input: canonical(task.input),
      policy: textOf(task.policy),
      delay_ms: typeof task.input.delay_seconds === 'number' ? task.input.delay_seconds * 1000 : 0,
    },
    question: question && { ...question, request: canonical(question.request) },
    answer: answer === undefined ? undefined : canonical(answer),
    result: result === undefined ? undefined : canonical(result),
  }
}

function textOf(value: unknown): CanonicalJson | null {
  return value === null ? null : canonical(value)
}
