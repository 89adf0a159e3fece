import { body } from '../bodies.ts'
import type { Answers, Release } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { canonical } from '../json.ts'
import { checkLease } from '../lease.ts'
import { requeue } from './requeue.ts'

/** The worker gives the task back: it is ready at once, and no attempt is spent. */
export function release(draft: Draft, command: Release): Decision<Answers['release']> {
  const task = checkLease(draft.world.task(command.task_id), command, draft.world.now)
  draft.receipt({
    type: 'lease.released',
    from: command.holder,
    to: task.owner,
    task_id: task.task_id,
    lease_id: command.lease_id,
    parents: [task.seq],
    body: body({
      attempt: canonical(task.attempt),
      reclaimed_by_instance_id: null,
      worker_id: canonical(command.worker_id),
    }),
  })
  requeue(draft, task, 'release', {})
  return draft.done({ status: 'queued' })
}
