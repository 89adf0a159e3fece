import { z } from 'zod'
import type { Json, JsonObject } from '../../core/json/json.ts'
import { type PrincipalKey, parsePrincipalKey } from '../../core/principal.ts'
import {
  originOf,
  QUESTION_KINDS,
  QUESTION_ORIGINS,
  QUESTION_STATES,
  type Question,
} from '../../core/question.ts'
import type { Task } from '../../core/task.ts'
import { isoTime } from '../../core/time.ts'
import { isParked } from '../../core/transitions.ts'
import { storedJson, storedMembers } from '../../engine/stored-json.ts'
import { json, principalShape, time } from '../input.ts'

/** The fields that every view of a question has. */
export const questionFields = {
  n: z.int().describe('The number of the question within its task: 1, 2, 3, ...'),
  kind: z
    .enum(QUESTION_KINDS)
    .describe('approval: a person approves or denies; input: the agent answers with data'),
  request: json.describe(
    'approval: title, show, reason, rule_id; input: message, schema; of an upstream also upstream, its name, and url, a page to open',
  ),
  asked_by: principalShape.describe(
    'The worker that asked; the gate itself if a policy asked, its gateway if an upstream asked',
  ),
  origin: z
    .enum(QUESTION_ORIGINS)
    .describe(
      'policy: a policy of the gate asked; worker: the worker that held the task asked; upstream: the upstream MCP server that the task calls asked, so the text is untrusted',
    ),
}

const state = z.enum(QUESTION_STATES).describe('open: not decided yet; any other state is final')

/** How a question was decided; the fields are null while it is open. */
export const decisionFields = {
  state,
  decided_by: principalShape.nullable().describe('Who decided; null while the question is open'),
  decided_at: time.nullable().describe('When it was decided; null while the question is open'),
}

/** The question that a parked task waits for. */
export const openQuestionShape = z.object({
  ...questionFields,
  asked_at: time.describe('When the question was asked'),
  expires_at: time.nullable().describe('When the question expires; null if it never does'),
})

/** A question and its answer, as the worker that continues the task receives it. */
export const answerShape = z.object({
  n: questionFields.n,
  kind: questionFields.kind,
  asked_by: questionFields.asked_by,
  origin: questionFields.origin,
  request: questionFields.request,
  state,
  answer: json.describe(
    'approval: comment, diff; input: content, or action if an upstream was refused an answer. Null if there is none',
  ),
  decided_by: decisionFields.decided_by,
  decided_at: decisionFields.decided_at,
  content_hash: z
    .string()
    .nullable()
    .describe('As in get_approval; null for questions asked by versions without content hashes'),
})

type OpenQuestionView = z.output<typeof openQuestionShape>
type AnswerView = z.output<typeof answerShape>

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
