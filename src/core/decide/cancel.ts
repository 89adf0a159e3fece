import { checkOwner } from '../authorization.ts'
import { body } from '../bodies.ts'
import type { Answers, Cancel } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { Fault } from '../errors.ts'
import { type CanonicalJson, canonical } from '../json/json.ts'
import type { PrincipalKey } from '../principal.ts'
import { isHeld, isOpen, type OpenTask } from '../task.ts'
import { isoTime } from '../time.ts'
import { type Cause, isParked, type TerminalStatus } from '../transitions.ts'
import { finish } from './finish.ts'
import { decideOpen } from './question.ts'

/** A task that has ended does not change, and the response has its status. An open question is withdrawn. */
export function cancel(draft: Draft, command: Cancel): Decision<Answers['cancel']> {
  const { world } = draft
  const task = world.task(command.task_id)
  if (task === undefined) throw new Fault('TASK_NOT_FOUND', { task_id: command.task_id })
  checkOwner(task, command.by, command.role)
  if (!isOpen(task)) return draft.done({ ok: false, status: task.status })
  const { by, reason } = command
  const error = canonical({ code: 'CANCELED', message: reason ?? 'The task was canceled.' })
  return draft.done({ ok: true, status: cancelOpen(draft, task, { by, reason, error }) })
}

/** Cancels a task, whatever its status. Its open question is withdrawn. */
export function cancelOpen(
  draft: Draft,
  task: OpenTask,
  { by, reason, error }: Omit<Canceling, 'cause'>,
): TerminalStatus {
  if (isParked(task.status)) decideOpen(draft, task, { state: 'withdrawn', by, answer: null })
  return cancelBy(draft, task, { by, reason, cause: 'cancel', error })
}

interface Canceling {
  readonly by: PrincipalKey
  readonly reason: string | null
  readonly cause: Cause
  readonly error: CanonicalJson
}

/** Ends a task as canceled, with its receipt. */
export function cancelBy(
  draft: Draft,
  task: OpenTask,
  { by, reason, cause, error }: Canceling,
): TerminalStatus {
  const receipt_seq = draft.receipt({
    type: 'task.canceled',
    from: by,
    to: task.owner,
    task_id: task.task_id,
    lease_id: isHeld(task) ? task.lease.lease_id : null,
    parents: [task.seq],
    body: body({
      canceled_at: canonical(isoTime(draft.world.now)),
      canceled_by: canonical(by),
      reason: canonical(reason),
    }),
  })
  return finish(draft, task, cause, { error, receipt_seq })
}
