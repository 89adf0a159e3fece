import { assemble } from '../../core/bodies.ts'
import { type CanonicalJson, canonical, type Json } from '../../core/json/json.ts'
import type { Question } from '../../core/question.ts'
import type { TaskCore, TaskSpec } from '../../core/task.ts'
import { isoOrNull } from '../../core/time.ts'
import { canonicalText } from '../../engine/stored-json.ts'
import type { TaskRecord } from '../../store/reads.ts'
import { sha256 } from '../../util/hash.ts'
import { payloadOf } from '../questions/view.ts'
import type { WorkView } from './shape.ts'
import { type CreateInput, deliveryOf, requirementsOf, storedInput } from './task-input.ts'

/** What the server decided about a task, besides its input. */
export type WorkFacts = Pick<TaskSpec, 'type' | 'priority' | 'session_id' | 'idempotency_key'> &
  Pick<TaskCore, 'principal_ai' | 'max_attempts' | 'timeout_seconds' | 'deadline_at'>

/** The work of a task. The pointer is null unless the owner gave one. */
type Work = Omit<WorkView, 'payload_pointer'> & { readonly payload_pointer: string | null }

/** Everything that a worker receives with a task, apart from its lease. */
export function workOf(facts: WorkFacts, input: CreateInput, payload: Json): Work {
  return {
    type: facts.type,
    summary: input.summary ?? null,
    payload,
    payload_pointer: input.payload_pointer ?? null,
    body: input.body ?? null,
    inputs: input.inputs ?? {},
    principal_ai: facts.principal_ai,
    priority: facts.priority,
    max_attempts: facts.max_attempts,
    timeout_seconds: facts.timeout_seconds,
    deadline_at: isoOrNull(facts.deadline_at),
    requirements: requirementsOf(input),
    success_criteria: input.success_criteria ?? null,
    result_delivery: deliveryOf(input),
    expected_outcome_kind: input.expected_outcome_kind ?? null,
    expected_artifact_mime: input.expected_artifact_mime ?? null,
    session_id: facts.session_id,
    provenance: {
      parent_task_id: input.parent_task_id ?? null,
      caused_by_receipt_id: input.caused_by_receipt_id ?? null,
      dedupe_key: facts.idempotency_key,
    },
  }
}

/** The work that question `n` of a task is about: with the edits up to that question, without later ones. */
export function workAt(record: TaskRecord, n: number): Work {
  const input = storedInput(record.spec.input)
  return workOf(factsOf(record), input, payloadUpTo(record, input, n))
}

/** The same work with another payload. */
export function workWith(record: TaskRecord, payload: Json): Work {
  return workOf(factsOf(record), storedInput(record.spec.input), payload)
}

export function payloadAt(record: TaskRecord, n: number): Json {
  return payloadUpTo(record, storedInput(record.spec.input), n)
}

function payloadUpTo({ questions }: TaskRecord, input: CreateInput, n: number): Json {
  return payloadOf(
    input,
    questions.filter((question) => question.n <= n),
  )
}

export function factsOf({ task, spec }: Pick<TaskRecord, 'task' | 'spec'>): WorkFacts {
  const { type, priority, session_id, idempotency_key } = spec
  const { principal_ai, max_attempts, timeout_seconds, deadline_at } = task
  return {
    type,
    priority,
    session_id,
    idempotency_key,
    principal_ai,
    max_attempts,
    timeout_seconds,
    deadline_at,
  }
}

/** Equal only for the same request about the same work. */
export function contentHash({ kind, request }: Pick<Question, 'kind' | 'request'>, work: Work): string {
  const members: Record<string, CanonicalJson> = {}
  for (const [name, value] of Object.entries(work)) members[name] = canonicalText(value)
  const text = assemble({ kind: canonical(kind), request, task: assemble(members) })
  return sha256(text)
}

/** The hash of a question of this task. It is computed for questions that are older than the column. */
export function contentHashOf(record: TaskRecord, question: Question): string {
  return question.content_hash ?? contentHash(question, workAt(record, question.n))
}
