import { z } from 'zod'
import { QUESTION_KINDS, QUESTION_ORIGINS, QUESTION_STATES } from '../../core/question.ts'
import { principalShape, time } from '../fields.ts'
import { json } from '../input.ts'

/** The fields that every view of a question has. */
export const questionFields = {
  n: z.int().describe('The number of the question within its task: 1, 2, 3, ...'),
  kind: z
    .enum(QUESTION_KINDS)
    .describe('approval: a person approves or denies; input: the agent answers with data'),
  request: json.describe('approval: title, show, reason, rule_id; input: message, schema'),
  asked_by: principalShape.describe('The worker that asked, or the gate itself if a policy asked'),
  origin: z
    .enum(QUESTION_ORIGINS)
    .describe('policy: a policy of the gate asked; worker: the worker that held the task asked'),
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
  answer: json.describe('approval: comment, diff; input: content. Null if there is none'),
  decided_by: decisionFields.decided_by,
  decided_at: decisionFields.decided_at,
  content_hash: z
    .string()
    .nullable()
    .describe('As in get_approval; null for questions asked by versions without content hashes'),
})

export type OpenQuestionView = z.output<typeof openQuestionShape>
export type AnswerView = z.output<typeof answerShape>
