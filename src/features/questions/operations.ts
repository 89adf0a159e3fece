import { z } from 'zod'
import { QUESTION_STATES } from '../../core/question.ts'
import { ENDS, operation, READS, WRITES_ONCE } from '../define-operation.ts'
import { principalShape } from '../fields.ts'
import { statusShape } from '../tasks/shape.ts'
import { answerInput, answerQuestion, approve, approveInput, deny, denyInput } from './answer.ts'
import {
  approvalShape,
  getApproval,
  getApprovalInput,
  listApprovals,
  listApprovalsInput,
} from './approvals.ts'
import { ask, askInput } from './ask.ts'

const ok = z.literal(true)
const time = z.iso.datetime()

const decided = z.object({
  ok,
  task_id: z.string(),
  n: z.int(),
  state: z.enum(QUESTION_STATES).exclude(['open']),
  status: statusShape,
  decided_by: principalShape,
  decided_at: time,
  receipt_id: z.string().meta({ description: 'The question.answered receipt: the record of the decision' }),
  is_duplicate: z
    .boolean()
    .meta({ description: 'This very decision had been made before, so that nothing was changed' }),
  rule_id: z
    .string()
    .optional()
    .meta({ description: 'The rule that remembers it, if it is to be remembered' }),
})

export const questionOperations = [
  operation({
    name: 'list_approvals',
    title: 'List approvals',
    description:
      'Tasks that wait for a person to approve them, longest first, with what is to be done. Other states newest first. ' +
      'Agents see those of their own tasks; who may decide sees all. Go on with next_cursor until it is null.',
    input: listApprovalsInput,
    output: z.object({ approvals: z.array(approvalShape).readonly(), next_cursor: z.string().nullable() }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/approvals' },
    effect: READS,
    call: listApprovals,
  }),
  operation({
    name: 'get_approval',
    title: 'Look at an approval',
    description:
      'One approval: what is asked, by whom, with everything that the worker will get, and what was decided and changed, if it was.',
    input: getApprovalInput,
    output: approvalShape,
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/approvals/{task_id}' },
    effect: READS,
    call: getApproval,
  }),
  operation({
    name: 'approve',
    title: 'Approve a task',
    description:
      'For people: lets a task that is pending_approval go on, with its payload or with an edited one. Whoever asked for the work cannot approve it. ' +
      'The first decision counts. With remember_until the same agent need not ask again until then.',
    input: approveInput,
    output: decided,
    actor: 'agent',
    rest: { method: 'POST', path: '/v1/approvals/{task_id}/approve' },
    effect: WRITES_ONCE,
    needsPerson: true,
    call: approve,
  }),
  operation({
    name: 'deny',
    title: 'Deny a task',
    description:
      'For people: ends a task that is pending_approval as canceled, with the reason, which its owner is told. The first decision counts.',
    input: denyInput,
    output: decided,
    actor: 'agent',
    rest: { method: 'POST', path: '/v1/approvals/{task_id}/deny' },
    effect: ENDS,
    needsPerson: true,
    call: deny,
  }),
  operation({
    name: 'ask',
    title: 'Ask before going on',
    description:
      'For workers: parks a task that you hold until somebody answers. kind approval asks a person for yes or no, kind input the agent for data. ' +
      'Your lease ends with it: stop working. The task comes back to a worker with the answer in answers; a denial ends it.',
    input: askInput,
    output: z.object({
      ok,
      task_id: z.string(),
      n: z.int().meta({ description: 'The number of the question within the task' }),
      status: statusShape,
      expires_at: time.nullable(),
      receipt_id: z.string(),
    }),
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/tasks/{task_id}/ask' },
    effect: WRITES_ONCE,
    call: ask,
  }),
  operation({
    name: 'answer_question',
    title: 'Give a task its input',
    description:
      'Answers the question of a task of yours that is input_required; get_task shows it in question, with the schema that content must fit. The task then goes on.',
    input: answerInput,
    output: decided,
    actor: 'agent',
    rest: { method: 'POST', path: '/v1/tasks/{task_id}/answer' },
    effect: WRITES_ONCE,
    call: answerQuestion,
  }),
] as const
