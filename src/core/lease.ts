import type { LeaseClaim } from './command.ts'
import { Fault } from './errors.ts'
import type { Settings } from './settings.ts'
import type { EndedLease, HeldTask, Lease, Task, TaskCore } from './task.ts'
import { cutAtDeadline } from './time.ts'

/** The task, if the caller holds its lease at this instant; a fault otherwise, whether or not a sweep has run. */
export function checkLease(task: Task | undefined, claim: LeaseClaim, now: number): HeldTask {
  if (task === undefined) throw new Fault('TASK_NOT_FOUND', { task_id: claim.task_id })
  if (task.status !== 'leased' && task.status !== 'running') throw staleLease(task)
  if (!matches(task.lease, claim) || now >= task.lease.expires_at) throw staleLease(task)
  return task
}

export function matches(lease: EndedLease, claim: LeaseClaim): boolean {
  return (
    lease.lease_id === claim.lease_id && lease.holder === claim.holder && lease.worker_id === claim.worker_id
  )
}

export function staleLease(task: Task): Fault {
  return new Fault('LEASE_INVALID_OR_EXPIRED', { task_id: task.task_id, task_status: task.status })
}

/** The instant at which the work itself is over time; null if the task has no limit. */
export function timeoutAt(task: TaskCore, lease: Pick<Lease, 'acquired_at'>): number | null {
  return task.timeout_seconds === null ? null : lease.acquired_at + task.timeout_seconds * 1000
}

/** No lease outlives this, however often it is renewed. */
export function leaseEnd(task: TaskCore, acquiredAt: number, settings: Settings): number {
  const lifetime = acquiredAt + settings.max_lease_lifetime_seconds * 1000
  const timeout = timeoutAt(task, { acquired_at: acquiredAt }) ?? lifetime
  return cutAtDeadline(task, Math.min(lifetime, timeout))
}

/** A failure is tried again if it may be and a try is left. `attempt` counts the failures before this one. */
export function mayRetry(task: { attempt: number; max_attempts: number }, retryable: boolean): boolean {
  return retryable && task.attempt + 1 < task.max_attempts
}

/** Spreads the tasks of leases that expire together. */
const EXPIRY_JITTER_MS = 5000

/** When a task whose lease has expired can be claimed again. `unit` is random, from 0 to 1. */
export function requeueAt(now: number, expiresAt: number, settings: Settings, unit: number): number {
  const jitter = Math.floor(unit * EXPIRY_JITTER_MS)
  return graceEnd(now, expiresAt, settings) + settings.lease_requeue_delay_seconds * 1000 + jitter
}

/** Until then no other worker can claim a task whose lease ended at `expiresAt`; never in the past. */
export function graceEnd(now: number, expiresAt: number, settings: Settings): number {
  return Math.max(now, expiresAt + settings.lease_grace_seconds * 1000)
}
