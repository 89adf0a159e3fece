import { body } from '../bodies.ts'
import type { Answers, Cancel } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { Fault } from '../errors.ts'
import { canonical } from '../json.ts'
import { checkOwner } from '../policy.ts'
import { isOpen } from '../task.ts'
import { isoTime } from '../time.ts'
import { finish, NO_EVIDENCE } from './finish.ts'

/** A task that has ended stays as it is, and the answer says how it ended. */
export function cancel(draft: Draft, command: Cancel): Decision<Answers['cancel']> {
  const { world } = draft
  const task = world.task(command.task_id)
  if (task === undefined) throw new Fault('TASK_NOT_FOUND', { task_id: command.task_id })
  checkOwner(task, command.by, command.role)
  if (!isOpen(task)) return draft.done({ ok: false, status: task.status })
  const seq = draft.receipt({
    type: 'task.canceled',
    from: command.by,
    to: task.owner,
    task_id: task.task_id,
    lease_id: task.status === 'queued' ? null : task.lease.lease_id,
    parents: [task.seq],
    body: body({
      canceled_at: canonical(isoTime(world.now)),
      canceled_by: canonical(command.by),
      reason: canonical(command.reason),
    }),
  })
  finish(draft, task, {
    ...NO_EVIDENCE,
    status: 'canceled',
    cause: 'cancel',
    result: null,
    error: canonical({ code: 'CANCELED', message: command.reason ?? 'The task was canceled.' }),
    receipt_seq: seq,
    obligation_open: false,
    dead_letter: false,
  })
  return draft.done({ ok: true, status: 'canceled' })
}
