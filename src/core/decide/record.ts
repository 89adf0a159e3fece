import { body } from '../bodies.ts'
import type { Answers, Record, ReportRefusal } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { canonical, type JsonObject } from '../json/json.ts'
import { GATE } from '../principal.ts'
import type { TaskCore } from '../task.ts'

/** Records a change that belongs to no task. It creates no obligation. */
export function record(draft: Draft, command: Record): Decision<Answers['record']> {
  const { type, from, to, body } = command
  return draft.done({ seq: draft.receipt({ type, from, to, body }) })
}

/** What is worth a look by the owner, and what to do about it. Informational: no state depends on it. */
const ADVICE = {
  max_attempts_exceeded: 'The task is queued although its attempts are used up. Cancel it or report a bug.',
  repeated_lease_expiry: 'Workers keep losing this task. Look at their logs, or ask for longer leases.',
  excessive_renewals: 'The work takes longer than leases allow. Ask for longer leases or split the task.',
  locatability_missing:
    'The success does not say where its result is. The worker should send complete again with artifacts or delivery_proof.',
  invalid_lease_call:
    'A worker reported on this task without a valid lease, and was refused. If that repeats, ask for longer leases or look at its logs.',
  result_displaced:
    'The result channel did not accept the result, so it is stored in details.kept_in. The operator has to repair the channel; details.reason says what is wrong.',
  stale_schedule:
    'The schedule should have run long ago. details.reason says what is in the way; put it right, or delete the schedule.',
} as const

export type AnomalyKind = keyof typeof ADVICE

export function anomaly(
  draft: Draft,
  task: TaskCore,
  kind: AnomalyKind,
  details: JsonObject,
  parent: number = task.seq,
  schedule_id?: string,
): number {
  return draft.receipt({
    type: 'system.anomaly',
    from: GATE,
    to: task.owner,
    task_id: task.task_id,
    ...(schedule_id !== undefined && { schedule_id }),
    parents: [parent],
    body: body({
      details: canonical(details),
      kind: canonical(kind),
      recommended_action: canonical(ADVICE[kind]),
    }),
  })
}

/** Refusals cost their caller nothing, so the number of them that are recorded is limited. */
const EVERY_MS = 60_000

/** Tells the owner of a call without a valid lease, unless the task had an anomaly within the last minute. */
export function reportRefusal(draft: Draft, command: ReportRefusal): Decision<Answers['report_refusal']> {
  const { world } = draft
  const task = world.task(command.task_id)
  if (task === undefined) return draft.done({ seq: null })
  const last = world.child(task.seq, 'system.anomaly')
  if (last !== undefined && world.now - last.created_at < EVERY_MS) return draft.done({ seq: null })
  const { call, by, worker_id } = command
  return draft.done({
    seq: anomaly(draft, task, 'invalid_lease_call', { call, by, worker_id, task_status: task.status }),
  })
}
