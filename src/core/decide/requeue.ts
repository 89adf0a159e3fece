import { cutAtDeadline } from '../deadline.ts'
import type { Draft } from '../draft.ts'
import { asQueued, type HeldTask, type QueuedTask } from '../task.ts'
import { type Cause, checkTransition } from '../transitions.ts'
import { anomaly } from './anomaly.ts'

/** Back to the queue, at its old rank. The lease is gone; the fence stays where it is. */
export function requeue(
  draft: Draft,
  task: HeldTask,
  cause: Extract<Cause, 'retry' | 'expire' | 'release'>,
  changes: Partial<Pick<QueuedTask, 'attempt' | 'expiry_count' | 'next_eligible_at'>>,
): void {
  checkTransition(task.status, cause)
  const next_eligible_at = changes.next_eligible_at ?? null
  const queued = asQueued(task, {
    attempt: changes.attempt ?? task.attempt,
    expiry_count: changes.expiry_count ?? task.expiry_count,
    next_eligible_at: next_eligible_at === null ? null : cutAtDeadline(task, next_eligible_at),
    updated_at: draft.world.now,
  })
  draft.task(queued)
  if (queued.attempt >= queued.max_attempts) {
    anomaly(draft, queued, 'max_attempts_exceeded', {
      attempt: queued.attempt,
      max_attempts: queued.max_attempts,
    })
  }
}
