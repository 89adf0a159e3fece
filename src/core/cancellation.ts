import type { LeaseClaim } from './command.ts'
import { Fault } from './errors.ts'
import { matches, staleLease } from './lease.ts'
import { type DoneTask, type EndedLease, isOpen, type Task } from './task.ts'

/** What a worker says about the cancel of a task that it held: it has heard of it; its work has stopped. */
export const CANCEL_STAGES = ['acknowledged', 'stopped'] as const
export type CancelStage = (typeof CANCEL_STAGES)[number]

/** How far a cancel has come with the worker. */
export interface CancelReport {
  readonly acknowledged_at: number | null
  readonly stopped_at: number | null
}

export const UNHEARD: CancelReport = { acknowledged_at: null, stopped_at: null }

/** A task that was canceled while a worker held it. */
export interface InterruptedTask extends DoneTask {
  readonly lease: EndedLease
}

export function isInterrupted(task: Task): task is InterruptedTask {
  return task.status === 'canceled' && task.lease !== null
}

/** The first report of each stage counts. A worker that has stopped has also acknowledged. */
export function afterReport(before: CancelReport, stage: CancelStage, now: number): CancelReport {
  const acknowledged_at = before.acknowledged_at ?? now
  if (stage === 'acknowledged') return { acknowledged_at, stopped_at: before.stopped_at }
  return { acknowledged_at, stopped_at: before.stopped_at ?? now }
}

export function isSameReport(one: CancelReport, other: CancelReport): boolean {
  return one.acknowledged_at === other.acknowledged_at && one.stopped_at === other.stopped_at
}

/** The task, if it was canceled under the lease of the caller. Only who held it knows what became of the work. */
export function checkInterrupted(task: Task | undefined, claim: LeaseClaim): InterruptedTask {
  if (task === undefined) throw new Fault('TASK_NOT_FOUND', { task_id: claim.task_id })
  if (isInterrupted(task) && matches(task.lease, claim)) return task
  if (isOpen(task))
    throw new Fault('INVALID_STATE_TRANSITION', { task_id: task.task_id, status: task.status })
  throw staleLease(task)
}
