import { checkAnswerer, checkApprover, checkClientApprover, forbidden } from '../authorization.ts'
import type { Answer, Answers } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { Fault } from '../errors.ts'
import { canonical } from '../json/json.ts'
import type { DecidedState, Question } from '../question.ts'
import { asQueued, type ParkedTask, type Task } from '../task.ts'
import { cutAtDeadline, FOREVER, isoTime } from '../time.ts'
import { isParked, transition } from '../transitions.ts'
import { cancelBy } from './cancel.ts'
import { expireQuestion } from './expire-question.ts'
import { type Decided, decideQuestion, isDecided } from './question.ts'

const STATES: Readonly<Record<Answer['decision'], DecidedState>> = {
  approve: 'approved',
  deny: 'denied',
  answer: 'answered',
  withdraw: 'withdrawn',
}

/** The first decision counts. The very same of the same principal is answered as the first time. */
export function answer(draft: Draft, command: Answer): Decision<Answers['answer']> {
  const { world } = draft
  const task = world.task(command.task_id)
  if (task === undefined) throw new Fault('TASK_NOT_FOUND', { task_id: command.task_id })
  const question = world.questions(task.task_id).find(({ n }) => n === command.n)
  if (question === undefined) throw new Fault('QUESTION_NOT_FOUND', { task_id: task.task_id, n: command.n })
  checkKind(task, question, command)
  if (command.via === 'client') checkClientApprover(task, question, command.by)
  else if (command.decision === 'withdraw') checkAsker(question, command)
  else if (question.kind === 'approval') checkApprover(task, question, command.by)
  else checkAnswerer(task, command.by, command.role)

  if (isDecided(question)) {
    if (isSame(question, command)) return draft.done(answerOf(task.status, question, true))
    throw alreadyDecided(question)
  }
  const parked = checkParked(task)
  // At that instant it is over, whether or not a sweep has run.
  if (question.expires_at !== null && question.expires_at <= world.now) {
    return draft.refuse(alreadyDecided(expireQuestion(draft, parked).question))
  }
  const { by } = command
  const decided = decideQuestion(draft, task, question, {
    state: STATES[command.decision],
    by,
    answer: command.answer,
    content_hash: command.content_hash,
    via: command.via,
  })
  if (command.decision === 'deny') {
    const message = command.reason ?? 'The approval was denied.'
    const error = canonical({ code: 'APPROVAL_DENIED', message })
    const status = cancelBy(draft, parked, { by, reason: command.reason, cause: 'deny', error })
    return draft.done(answerOf(status, decided))
  }
  const cause = command.decision === 'approve' ? 'approve' : 'answer'
  return draft.done(answerOf(resume(draft, parked, question, cause), decided))
}

/** Only the asker can withdraw a question. */
function checkAsker({ asked_by }: Question, { by, role }: Answer): void {
  if (asked_by !== by) throw forbidden('admin', role)
}

/** Requeues a task at its previous rank: ready immediately, unless it is delayed or waits for other tasks. */
function resume(
  draft: Draft,
  task: ParkedTask,
  { not_before }: Question,
  cause: 'approve' | 'answer',
): 'queued' {
  const { now } = draft.world
  const due = task.flow?.waiting ? FOREVER : not_before
  const queued = asQueued(task, {
    status: transition(task.status, cause),
    attempt: task.attempt,
    expiry_count: task.expiry_count,
    next_eligible_at: due !== null && due > now ? cutAtDeadline(task, due) : null,
    updated_at: now,
  })
  draft.task(queued)
  return queued.status
}

function checkKind(task: Task, { kind, n }: Question, { decision }: Answer): void {
  const isForInput = decision === 'answer' || decision === 'withdraw'
  if (isForInput === (kind === 'input')) return
  const message =
    kind === 'input'
      ? `Question ${n} asks for input: answer it with answer_question.`
      : `Question ${n} asks for an approval: use approve or deny.`
  throw new Fault('INVALID_STATE_TRANSITION', { task_status: task.status }, message)
}

function checkParked(task: Task): ParkedTask {
  if ('expires_at' in task && isParked(task.status)) return task
  throw new Error(`task ${task.task_id} has an open question and is ${task.status}`)
}

function isSame(question: Decided, { by, decision, answer }: Answer): boolean {
  return question.decided_by === by && question.state === STATES[decision] && question.answer === answer
}

function answerOf(status: Task['status'], question: Decided, is_duplicate = false): Answers['answer'] {
  const { n, state, decided_by, decided_at, decided_seq } = question
  return { n, state, status, is_duplicate, decided_by, decided_at, seq: decided_seq }
}

function alreadyDecided({ n, state, decided_by, decided_at }: Decided): Fault {
  const at = isoTime(decided_at)
  const message =
    state === 'expired'
      ? `Question ${n} already expired at ${at}.`
      : `Question ${n} was already ${state} by ${decided_by} at ${at}.`
  return new Fault('ALREADY_DECIDED', { n, state, decided_by, decided_at: at }, message)
}
