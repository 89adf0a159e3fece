import { z } from 'zod'
import { canonical, canonicalWithin, type Json, parseCanonical } from '../../core/json/json.ts'
import type { Question } from '../../core/question.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { json, jsonObject, taskId } from '../input.ts'
import type { Schemas } from '../task-types/schemas.ts'
import { decisionShape, findQuestion, questionNumber, submitDecision } from './decision.ts'

const MAX_CONTENT_BYTES = 64 * 1024

export const answerQuestion = defineOperation({
  name: 'answer_question',
  title: 'Answer a question',
  description:
    'Answers the open question of one of your tasks that is input_required; get_task shows it in question, with the schema that content must match. The task then continues.',
  input: z.strictObject({
    task_id: taskId,
    n: questionNumber,
    content: json.describe(
      'The requested data, at most 64 KiB. It must match the schema of the request, if there is one',
    ),
  }),
  output: decisionShape,
  actor: 'agent',
  access: 'answer',
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/answer' },
  effect: WRITES_ONCE,
  example: {
    task_id: '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c',
    principal_id: 'planner',
    n: 2,
    content: { language: 'en' },
  },
  async run({ engine, schemas }, caller, { task_id, n, content }) {
    const answer = canonicalWithin({ content }, 'content', MAX_CONTENT_BYTES)
    const { tenant, question } = await findQuestion(engine, caller, task_id, n)
    await checkContent(schemas, question, content)
    return submitDecision(engine, caller, tenant, question, { decision: 'answer', reason: null, answer })
  },
})

const request = z.object({ schema: jsonObject.optional() })

/** Rejects content that does not match the schema of the request. The schema was validated when the worker asked. */
async function checkContent(schemas: Schemas, question: Question, content: Json): Promise<void> {
  if (question.kind !== 'input') return
  const { schema } = request.parse(parseCanonical(question.request))
  if (schema === undefined) return
  const answer = { value: content, text: canonical(content), name: 'content' }
  const fault = await schemas.answerFault(canonical(schema), answer)
  if (fault !== undefined) throw fault
}
