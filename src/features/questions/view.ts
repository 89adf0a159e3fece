import type { Json, JsonObject } from '../../core/json/json.ts'
import { type PrincipalKey, parsePrincipalKey } from '../../core/principal.ts'
import { originOf, type Question } from '../../core/question.ts'
import type { Task } from '../../core/task.ts'
import { isoTime } from '../../core/time.ts'
import { isParked } from '../../core/transitions.ts'
import { storedJson, storedMembers } from '../../engine/stored-json.ts'
import type { AnswerView, OpenQuestionView } from './shape.ts'

/** The question that a task waits for; null if it is not parked. */
export function openQuestionView(task: Task, questions: readonly Question[]): OpenQuestionView | null {
  if (!isParked(task.status)) return null
  const question = questions.find(({ n }) => n === task.question_count)
  if (question === undefined) return null
  const { n, kind, request, asked_by, asked_at, expires_at } = question
  return {
    n,
    kind,
    request: storedJson(request),
    asked_by: parsePrincipalKey(asked_by),
    origin: originOf(question),
    asked_at: isoTime(asked_at),
    expires_at: expires_at === null ? null : isoTime(expires_at),
  }
}

/** The effective payload: the one approved last, or else the one the task was created with. */
export function payloadOf(
  input: { readonly payload?: Json | undefined },
  questions: readonly Question[],
): Json {
  for (let i = questions.length - 1; i >= 0; i--) {
    const question = questions[i]
    if (question?.state !== 'approved') continue
    const { payload } = answerMembers(question)
    if (payload !== undefined) return payload
  }
  return input.payload ?? {}
}

/** Leaves out the edited payload: the task itself carries it. */
export function answerView(question: Question): AnswerView {
  const { payload: _, ...answer } = answerMembers(question)
  return {
    n: question.n,
    kind: question.kind,
    asked_by: parsePrincipalKey(question.asked_by),
    origin: originOf(question),
    request: storedJson(question.request),
    state: question.state,
    answer: question.answer === null ? null : answer,
    decided_by: principalOrNull(question.decided_by),
    decided_at: question.decided_at === null ? null : isoTime(question.decided_at),
    content_hash: question.content_hash,
  }
}

export function principalOrNull(key: PrincipalKey | null) {
  return key === null ? null : parsePrincipalKey(key)
}

/** The members of an answer; none while there is no answer. */
export function answerMembers({ answer }: Question): JsonObject {
  return answer === null ? {} : storedMembers(answer)
}
