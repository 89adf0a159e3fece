import { isoTime } from '../../core/time.ts'
import type { Handout } from '../../engine/commit-queue.ts'
import { answerView, payloadOf } from '../questions/view.ts'
import { deliveryOf, requirementsOf, storedInput } from '../tasks/task-input.ts'
import type { OfferView } from './shape.ts'

/** What a worker gets: the task and the lease under which it may be done. */
export function offerView({ task, lease, fence, spec, questions }: Handout, now: number): OfferView {
  const input = storedInput(spec.input)
  return {
    task_id: task.task_id,
    lease_id: lease.lease_id,
    fence,
    type: spec.type,
    summary: input.summary ?? null,
    payload: payloadOf(input, questions),
    payload_pointer: input.payload_pointer ?? `inline://task/${task.task_id}`,
    body: input.body ?? null,
    inputs: input.inputs ?? {},
    principal_ai: task.principal_ai,
    priority: spec.priority,
    attempt: task.attempt,
    max_attempts: task.max_attempts,
    expires_at: isoTime(lease.expires_at),
    expires_in_ms: lease.expires_at - now,
    timeout_seconds: task.timeout_seconds,
    deadline_at: task.deadline_at === null ? null : isoTime(task.deadline_at),
    requirements: requirementsOf(input),
    success_criteria: input.success_criteria ?? null,
    result_delivery: deliveryOf(input),
    expected_outcome_kind: input.expected_outcome_kind ?? null,
    expected_artifact_mime: input.expected_artifact_mime ?? null,
    session_id: spec.session_id,
    provenance: {
      parent_task_id: input.parent_task_id ?? null,
      caused_by_receipt_id: input.caused_by_receipt_id ?? null,
      dedupe_key: spec.idempotency_key,
    },
    answers: questions.length === 0 ? undefined : questions.map(answerView),
  }
}
