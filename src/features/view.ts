import { isPointer } from '../core/artifact.ts'
import { howToRetrieve } from '../core/bodies.ts'
import { receiptId } from '../core/ids.ts'
import type { CanonicalJson, Json, JsonObject } from '../core/json/json.ts'
import { timeoutAt } from '../core/lease.ts'
import { parsePrincipalKey } from '../core/principal.ts'
import type { Receipt } from '../core/receipt.ts'
import type { Lease, Task } from '../core/task.ts'
import { isoTime } from '../core/time.ts'
import { storedJson, storedMembers } from '../engine/stored-json.ts'
import type { TaskRecord } from '../store/reads.ts'
import type { TenantRef } from '../store/store.ts'
import { openQuestionView, payloadOf } from './questions/view.ts'
import type { ReceiptView, TaskView } from './shapes.ts'
import { type CreateInput, deliveryOf } from './tasks/create.ts'
import { storedInput } from './tasks/stored-input.ts'

/** The public shape of a task. The lease id is never in it: it is the worker's secret. */
export function taskView(
  { task, spec, progress, questions }: TaskRecord,
  cancellation?: TaskView['cancellation'],
): TaskView {
  const input = storedInput(spec.input)
  return {
    task_id: task.task_id,
    type: spec.type,
    status: task.status,
    summary: input.summary ?? null,
    payload: payloadOf(input, questions),
    payload_pointer: input.payload_pointer ?? `inline://task/${task.task_id}`,
    body: input.body ?? null,
    inputs: input.inputs ?? {},
    created_by: parsePrincipalKey(task.owner),
    principal_ai: task.principal_ai,
    requirements: requirementsOf(input),
    priority: spec.priority,
    attempt: task.attempt,
    max_attempts: task.max_attempts,
    expiry_count: task.expiry_count,
    max_expiries: task.max_expiries,
    retry_backoff_seconds: task.retry_backoff_seconds,
    idempotency_key: spec.idempotency_key,
    next_eligible_at: task.status === 'queued' ? isoOrNull(task.next_eligible_at) : null,
    created_at: isoTime(spec.created_at),
    updated_at: isoTime(task.updated_at),
    started_at: 'started_at' in task ? isoOrNull(task.started_at) : null,
    timeout_seconds: task.timeout_seconds,
    timeout_at: isoOrNull(attemptEnd(task)),
    deadline_at: isoOrNull(task.deadline_at),
    parent_task_id: input.parent_task_id ?? null,
    caused_by_receipt_id: input.caused_by_receipt_id ?? null,
    session_id: spec.session_id,
    labels: input.labels ?? {},
    success_criteria: input.success_criteria ?? null,
    result_delivery: deliveryOf(input),
    expected_outcome_kind: input.expected_outcome_kind ?? null,
    expected_artifact_mime: input.expected_artifact_mime ?? null,
    asyncgate_instance: spec.instance,
    question: openQuestionView(task, questions),
    policy: storedOrNull(spec.policy),
    ...(progress !== null && { progress: progressView(progress) }),
    ...endingView(task),
    ...(cancellation !== undefined && { cancellation }),
  }
}

function endingView(task: Task): Pick<TaskView, 'lease' | 'dead_letter' | 'result'> {
  switch (task.status) {
    case 'queued':
    case 'pending_approval':
    case 'input_required':
      return {}
    case 'leased':
    case 'running':
      return { lease: leaseView(task.lease) }
    default: {
      const { outcome } = task
      return {
        ...(outcome.dead_letter && { dead_letter: true }),
        result: {
          outcome: task.status,
          result: storedOrNull(outcome.result),
          error: storedOrNull(outcome.error),
          artifacts: storedOrNull(outcome.artifacts),
          completed_at: isoTime(outcome.completed_at),
          ...(isPointer(outcome.result, outcome.artifacts) && {
            how_to_retrieve: howToRetrieve(task.task_id),
          }),
        },
      }
    }
  }
}

function leaseView({ worker_id, instance_id, expires_at }: Lease): NonNullable<TaskView['lease']> {
  return {
    worker_id,
    ...(instance_id !== null && { worker_instance_id: instance_id }),
    expires_at: isoTime(expires_at),
  }
}

export function progressView(entry: { at: number; progress: CanonicalJson }): JsonObject {
  return { ...storedMembers(entry.progress), updated_at: isoTime(entry.at) }
}

export function receiptView(
  tenant: TenantRef,
  receipt: Receipt,
  deliveredAt: number | null = null,
): ReceiptView {
  return {
    receipt_id: receiptId(tenant.salt, receipt.seq),
    seq: receipt.seq,
    receipt_type: receipt.receipt_type,
    created_at: isoTime(receipt.created_at),
    tenant_id: tenant.name,
    from: parsePrincipalKey(receipt.from),
    to: parsePrincipalKey(receipt.to),
    task_id: receipt.task_id,
    lease_id: receipt.lease_id,
    schedule_id: receipt.schedule_id,
    parents: receipt.parents.map((seq) => receiptId(tenant.salt, seq)),
    body: storedJson(receipt.body),
    hash: receipt.hash,
    asyncgate_instance: receipt.instance,
    delivered_at: isoOrNull(deliveredAt),
  }
}

/** The input of create, all of it parsed. */
export function inputOf(input: CanonicalJson): CreateInput {
  return JSON.parse(input)
}

export function requirementsOf(input: CreateInput): TaskView['requirements'] {
  return { capabilities: input.requirements?.capabilities ?? [], tags: input.requirements?.tags ?? [] }
}

function attemptEnd(task: Task): number | null {
  return task.status === 'leased' || task.status === 'running' ? timeoutAt(task, task.lease) : null
}

export function isoOrNull(time: number | null): string | null {
  return time === null ? null : isoTime(time)
}

export function storedOrNull(text: CanonicalJson | null): Json {
  return text === null ? null : storedJson(text)
}
