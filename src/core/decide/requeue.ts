import { body } from '../bodies.ts'
import type { Draft } from '../draft.ts'
import { canonical } from '../json/json.ts'
import { GATE, type PrincipalKey } from '../principal.ts'
import type { Settings } from '../settings.ts'
import { asQueued, type HeldTask, type QueuedTask } from '../task.ts'
import { cutAtDeadline } from '../time.ts'
import { type Cause, transition } from '../transitions.ts'
import { failByGate } from './finish.ts'
import { anomaly } from './record.ts'

/** Requeues a task at its previous rank. The lease ends; the fence does not change. */
export function requeue(
  draft: Draft,
  task: HeldTask,
  cause: Extract<Cause, 'retry' | 'expire' | 'release'>,
  changes: Partial<Pick<QueuedTask, 'attempt' | 'expiry_count' | 'next_eligible_at'>>,
): 'queued' {
  const next_eligible_at = changes.next_eligible_at ?? null
  const queued = asQueued(task, {
    status: transition(task.status, cause),
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
  return queued.status
}

/** The number of expiries at which the owner is notified, once. */
const SUSPICIOUS_EXPIRIES = 4

/** Counts a lost lease. At the limit of expiries the task fails; otherwise the caller stores the new count. */
export function countExpiry(draft: Draft, task: HeldTask): { expiry_count: number; exhausted: boolean } {
  const expiry_count = task.expiry_count + 1
  if (expiry_count === SUSPICIOUS_EXPIRIES) {
    anomaly(draft, task, 'repeated_lease_expiry', { expiry_count, worker_id: task.lease.worker_id })
  }
  const exhausted = expiry_count >= task.max_expiries
  if (exhausted) {
    const message = `The lease expired ${expiry_count} times.`
    const error = canonical({ code: 'LEASE_EXPIRY_LIMIT', message })
    failByGate(draft, { ...task, expiry_count }, 'fail', error, true)
  }
  return { expiry_count, exhausted }
}

type EscalationReason = 'lease_expired' | 'max_retries_exceeded'

/** The class of the task decides first; a class without a target counts as none. */
function targetOf(task: HeldTask, reason: EscalationReason, settings: Settings): PrincipalKey {
  const { escalation_class } = task
  const ofClass =
    escalation_class === null
      ? undefined
      : settings.escalation_targets.find((target) => target.class === escalation_class)?.to
  const special = reason === 'max_retries_exceeded' ? settings.escalation_retries_target : null
  return ofClass ?? special ?? settings.escalation_target ?? task.owner
}

/** Notifies the escalation target within the tenant of the task, if escalation is enabled. */
export function escalate(draft: Draft, task: HeldTask, reason: EscalationReason): void {
  const { settings } = draft.world
  if (!settings.escalation_enabled) return
  const to = targetOf(task, reason, settings)
  draft.receipt({
    type: 'task.escalated',
    from: GATE,
    to,
    task_id: task.task_id,
    lease_id: task.lease.lease_id,
    parents: [task.seq],
    body: body({
      escalation_class: canonical('policy'),
      escalation_reason: canonical(reason),
      escalation_to: canonical(to),
    }),
  })
}
