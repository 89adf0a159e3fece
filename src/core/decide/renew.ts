import type { Answers, Renew } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { Fault } from '../errors.ts'
import { checkLease, leaseEnd } from '../lease.ts'
import type { HeldTask } from '../task.ts'
import { anomaly } from './anomaly.ts'

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
export function extend(draft: Draft, task: HeldTask, extendMs: number, isCounted = true): HeldTask | Fault {
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
