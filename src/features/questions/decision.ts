import { z } from 'zod'
import type { Answer } from '../../core/command.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { canonical, canonicalWithin, type Json, parseCanonical } from '../../core/json/json.ts'
import { type Caller, parsePrincipalKey, principalKey } from '../../core/principal.ts'
import { originOf, QUESTION_STATES, type Question } from '../../core/question.ts'
import { isoTime } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { defineOperation, ENDS, WRITES_ONCE } from '../define-operation.ts'
import { json, jsonObject, principalShape, taskId, text, time } from '../input.ts'
import type { Schemas } from '../task-types/schemas.ts'
import { readTask } from '../tasks/read-task.ts'
import { statusShape } from '../tasks/shape.ts'
import { contentHashOf } from '../tasks/work.ts'
import { questionFields } from './view.ts'

// What approve, deny and answer_question have in common.

export const questionNumber = z
  .int()
  .min(1)
  .optional()
  .describe('The number of the question within the task; the newest question if absent. Send the one you saw')

export const seenHash = text(128)
  .optional()
  .describe(
    'The content_hash of the approval that you saw. If the question has a different one, the call fails with CONTENT_CHANGED',
  )

export const decisionShape = z.object({
  ok: z.literal(true).describe('Always true'),
  task_id: z.string().describe('The task that the question belongs to'),
  n: questionFields.n,
  state: z.enum(QUESTION_STATES).exclude(['open']).describe('The state of the question'),
  status: statusShape.describe('The status of the task after the decision'),
  decided_by: principalShape.describe('Who made the decision'),
  decided_at: time.describe('When the decision was made'),
  receipt_id: z.string().describe('The question.answered receipt, which records the decision'),
  is_duplicate: z
    .boolean()
    .describe('Whether the same decision had been made before, so that this call changed nothing'),
  rule_id: z.string().optional().describe('The rule created for remember_until; absent if none was created'),
})

export type DecisionAnswer = z.output<typeof decisionShape>

interface FoundQuestion {
  readonly tenant: TenantRef
  readonly record: TaskRecord
  readonly question: Question
}

export async function findQuestion(
  engine: Engine,
  caller: Caller,
  task_id: string,
  n: number | undefined,
): Promise<FoundQuestion> {
  const tenant = await engine.tenant(caller.tenant)
  const record = await readTask(engine, tenant, task_id)
  return { tenant, record, question: questionOf(record, n) }
}

/** Question `n` of a task, by default the newest. */
export function questionOf({ task, questions }: TaskRecord, n: number = task.question_count): Question {
  const question = questions.find((each) => each.n === n)
  if (question === undefined) throw new Fault('QUESTION_NOT_FOUND', { task_id: task.task_id, n })
  return question
}

/** An open question never changes, so comparing before the decision is submitted is enough. */
export function checkSeen(record: TaskRecord, question: Question, seen: string | undefined): void {
  if (seen === undefined || question.state !== 'open') return
  const content_hash = contentHashOf(record, question)
  if (seen === content_hash) return
  throw new Fault('CONTENT_CHANGED', { task_id: question.task_id, n: question.n, content_hash })
}

export async function submitDecision(
  engine: Engine,
  caller: Caller,
  tenant: TenantRef,
  question: Question,
  decision: Pick<Answer, 'decision' | 'reason' | 'answer' | 'via'> & Partial<Pick<Answer, 'content_hash'>>,
): Promise<DecisionAnswer> {
  const { task_id, n } = question
  const { state, status, decided_by, decided_at, is_duplicate, seq } = await engine.submitConfirmed({
    verb: 'answer',
    tenant: tenant.tenant,
    task_id,
    n,
    by: principalKey(caller.principal),
    role: caller.role,
    decision: decision.decision,
    reason: decision.reason,
    answer: decision.answer,
    content_hash: decision.content_hash ?? null,
    via: decision.via,
  })
  return {
    ok: true,
    task_id,
    n,
    state,
    status,
    decided_by: parsePrincipalKey(decided_by),
    decided_at: isoTime(decided_at),
    receipt_id: engine.receiptId(tenant, seq),
    is_duplicate,
  }
}

const MAX_CONTENT_BYTES = 64 * 1024

/** The responses to an elicitation of MCP. */
export const ANSWER_ACTIONS = ['accept', 'decline', 'cancel'] as const

export const answerQuestion = defineOperation({
  name: 'answer_question',
  title: 'Answer a question',
  description:
    'Answers the open question of one of your tasks that is input_required; get_task shows it in question, with the schema that content must match. The task then continues.',
  input: z.strictObject({
    task_id: taskId,
    n: questionNumber,
    content: json
      .optional()
      .describe(
        'The requested data, at most 64 KiB. It must match the schema of the request, if there is one. Required unless action is decline or cancel',
      ),
    action: z
      .enum(ANSWER_ACTIONS)
      .optional()
      .describe(
        'For a question whose origin is upstream. accept, the default: the upstream receives content; decline or cancel: it learns that the answer was refused or that nobody decided, and the call continues',
      ),
  }),
  output: decisionShape,
  actor: 'agent',
  access: 'answer',
  toolsets: ['agent'],
  modelFields: ['task_id', 'n', 'content'],
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/answer' },
  effect: WRITES_ONCE,
  example: {
    task_id: '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c',
    principal_id: 'planner',
    n: 2,
    content: { language: 'en' },
  },
  async run({ engine, schemas }, caller, { task_id, n, content, action = 'accept' }) {
    if (action === 'accept' && content === undefined) throw invalid('content', 'is required')
    if (action !== 'accept' && content !== undefined) throw invalid('content', `must be absent: ${action}`)
    const answer = canonicalWithin(
      action === 'accept' ? { content } : { action },
      'content',
      MAX_CONTENT_BYTES,
    )
    const { tenant, question } = await findQuestion(engine, caller, task_id, n)
    if (action !== 'accept' && originOf(question) !== 'upstream') {
      throw invalid('action', 'can only be accept: the question is not one of an upstream')
    }
    if (content !== undefined) await checkContent(schemas, question, content)
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
  toolsets: ['operator'],
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
