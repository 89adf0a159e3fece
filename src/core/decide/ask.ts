import type { Answers, Ask } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { invalid } from '../errors.ts'
import { checkLease } from '../lease.ts'
import { MAX_QUESTIONS, type Question } from '../question.ts'
import { asParked, type Task } from '../task.ts'
import { transition } from '../transitions.ts'
import { expiryOf, ask as put } from './question.ts'

/** The lease ends and uses no attempt. The task keeps its rank in the queue until it is answered. */
export function ask(draft: Draft, command: Ask): Decision<Answers['ask']> {
  const { world } = draft
  const known = world.task(command.task_id)
  const before = world.questions(command.task_id).find((question) => isSame(question, command))
  if (known !== undefined && before !== undefined) return draft.done(answerOf(known, before))

  const task = checkLease(known, command, world.now)
  const { question } = command
  const status = transition(task.status, question.kind === 'approval' ? 'ask_approval' : 'ask_input')
  if (task.question_count >= MAX_QUESTIONS) {
    throw invalid('', `the task has asked ${MAX_QUESTIONS} questions, which is as many as a task may`)
  }
  const parked = asParked(task, {
    question_count: task.question_count + 1,
    updated_at: world.now,
    status,
    expires_at: expiryOf(world, task, question),
  })
  draft.task(parked)
  const { holder, lease_id } = command
  const seq = put(draft, parked, question, { by: holder, lease_id, not_before: null })
  return draft.done({ n: parked.question_count, status: parked.status, expires_at: parked.expires_at, seq })
}

/** A lease ends with its question, so it asks at most one. A repeated call gets the first response. */
function isSame(question: Question, { lease_id, holder, question: asked }: Ask): boolean {
  return (
    question.lease_id === lease_id &&
    question.asked_by === holder &&
    question.kind === asked.kind &&
    question.request === asked.request
  )
}

function answerOf({ status }: Task, { n, expires_at, seq }: Question): Answers['ask'] {
  return { n, status, expires_at, seq }
}
