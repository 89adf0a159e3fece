import { body } from '../bodies.ts'
import { isPastDeadline } from '../deadline.ts'
import type { Draft } from '../draft.ts'
import { canonical } from '../json/json.ts'
import { GATE } from '../principal.ts'
import type { ParkedTask } from '../task.ts'
import { cancelBy } from './cancel.ts'
import { finish, NO_EVIDENCE } from './finish.ts'
import { missDeadline } from './miss-deadline.ts'
import { type Decided, decideOpen } from './question.ts'

/** Nobody answered in time. What was not approved is not done; work that lacks its input has failed. */
export function expireQuestion(
  draft: Draft,
  task: ParkedTask,
): { readonly question: Decided; readonly status: 'canceled' | 'failed' } {
  const question = decideOpen(draft, task, { state: 'expired', by: GATE, answer: null })
  // What counts is when the question ended, not when that was noticed.
  if (task.expires_at !== null && isPastDeadline(task, task.expires_at)) {
    return { question, status: missDeadline(draft, task) }
  }
  if (question.kind === 'approval') {
    const reason = 'Nobody approved it in time.'
    const error = canonical({ code: 'APPROVAL_EXPIRED', message: reason })
    cancelBy(draft, task, { by: GATE, reason, cause: 'expire', error })
    return { question, status: 'canceled' }
  }
  const error = canonical({ code: 'INPUT_EXPIRED', message: 'Nobody gave the input in time.' })
  const seq = draft.receipt({
    type: 'task.failed',
    from: GATE,
    to: task.owner,
    task_id: task.task_id,
    parents: [task.seq],
    body: body({ error, retry_after_seconds: null, retry_recommended: canonical(false) }),
  })
  finish(draft, task, {
    ...NO_EVIDENCE,
    status: 'failed',
    cause: 'expire',
    result: null,
    error,
    receipt_seq: seq,
    obligation_open: false,
    dead_letter: false,
  })
  return { question, status: 'failed' }
}
