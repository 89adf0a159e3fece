import { body } from '../bodies.ts'
import type { Answers, Progress, Release, Renew, Start } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { Fault } from '../errors.ts'
import { canonical } from '../json/json.ts'
import { checkLease, leaseEnd } from '../lease.ts'
import type { Settings } from '../settings.ts'
import type { HeldTask } from '../task.ts'
import { isoTime } from '../time.ts'
import { transition } from '../transitions.ts'
import { anomaly } from './record.ts'
import { countExpiry, requeue } from './requeue.ts'

/** A repeated call changes nothing and gets the same response. */
export function start(draft: Draft, command: Start): Decision<Answers['start']> {
  const task = checkLease(draft.world.task(command.task_id), command, draft.world.now)
  const running = begin(draft, task, command)
  if (running !== task) draft.task(running)
  return draft.done({ status: 'running', started_at: running.started_at ?? draft.world.now })
}

/** The task as running, with the receipt that says so, unless it runs already. */
function begin(draft: Draft, task: HeldTask, command: Start | Progress): HeldTask {
  if (task.status === 'running') return task
  const { now } = draft.world
  const status = transition(task.status, 'start')
  draft.receipt({
    type: 'task.started',
    from: command.holder,
    to: task.owner,
    task_id: task.task_id,
    lease_id: command.lease_id,
    parents: [task.seq],
    body: body({ started_at: canonical(isoTime(now)) }),
  })
  return { ...task, status, started_at: now, updated_at: now }
}

export function renew(draft: Draft, command: Renew): Decision<Answers['renew']> {
  const { world } = draft
  const task = checkLease(world.task(command.task_id), command, world.now)
  const renewed = extend(draft, task, command.extend_ms, command.unlimited !== true)
  if (renewed instanceof Fault) return draft.refuse(renewed)
  draft.task(renewed)
  return draft.done({
    expires_at: renewed.lease.expires_at,
    renewals_left: world.settings.max_lease_renewals - renewed.lease.renewals,
    now: world.now,
  })
}

/**
 * The task with a longer lease, or why not. It never gets shorter: a renewal that asks for less than is left counts, and
 * changes nothing else. A refusal may still leave an anomaly behind.
 */
function extend(draft: Draft, task: HeldTask, extendMs: number, isCounted = true): HeldTask | Fault {
  const { now, settings } = draft.world
  const { lease } = task
  const limit = settings.max_lease_renewals
  if (isCounted && lease.renewals >= limit) {
    // The counter passes the limit once, with the anomaly: later refusals are silent.
    if (lease.renewals === limit) {
      draft.task({ ...task, lease: { ...lease, renewals: limit + 1 } })
      anomaly(draft, task, 'excessive_renewals', { renewals: limit, worker_id: lease.worker_id })
    }
    return new Fault('LEASE_RENEWAL_LIMIT_EXCEEDED', { max_renewals: limit })
  }
  const end = leaseEnd(task, lease.acquired_at, settings)
  if (lease.expires_at >= end) return new Fault('LEASE_LIFETIME_EXCEEDED', { expires_in_ms: end - now })
  const expires_at = Math.min(Math.max(now + extendMs, lease.expires_at), end)
  const renewals = isCounted ? lease.renewals + 1 : lease.renewals
  return { ...task, lease: { ...lease, expires_at, renewals }, updated_at: now }
}

/**
 * Requeues the task: it is ready immediately or after the pause, and no attempt is used. A lease that is recovered
 * from a dead process was not released by its holder, so it counts as an expiry.
 */
export function release(draft: Draft, command: Release): Decision<Answers['release']> {
  const { now } = draft.world
  const task = checkLease(draft.world.task(command.task_id), command, now)
  const { pause_ms = 0, recovered_by = null } = command
  draft.receipt({
    type: 'lease.released',
    from: command.holder,
    to: task.owner,
    task_id: task.task_id,
    lease_id: command.lease_id,
    parents: [task.seq],
    body: body({
      attempt: canonical(task.attempt),
      reclaimed_by_instance_id: canonical(recovered_by),
      worker_id: canonical(command.worker_id),
    }),
  })
  if (recovered_by !== null) {
    const { expiry_count, exhausted } = countExpiry(draft, task)
    if (exhausted) return draft.done({ status: 'failed' })
    return draft.done({ status: requeue(draft, task, 'expire', { expiry_count }) })
  }
  const next_eligible_at = pause_ms > 0 ? now + pause_ms : null
  return draft.done({ status: requeue(draft, task, 'release', { next_eligible_at }) })
}

/**
 * Whether a task may have another receipt about its progress. Every claim, report and question has one; receipts about
 * the state of a task are always written.
 */
function mayHaveReceipt(
  { max_receipts_per_task: limit }: Settings,
  { fence, progress_count, question_count }: HeldTask,
): boolean {
  return limit < 0 || 1 + fence + progress_count + question_count < limit
}

/** The first progress says that the work has begun. */
export function progress(draft: Draft, command: Progress): Decision<Answers['progress']> {
  const { world } = draft
  const held = checkLease(world.task(command.task_id), command, world.now)
  const extended = command.extend_ms === null ? held : extend(draft, held, command.extend_ms)
  if (extended instanceof Fault) return draft.refuse(extended)
  const begun = begin(draft, extended, command)
  const task = { ...begun, progress_count: begun.progress_count + 1 }
  draft.task(task)
  draft.progress({
    tenant: task.tenant,
    task_id: task.task_id,
    n: task.progress_count,
    at: world.now,
    lease_id: command.lease_id,
    progress: command.progress,
  })
  if ((world.settings.progress_receipts || command.milestone) && mayHaveReceipt(world.settings, begun)) {
    draft.receipt({
      type: 'task.progress',
      from: command.holder,
      to: task.owner,
      task_id: task.task_id,
      lease_id: command.lease_id,
      parents: [task.seq],
      attention: command.milestone,
      body: body({ progress: command.progress, ...(command.milestone && { milestone: canonical(true) }) }),
    })
  }
  return draft.done({ expires_at: task.lease.expires_at, now: world.now })
}
