import type { Draft } from '../draft.ts'
import { canonical } from '../json/json.ts'
import { GATE } from '../principal.ts'
import type { ParkedTask } from '../task.ts'
import { isPastDeadline } from '../time.ts'
import type { TerminalStatus } from '../transitions.ts'
import { cancelBy } from './cancel.ts'
import { failByGate, missDeadline } from './finish.ts'
import { type Decided, decideOpen } from './question.ts'

/** Nobody answered in time. What was not approved is not done; work that lacks its input has failed. */
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
    const reason = 'Nobody approved it in time.'
    const error = canonical({ code: 'APPROVAL_EXPIRED', message: reason })
    return { question, status: cancelBy(draft, task, { by: GATE, reason, cause: 'expire', error }) }
  }
  const error = canonical({ code: 'INPUT_EXPIRED', message: 'Nobody gave the input in time.' })
  return { question, status: failByGate(draft, task, 'expire', error) }
}
