import type { Draft } from '../draft.ts'
import { canonical } from '../json/json.ts'
import { GATE } from '../principal.ts'
import type { ParkedTask } from '../task.ts'
import { isPastDeadline } from '../time.ts'
import type { TerminalStatus } from '../transitions.ts'
import { cancelBy } from './cancel.ts'
import { failByGate, missDeadline } from './finish.ts'
import { type Decided, decideOpen } from './question.ts'

/** The question was not answered in time: an unapproved task is canceled, and one that lacks its input fails. */
export function expireQuestion(
  draft: Draft,
  task: ParkedTask,
): { readonly question: Decided; readonly status: TerminalStatus } {
  const question = decideOpen(draft, task, { state: 'expired', by: GATE, answer: null })
  // What counts is when the question ended, not when that was noticed.
  if (task.expires_at !== null && isPastDeadline(task, task.expires_at)) {
    return { question, status: missDeadline(draft, task) }
  }
  if (question.kind === 'approval') {
    const reason = 'The approval expired.'
    const error = canonical({ code: 'APPROVAL_EXPIRED', message: reason })
    return { question, status: cancelBy(draft, task, { by: GATE, reason, cause: 'expire', error }) }
  }
  const error = canonical({ code: 'INPUT_EXPIRED', message: 'The input was not given in time.' })
  return { question, status: failByGate(draft, task, 'expire', error) }
}
