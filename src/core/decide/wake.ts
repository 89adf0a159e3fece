import { body } from '../bodies.ts'
import type { Answers, Reclaim, Wake } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { canonical } from '../json/json.ts'
import { checkLease, graceEnd, requeueAt, timeoutAt } from '../lease.ts'
import { GATE, GATEWAY, principalKey } from '../principal.ts'
import { backoffMs } from '../scheduling.ts'
import { asQueued, type HeldTask, isHeld, isOpen, wakeAt } from '../task.ts'
import { isPastDeadline } from '../time.ts'
import { type Status, transition } from '../transitions.ts'
import { acceptance, grant } from './claim.ts'
import { expireQuestion } from './expire-question.ts'
import { failed } from './fail.ts'
import { missDeadline } from './finish.ts'
import { countExpiry, escalate, requeue } from './requeue.ts'
import { settle } from './settle.ts'

/** Idempotent: a task that is not due, or that has changed since, is not touched. The links of an ended one are followed. */
export function wake(draft: Draft, command: Wake): Decision<Answers['wake']> {
  const { now } = draft.world
  const task = draft.world.task(command.task_id)
  if (task === undefined) return draft.done({ status: null })
  if (!isOpen(task)) {
    if (task.flow?.linked) settle(draft, task)
    return draft.done({ status: task.status })
  }
  if (task.status === 'queued' && isPastDeadline(task, now)) {
    return draft.done({ status: missDeadline(draft, task) })
  }
  const due = wakeAt(task)
  if (due === null || due > now) return draft.done({ status: task.status })

  if (task.status === 'queued') {
    draft.task({ ...task, next_eligible_at: null })
    return draft.done({ status: 'queued' })
  }
  if (!isHeld(task)) return draft.done({ status: expireQuestion(draft, task).status })
  // What counts is when the lease ended, not when that was noticed.
  return draft.done({ status: endLease(draft, task) })
}

function endLease(draft: Draft, task: HeldTask): Status {
  const { expires_at } = task.lease
  if (isPastDeadline(task, expires_at)) return missDeadline(draft, task)
  const timeout = timeoutAt(task, task.lease)
  return timeout !== null && timeout <= expires_at ? timeOut(draft, task) : expire(draft, task)
}

/**
 * The work took longer than the task allows: a failure like one that the worker reports. A call of the gateway is not
 * repeated then, since only the gateway knows whether it was sent and may be sent twice.
 */
function timeOut(draft: Draft, task: HeldTask): Status {
  const error = canonical({
    code: 'EXECUTION_TIMEOUT',
    message: `The work did not end within ${task.timeout_seconds} s.`,
  })
  const { now, settings, random } = draft.world
  const grace = graceEnd(now, task.lease.expires_at, settings) - now
  const backoff = backoffMs(task, settings, random)
  const retry_after_ms = grace > backoff ? grace : null
  const retryable = task.lease.holder !== principalKey(GATEWAY)
  const { requeued } = failed(draft, task, { from: GATE, error, retryable, retry_after_ms })
  return requeued ? 'queued' : 'failed'
}

/** The worker did not renew its lease. That uses no attempt, but the number of expiries has a separate limit. */
function expire(draft: Draft, task: HeldTask): Status {
  const expiry_count = task.expiry_count + 1
  const exhausted = expiry_count >= task.max_expiries
  draft.receipt({
    type: 'lease.expired',
    from: GATE,
    to: task.owner,
    task_id: task.task_id,
    lease_id: task.lease.lease_id,
    parents: [task.seq],
    // A task that another worker will claim needs no attention.
    attention: exhausted,
    body: body({
      attempt: canonical(task.attempt),
      expiry_count: canonical(expiry_count),
      previous_worker_id: canonical(task.lease.worker_id),
      requeued: canonical(!exhausted),
      task_id: canonical(task.task_id),
    }),
  })
  escalate(draft, task, exhausted ? 'max_retries_exceeded' : 'lease_expired')
  if (countExpiry(draft, task).exhausted) return 'failed'
  const { now, settings, random } = draft.world
  const next_eligible_at = requeueAt(now, task.lease.expires_at, settings, random.unit())
  return requeue(draft, task, 'expire', { expiry_count, next_eligible_at })
}

/**
 * The lease passes to another process of the same worker under a new id and a higher fence. No attempt is spent. It
 * counts as an expiry, so that work that ends its process each time comes to an end itself.
 */
export function reclaim(draft: Draft, command: Reclaim): Decision<Answers['reclaim']> {
  const { now } = draft.world
  const task = checkLease(draft.world.task(command.task_id), command, now)
  draft.receipt({
    type: 'lease.released',
    from: command.holder,
    to: task.owner,
    task_id: task.task_id,
    lease_id: command.lease_id,
    parents: [task.seq],
    body: body({
      attempt: canonical(task.attempt),
      reclaimed_by_instance_id: canonical(command.instance_id),
      worker_id: canonical(command.worker_id),
    }),
  })
  const { expiry_count, exhausted } = countExpiry(draft, task)
  if (exhausted) return draft.done({ granted: [], now })
  const { attempt } = task
  const queued = asQueued(task, {
    status: transition(task.status, 'release'),
    attempt,
    expiry_count,
    updated_at: now,
    next_eligible_at: null,
  })
  return draft.done({ granted: [grant(draft, queued, command, acceptance(command))], now })
}
