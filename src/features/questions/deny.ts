import { z } from 'zod'
import { canonical } from '../../core/json/json.ts'
import { defineOperation, ENDS } from '../define-operation.ts'
import { taskId, text } from '../input.ts'
import {
  checkSeen,
  decisionShape,
  findQuestion,
  questionNumber,
  seenHash,
  submitDecision,
} from './decision.ts'

export const deny = defineOperation({
  name: 'deny',
  title: 'Deny a task',
  description:
    'For people: cancels a task that is pending_approval. Its owner receives the reason. The first decision counts.',
  input: z.strictObject({
    task_id: taskId,
    n: questionNumber,
    content_hash: seenHash,
    reason: text(2000).describe('Why the task is denied. The owner of the task receives it'),
  }),
  output: decisionShape,
  actor: 'agent',
  access: 'approve',
  rest: { method: 'POST', path: '/v1/approvals/{task_id}/deny' },
  effect: ENDS,
  needsPerson: true,
  example: { task_id: '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c', n: 1, reason: 'The report is not final.' },
  async run({ engine }, caller, { task_id, n, content_hash, reason }) {
    const { tenant, record, question } = await findQuestion(engine, caller, task_id, n)
    checkSeen(record, question, content_hash)
    const answer = canonical({ reason })
    return submitDecision(engine, caller, tenant, question, { decision: 'deny', reason, answer })
  },
})
