import { z } from 'zod'
import { checkApprover, checkRole } from '../../core/authorization.ts'
import type { Answer } from '../../core/command.ts'
import { diffOf } from '../../core/diff.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { type CanonicalJson, canonical, canonicalWithin, type Json } from '../../core/json/json.ts'
import { type Caller, type Principal, parsePrincipalKey, principalKey } from '../../core/principal.ts'
import { type DecidedState, isAskedByGate, type Question } from '../../core/question.ts'
import { isoTime } from '../../core/time.ts'
import type { Status } from '../../core/transitions.ts'
import { storedMembers } from '../../engine/stored-json.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { json, parse, taskId, text } from '../input.ts'
import { redactedPayload } from '../policies/admission.ts'
import type { Services } from '../services.ts'
import { readTask } from '../tasks/read-task.ts'
import { contentHash, contentHashOf, payloadAt, workWith } from '../tasks/work.ts'
import { checkContent } from './answer-content.ts'
import { checkEdited, checkUnblocked, ruledAgain } from './edited-payload.ts'
import { rememberApproval } from './remembered-approval.ts'

const n = z.int().min(1).optional().meta({
  description: 'Which question of the task; the newest if absent. Name the one you have seen.',
})

const content_hash = text(128).optional().meta({
  description:
    'That of the approval you have seen. If it is no longer that of the question, nothing is decided',
})

export const approveInput = z.strictObject({
  task_id: taskId,
  n,
  content_hash,
  comment: text(2000).optional(),
  payload: json.optional().meta({ description: 'The payload to be used instead of the one that was asked' }),
  remember_until: z.iso
    .datetime({ offset: true })
    .optional()
    .meta({ description: 'Until then the same agent need not ask again for the same type or tool' }),
})

export const denyInput = z.strictObject({ task_id: taskId, n, content_hash, reason: text(2000) })

export const answerInput = z.strictObject({
  task_id: taskId,
  n,
  content: json.meta({
    description: 'What was asked for; it must fit the schema of the request, if there is one',
  }),
})

export interface DecisionAnswer {
  readonly ok: true
  readonly task_id: string
  readonly n: number
  readonly state: DecidedState
  /** Of the task. */
  readonly status: Status
  readonly decided_by: Principal
  readonly decided_at: string
  readonly receipt_id: string
  /** This very decision had been made before, and nothing was changed. */
  readonly is_duplicate: boolean
  /** The rule that remembers it. */
  readonly rule_id?: string | undefined
}

export async function approve(engine: Services, caller: Caller, input: unknown): Promise<DecisionAnswer> {
  checkRole(caller, 'approve')
  const { task_id, n, comment, payload, remember_until, content_hash } = parse(approveInput, input)
  const until = remember_until === undefined ? undefined : futureTime(remember_until)
  const { tenant, record, question } = await find(engine, caller, task_id, n)
  checkApprover(record.task, question, principalKey(caller.principal))
  if (until !== undefined && !isAskedByGate(question)) {
    throw invalid('remember_until', 'is for what a rule asks about; this was asked by a worker')
  }
  checkSeen(record, question, content_hash)
  const edit = await editOf(engine, tenant, record, question, payload)
  const answer = canonical({ comment, ...edit })
  const decided = await submit(engine, caller, tenant, question, {
    decision: 'approve',
    reason: null,
    answer,
    content_hash: editedHash(record, question, answer),
  })
  if (until === undefined) return decided
  const rule_id = await rememberApproval(engine, caller, tenant, record, question, { until, comment })
  return { ...decided, rule_id }
}

export async function deny(engine: Services, caller: Caller, input: unknown): Promise<DecisionAnswer> {
  checkRole(caller, 'approve')
  const { task_id, n, content_hash, reason } = parse(denyInput, input)
  const { tenant, record, question } = await find(engine, caller, task_id, n)
  checkSeen(record, question, content_hash)
  const answer = canonical({ reason })
  return submit(engine, caller, tenant, question, { decision: 'deny', reason, answer })
}

const MAX_CONTENT_BYTES = 64 * 1024

export async function answerQuestion(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<DecisionAnswer> {
  checkRole(caller, 'answer')
  const { task_id, n, content } = parse(answerInput, input)
  const answer = canonicalWithin({ content }, 'content', MAX_CONTENT_BYTES)
  const { tenant, question } = await find(engine, caller, task_id, n)
  await checkContent(engine.schemas, question, content)
  return submit(engine, caller, tenant, question, { decision: 'answer', reason: null, answer })
}

interface Found {
  readonly tenant: TenantRef
  readonly record: TaskRecord
  readonly question: Question
}

async function find(
  engine: Services,
  caller: Caller,
  task_id: string,
  n: number | undefined,
): Promise<Found> {
  const tenant = await engine.tenant(caller.tenant)
  const record = await readTask(engine, tenant, task_id)
  return { tenant, record, question: questionOf(record, n) }
}

/** That one, or the newest. */
export function questionOf({ task, questions }: TaskRecord, n: number = task.question_count): Question {
  const question = questions.find((each) => each.n === n)
  if (question === undefined) throw new Fault('QUESTION_NOT_FOUND', { task_id: task.task_id, n })
  return question
}

/** An open question never changes, so it is enough to compare it before it is decided. */
function checkSeen(record: TaskRecord, question: Question, seen: string | undefined): void {
  if (seen === undefined || question.state !== 'open') return
  const content_hash = contentHashOf(record, question)
  if (seen === content_hash) return
  throw new Fault('CONTENT_CHANGED', { task_id: question.task_id, n: question.n, content_hash })
}

/**
 * What the answer keeps of a payload that was changed. Compared with what the task had before this question. The rules are
 * asked again, whether or not it was changed: one of them may be younger than the question.
 */
async function editOf(
  engine: Services,
  tenant: TenantRef,
  record: TaskRecord,
  question: Question,
  payload: Json | undefined,
): Promise<{ payload?: Json; diff?: Json }> {
  const before = payloadAt(record, question.n - 1)
  if (payload !== undefined) await checkEdited(engine, tenant, record, before, payload)
  const ruling = await ruledAgain(engine, tenant, record, payload ?? before)
  // Whoever says again what was decided is answered as the first time.
  if (question.state === 'open') checkUnblocked(ruling)
  if (payload === undefined) return {}
  const { payload: after } = redactedPayload(record.spec.type, payload, ruling)
  const diff = diffOf(before, after)
  return diff.length === 0 ? {} : { payload: after, diff: diff.map((difference) => ({ ...difference })) }
}

/** The hash of what is approved, if that is not what was asked. */
function editedHash(record: TaskRecord, question: Question, answer: CanonicalJson): string | null {
  const { payload } = storedMembers(answer)
  return payload === undefined ? null : contentHash(question, workWith(record, payload))
}

async function submit(
  engine: Services,
  caller: Caller,
  tenant: TenantRef,
  question: Question,
  decision: Pick<Answer, 'decision' | 'reason' | 'answer'> & Partial<Pick<Answer, 'content_hash'>>,
): Promise<DecisionAnswer> {
  const { task_id, n } = question
  const { state, status, decided_by, decided_at, is_duplicate, seq } = await engine.submit({
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

function futureTime(text: string): number {
  const time = Date.parse(text)
  if (!(time > Date.now())) throw invalid('remember_until', 'is not a time in the future')
  return time
}
