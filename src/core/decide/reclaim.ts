import { body } from '../bodies.ts'
import type { Answers, Reclaim } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { canonical } from '../json/json.ts'
import { checkLease } from '../lease.ts'
import { asQueued } from '../task.ts'
import { acceptance, grant } from './claim.ts'
import { countExpiry } from './count-expiry.ts'

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
  const queued = asQueued(task, { attempt, expiry_count, updated_at: now, next_eligible_at: null })
  return draft.done({ granted: [grant(draft, queued, command, acceptance(command))], now })
}
