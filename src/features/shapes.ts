import { z } from 'zod'
import { QUESTION_KINDS, QUESTION_ORIGINS, QUESTION_STATES } from '../core/question.ts'
import { principalShape, time } from './fields.ts'
import { json } from './input.ts'

// The public shapes. Answers are built to these types, and the schemas that clients see are made from them.

export const originShape = z
  .enum(QUESTION_ORIGINS)
  .meta({ description: 'policy: a rule of the gate asked; worker: whoever does the work' })

/** What a task waits for. */
export const openQuestionShape = z.object({
  n: z.int().meta({ description: '1, 2, 3, ... within the task' }),
  kind: z.enum(QUESTION_KINDS),
  request: json.meta({ description: 'approval: title, show, reason, rule_id; input: message, schema' }),
  asked_by: principalShape,
  origin: originShape,
  asked_at: time,
  expires_at: time.nullable().meta({ description: 'Null: it waits for as long as it takes' }),
})

/** What became of a question, as the worker that goes on is told. */
export const answerShape = z.object({
  n: z.int(),
  kind: z.enum(QUESTION_KINDS),
  asked_by: principalShape.meta({ description: 'The worker, or the gate itself if a rule asked' }),
  origin: originShape,
  request: json,
  state: z.enum(QUESTION_STATES),
  answer: json.meta({ description: 'approval: comment, diff; input: content' }),
  decided_by: principalShape.nullable(),
  decided_at: time.nullable(),
  content_hash: z
    .string()
    .nullable()
    .meta({ description: 'As in get_approval; null for questions of older versions' }),
})

export type OpenQuestionView = z.output<typeof openQuestionShape>
export type AnswerView = z.output<typeof answerShape>
