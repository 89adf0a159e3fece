import type { RestoredContents } from '../command.ts'
import type { Draft } from '../draft.ts'
import { type CanonicalJson, canonical } from '../json/json.ts'
import { type DecidedState, PARKED_BY, QUESTION_STATES, type Question } from '../question.ts'
import type { Receipt } from '../receipt.ts'
import { asParked, type OpenTask } from '../task.ts'
import { requeued, type Said, timeIn } from './restored-task.ts'

/** Parks a task for a question that it asked in another database. Without its contents the request is empty. */
export function asked(
  draft: Draft,
  task: OpenTask,
  receipt: Receipt,
  contents: RestoredContents['question'],
  said: Said,
): void {
  const kind = contents?.kind ?? (said.kind === 'approval' ? 'approval' : 'input')
  const n = task.question_count + 1
  const { tenant, task_id } = task
  const expires_at = timeIn(said.expires_at)
  const question: Question = {
    ...{ tenant, task_id, n, kind, seq: receipt.seq, expires_at },
    ...{ asked_by: receipt.from, asked_at: receipt.created_at, lease_id: receipt.lease_id },
    not_before: contents?.not_before ?? null,
    request: contents?.request ?? canonical({}),
    ...{ state: 'open', decided_by: null, decided_at: null, decided_seq: null, answer: null },
    content_hash: typeof said.content_hash === 'string' ? said.content_hash : null,
  }
  draft.question(question)
  const status = PARKED_BY[kind]
  draft.task(asParked(task, { question_count: n, updated_at: receipt.created_at, status, expires_at }))
}

/** Ends the question for which a task waits. If that ends the task too, the next receipt says so. */
export function answered(
  draft: Draft,
  task: OpenTask,
  receipt: Receipt,
  answer: CanonicalJson | null,
  said: Said,
): void {
  const question = draft.world.questions(task.task_id).find(({ n }) => n === task.question_count)
  if (question === undefined) return
  const decided = {
    ...{ decided_by: receipt.from, decided_at: receipt.created_at, decided_seq: receipt.seq, answer },
    content_hash: typeof said.content_hash === 'string' ? said.content_hash : question.content_hash,
  }
  draft.question({ ...question, state: stateIn(said), ...decided })
  const { not_before } = question
  const isLater = not_before !== null && not_before > receipt.created_at
  draft.task(requeued(task, receipt, { next_eligible_at: isLater ? not_before : null }))
}

function stateIn({ decision }: Said): DecidedState {
  const state = QUESTION_STATES.find((name) => name === decision)
  return state === undefined || state === 'open' ? 'answered' : state
}
