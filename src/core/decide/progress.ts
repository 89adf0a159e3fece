import { body } from '../bodies.ts'
import type { Answers, Progress } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { Fault } from '../errors.ts'
import { canonical } from '../json/json.ts'
import { checkLease } from '../lease.ts'
import { extend } from './renew.ts'
import { begin } from './start.ts'

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
  if (world.settings.progress_receipts || command.milestone) {
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
