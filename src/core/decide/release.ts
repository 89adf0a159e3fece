import { body } from '../bodies.ts'
import type { Answers, Release } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { canonical } from '../json/json.ts'
import { checkLease } from '../lease.ts'
import { countExpiry } from './count-expiry.ts'
import { requeue } from './requeue.ts'

/**
 * The worker gives the task back: it is ready at once, or after the pause, and no attempt is spent. A lease that is
 * recovered from a dead process was not given back by its holder, so it counts as an expiry.
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
    requeue(draft, task, 'expire', { expiry_count })
  } else {
    requeue(draft, task, 'release', { next_eligible_at: pause_ms > 0 ? now + pause_ms : null })
  }
  return draft.done({ status: 'queued' })
}
