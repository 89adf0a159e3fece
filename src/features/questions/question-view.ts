import type { Json, JsonObject } from '../../core/json/json.ts'
import { type PrincipalKey, parsePrincipalKey } from '../../core/principal.ts'
import { originOf, type Question } from '../../core/question.ts'
import type { Task } from '../../core/task.ts'
import { isoTime } from '../../core/time.ts'
import { isParked } from '../../core/transitions.ts'
import { storedJson, storedMembers } from '../../engine/stored-json.ts'
import type { AnswerView, OpenQuestionView } from '../shapes.ts'
import type { CreateInput } from '../tasks/task-input.ts'

/** What a task waits for; null if it waits for nobody's answer. */
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

/** The payload that counts: as it was last approved, or else as it was asked. */
export function payloadOf(input: CreateInput, questions: readonly Question[]): Json {
  for (let i = questions.length - 1; i >= 0; i--) {
    const question = questions[i]
    if (question?.state !== 'approved') continue
    const { payload } = partsOf(question)
    if (payload !== undefined) return payload
  }
  return input.payload ?? {}
}

/** Without the edited payload, which is the task's own by then. */
export function answerView(question: Question): AnswerView {
  const { payload: _, ...answer } = partsOf(question)
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

/** The members of an answer, which is an object if there is one. */
export function partsOf({ answer }: Question): JsonObject {
  return answer === null ? {} : storedMembers(answer)
}
