import { body } from '../bodies.ts'
import type { Answers, Fail } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { type CanonicalJson, canonical } from '../json/json.ts'
import { checkLease, matches, mayRetry } from '../lease.ts'
import type { PrincipalKey } from '../principal.ts'
import { backoffMs, isRetried } from '../scheduling.ts'
import type { DoneTask, HeldTask } from '../task.ts'
import { isoTime, isPastDeadline } from '../time.ts'
import { failureReceipt, finish } from './finish.ts'
import { escalate, requeue } from './requeue.ts'

export function fail(draft: Draft, command: Fail): Decision<Answers['fail']> {
  const known = draft.world.task(command.task_id)
  if (known?.status === 'failed' && isSameReport(known, command)) {
    return draft.done({ requeued: false, next_eligible_at: null, seq: known.outcome.receipt_seq })
  }
  const task = checkLease(known, command, draft.world.now)
  return draft.done(failed(draft, task, { from: command.holder, ...command }))
}

/** Whether the same lease holder repeats its report. A failure that the gate has detected has a different error. */
function isSameReport(task: DoneTask, command: Fail): boolean {
  return task.lease !== null && matches(task.lease, command) && task.outcome.error === command.error
}

interface Failure {
  readonly from: PrincipalKey
  readonly error: CanonicalJson
  readonly retryable: boolean
  readonly retry_after_ms: number | null
}

/** Handles a failure: the task is retried while attempts and time before its deadline are left, and fails otherwise. */
export function failed(draft: Draft, task: HeldTask, reported: Failure): Answers['fail'] {
  const { now, settings, random } = draft.world
  const retryable = reported.retryable && isRetried(task, reported.error)
  const failure = retryable === reported.retryable ? reported : { ...reported, retryable }
  const delay = failure.retry_after_ms ?? backoffMs(task, settings, random)
  const again = mayRetry(task, retryable) && !isPastDeadline(task, now + delay)
  return again ? tryAgain(draft, task, failure, delay) : giveUp(draft, task, failure)
}

function tryAgain(draft: Draft, task: HeldTask, failure: Failure, delay: number): Answers['fail'] {
  const attempt = task.attempt + 1
  const next_eligible_at = draft.world.now + delay
  const seq = draft.receipt({
    type: 'task.retry_scheduled',
    from: failure.from,
    to: task.owner,
    task_id: task.task_id,
    lease_id: task.lease.lease_id,
    parents: [task.seq],
    body: body({
      attempt: canonical(attempt),
      error: failure.error,
      max_attempts: canonical(task.max_attempts),
      next_eligible_at: canonical(isoTime(next_eligible_at)),
      requeued: canonical(true),
    }),
  })
  requeue(draft, task, 'retry', { attempt, next_eligible_at: delay > 0 ? next_eligible_at : null })
  return { requeued: true, next_eligible_at, seq }
}

function giveUp(draft: Draft, task: HeldTask, failure: Failure): Answers['fail'] {
  if (failure.retryable) escalate(draft, task, 'max_retries_exceeded')
  const { error, retryable } = failure
  const seq = failureReceipt(draft, task, error, failure)
  finish(draft, task, 'fail', { error, receipt_seq: seq, dead_letter: retryable })
  return { requeued: false, next_eligible_at: null, seq }
}
