import { body, resultReadyBody } from '../bodies.ts'
import type { Draft } from '../draft.ts'
import type { Flow } from '../flow.ts'
import { type CanonicalJson, canonical } from '../json/json.ts'
import { GATE, type PrincipalKey } from '../principal.ts'
import { asDone, type EndedLease, isHeld, type OpenTask, type Outcome } from '../task.ts'
import { isoTime } from '../time.ts'
import { type Cause, isTerminal, type TerminalStatus, transition } from '../transitions.ts'

/** What is absent is null or false in the outcome. */
type Ending = Partial<Omit<Outcome, 'completed_at'>> & Pick<Outcome, 'error' | 'receipt_seq'>

/** Ends a task and returns its final status. */
export function finish(draft: Draft, task: OpenTask, cause: Cause, ending: Ending): TerminalStatus {
  const status = transition(task.status, cause)
  if (!isTerminal(status)) throw new Error(`${cause} does not end a ${task.status} task`)
  end(draft, task, status, ending)
  return status
}

/**
 * Writes the last row of a task, notifies its owner and the agent on whose behalf it was done, and closes its
 * obligation unless it stays open.
 */
export function end(draft: Draft, task: OpenTask, status: TerminalStatus, ending: Ending): void {
  const { now } = draft.world
  const outcome: Outcome = {
    completed_at: now,
    result: ending.result ?? null,
    error: ending.error,
    artifacts: ending.artifacts ?? null,
    delivery_proof: ending.delivery_proof ?? null,
    receipt_seq: ending.receipt_seq,
    obligation_open: ending.obligation_open ?? false,
    dead_letter: ending.dead_letter ?? false,
  }
  draft.task(
    asDone(task, {
      updated_at: now,
      status,
      lease: endedLease(task),
      started_at: isHeld(task) ? task.started_at : null,
      outcome,
    }),
  )
  const seq = draft.receipt({
    type: 'task.result_ready',
    from: GATE,
    to: task.owner,
    task_id: task.task_id,
    parents: [task.seq],
    body: resultReadyBody(task.task_id, status, outcome),
  })
  const onBehalf: PrincipalKey = `agent:${task.principal_ai}`
  if (onBehalf !== task.owner) draft.file(onBehalf, seq)
  if (!outcome.obligation_open) draft.close(task)
  if (task.flow !== null) endFlow(draft, task, task.flow, status)
}

/** The parent counts the end of its child. Links are followed after the commit, in portions. */
function endFlow(draft: Draft, { tenant, seq, task_id }: OpenTask, flow: Flow, status: TerminalStatus): void {
  if (flow.linked) draft.flow.unsettled.push({ tenant, seq, task_id })
  if (flow.parent === null) return
  const none = { tenant, parent: flow.parent, total: 0, succeeded: 0, failed: 0, canceled: 0 }
  draft.flow.counts.push({ ...none, [status]: 1 })
}

function endedLease(task: OpenTask): EndedLease | null {
  if (!isHeld(task)) return null
  const { lease_id, holder, worker_id } = task.lease
  return { lease_id, holder, worker_id }
}

/** Writes the receipt of a failure after which the task is not tried again. Returns its seq. */
export function failureReceipt(
  draft: Draft,
  task: OpenTask,
  error: CanonicalJson,
  reported: {
    readonly from: PrincipalKey
    readonly retryable: boolean
    readonly retry_after_ms: number | null
    /** The lease of the task if absent. */
    readonly lease_id?: null
  },
): number {
  const { from, retryable, retry_after_ms, lease_id = isHeld(task) ? task.lease.lease_id : null } = reported
  return draft.receipt({
    type: 'task.failed',
    from,
    to: task.owner,
    task_id: task.task_id,
    lease_id,
    parents: [task.seq],
    body: body({
      error,
      retry_after_seconds: retry_after_ms === null ? null : canonical(Math.ceil(retry_after_ms / 1000)),
      retry_recommended: canonical(retryable),
    }),
  })
}

const BY_GATE = { from: GATE, retryable: false, retry_after_ms: null } as const

/** Ends a task with a failure that the gate has detected. */
export function failByGate(
  draft: Draft,
  task: OpenTask,
  cause: Cause,
  error: CanonicalJson,
  dead_letter = false,
): TerminalStatus {
  const receipt_seq = failureReceipt(draft, task, error, BY_GATE)
  return finish(draft, task, cause, { error, receipt_seq, dead_letter })
}

/** Fails a task that has not ended by its deadline, whatever its status. It is not tried again. */
export function missDeadline(draft: Draft, task: OpenTask): TerminalStatus {
  const by = isoTime(task.deadline_at ?? draft.world.now)
  const error = canonical({ code: 'DEADLINE_EXCEEDED', message: `The task did not end by ${by}.` })
  return failByGate(draft, task, 'miss_deadline', error)
}
