import { body } from '../bodies.ts'
import type { Answers, Progress, Start } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { canonical } from '../json/json.ts'
import { checkLease } from '../lease.ts'
import type { HeldTask } from '../task.ts'
import { isoTime } from '../time.ts'
import { checkTransition } from '../transitions.ts'

/** Saying it again changes nothing and answers the same. */
export function start(draft: Draft, command: Start): Decision<Answers['start']> {
  const task = checkLease(draft.world.task(command.task_id), command, draft.world.now)
  const running = begin(draft, task, command)
  if (running !== task) draft.task(running)
  return draft.done({ status: 'running', started_at: running.started_at ?? draft.world.now })
}

/** The task as running, with the receipt that says so, unless it runs already. */
export function begin(draft: Draft, task: HeldTask, command: Start | Progress): HeldTask {
  if (task.status === 'running') return task
  const { now } = draft.world
  checkTransition(task.status, 'start')
  draft.receipt({
    type: 'task.started',
    from: command.holder,
    to: task.owner,
    task_id: task.task_id,
    lease_id: command.lease_id,
    parents: [task.seq],
    body: body({ started_at: canonical(isoTime(now)) }),
  })
  return { ...task, status: 'running', started_at: now, updated_at: now }
}
