import { isPointer } from '../../core/artifact.ts'
import { howToRetrieve } from '../../core/bodies.ts'
import { isInterrupted } from '../../core/cancellation.ts'
import type { CanonicalJson, JsonObject } from '../../core/json/json.ts'
import { timeoutAt } from '../../core/lease.ts'
import { parsePrincipalKey } from '../../core/principal.ts'
import type { Lease, QueuedTask, Task } from '../../core/task.ts'
import { FOREVER, isoOrNull, isoTime } from '../../core/time.ts'
import { storedMembers, storedOrNull } from '../../engine/stored-json.ts'
import type { TaskRecord } from '../../store/reads.ts'
import { nextTurn } from '../../util/turns.ts'
import { childrenView, waitingView } from '../flow/flow-view.ts'
import { openQuestionView, payloadOf } from '../questions/view.ts'
import { webhookView } from '../webhooks/delivery.ts'
import type { Cancellations } from './cancellations.ts'
import { type OutlookDeps, outlook } from './outlook.ts'
import type { TaskView } from './shape.ts'
import { deliveryOf, requirementsOf, storedInput } from './task-input.ts'

/** The public form of a task. It never contains the lease id, which is a secret of the worker. */
export function taskView(
  { task, spec, progress, questions }: TaskRecord,
  cancellation?: TaskView['cancellation'],
): TaskView {
  const input = storedInput(spec.input)
  const waiting_for = waitingView(task)
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
    retry: task.scheduling?.retry ?? null,
    idempotency_key: spec.idempotency_key,
    next_eligible_at: task.status === 'queued' ? isoOrNull(dueAt(task)) : null,
    created_at: isoTime(spec.created_at),
    updated_at: isoTime(task.updated_at),
    started_at: 'started_at' in task ? isoOrNull(task.started_at) : null,
    timeout_seconds: task.timeout_seconds,
    timeout_at: isoOrNull(attemptEnd(task)),
    deadline_at: isoOrNull(task.deadline_at),
    retention_days: task.retention_days,
    escalation_class: task.escalation_class,
    parent_task_id: input.parent_task_id ?? null,
    caused_by_receipt_id: input.caused_by_receipt_id ?? null,
    session_id: spec.session_id,
    labels: spec.labels === null ? {} : JSON.parse(spec.labels),
    success_criteria: input.success_criteria ?? null,
    result_delivery: deliveryOf(input),
    expected_outcome_kind: input.expected_outcome_kind ?? null,
    expected_artifact_mime: input.expected_artifact_mime ?? null,
    asyncgate_instance: spec.instance,
    question: openQuestionView(task, questions),
    policy: storedOrNull(spec.policy),
    worker_id: ('lease' in task && task.lease?.worker_id) || null,
    ...(progress !== null && { progress: progressView(progress) }),
    ...endingView(task),
    ...(input.depends_on !== undefined && { depends_on: input.depends_on }),
    ...(waiting_for !== undefined && { waiting_for }),
    ...(cancellation !== undefined && { cancellation }),
  }
}

/** A task that waits for something else than a time has no such time. */
function dueAt({ next_eligible_at }: QueuedTask): number | null {
  return next_eligible_at === FOREVER ? null : next_eligible_at
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

function attemptEnd(task: Task): number | null {
  return task.status === 'leased' || task.status === 'running' ? timeoutAt(task, task.lease) : null
}

export interface ViewDeps extends OutlookDeps {
  readonly cancellations: Cancellations
}

/** The view of one task, with its cancellation, its page in the console and what it is waiting for. */
export async function viewOf(deps: ViewDeps, record: TaskRecord): Promise<TaskView> {
  const { cancellations, links } = deps
  const { tenant, task_id, status } = record.task
  const shown = isInterrupted(record.task) ? await cancellations.shownFor(tenant, [record]) : undefined
  const { hint } = await outlook(deps, tenant, record.spec.type, task_id, status)
  const children = record.task.flow?.linked ? await childCounts(deps, record.task) : undefined
  const webhook = await webhookView(deps, record)
  return {
    ...taskView(record, shown?.get(task_id)),
    ...(children !== undefined && { children }),
    ...(webhook && { webhook }),
    ...links.console(task_id, status),
    ...(hint !== undefined && { hint }),
  }
}

/** Undefined if it has none: others wait for it. */
async function childCounts({ engine }: ViewDeps, { tenant, seq }: Task): Promise<TaskView['children']> {
  const counts = await engine.reading(() => engine.store.flow.childCounts(tenant, seq))
  return counts.total === 0 ? undefined : childrenView(counts)
}

export async function viewsOf(
  cancellations: Cancellations,
  tenant: number,
  records: readonly TaskRecord[],
): Promise<TaskView[]> {
  const shown = await cancellations.shownFor(tenant, records)
  return inTurns(records, (record) => taskView(record, shown.get(record.task.task_id)))
}

/** Stored text that is parsed in one turn of the event loop. */
const TURN_BYTES = 1024 * 1024

/** A view of each record. Yields to the event loop after each megabyte of stored input. */
export async function inTurns<View>(
  records: readonly TaskRecord[],
  view: (record: TaskRecord) => View,
): Promise<View[]> {
  const views: View[] = []
  let length = 0
  for (const record of records) {
    views.push(view(record))
    length += record.spec.input.length
    if (length < TURN_BYTES) continue
    await nextTurn()
    length = 0
  }
  return views
}
