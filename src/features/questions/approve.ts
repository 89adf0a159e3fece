import { z } from 'zod'
import { checkApprover } from '../../core/authorization.ts'
import { diffOf } from '../../core/diff.ts'
import { invalid } from '../../core/errors.ts'
import {
  type CanonicalJson,
  canonical,
  canonicalWithin,
  type Json,
  parseCanonical,
} from '../../core/json/json.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { isAskedByGate, type Question } from '../../core/question.ts'
import { isoTime } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import { storedMembers } from '../../engine/stored-json.ts'
import type { Ruling } from '../../policy/ruling.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { json, taskId, text } from '../input.ts'
import { blockOf, redactedPayload } from '../policies/admission.ts'
import { policyContext } from '../policies/context.ts'
import type { StoredPolicies } from '../policies/stored-policies.ts'
import { readToolCall, TOOL_CALL, type ToolCall } from '../sessions/tool-calls.ts'
import type { Schemas } from '../task-types/schemas.ts'
import type { TaskTypes } from '../task-types/task-types.ts'
import { inputOf } from '../tasks/task-input.ts'
import { contentHash, payloadAt, workWith } from '../tasks/work.ts'
import { READ_RESOURCE } from '../upstreams/reads.ts'
import type { TenantUpstreams } from '../upstreams/upstreams.ts'
import {
  checkSeen,
  decisionShape,
  findQuestion,
  questionNumber,
  seenHash,
  submitDecision,
} from './decision.ts'

export const approve = defineOperation({
  name: 'approve',
  title: 'Approve a task',
  description:
    'For people: lets a task that is pending_approval continue, with its payload or with an edited one. The principal that asked for the work cannot approve it. ' +
    'The first decision counts. With remember_until the same agent needs no further approval until then.',
  input: z.strictObject({
    task_id: taskId,
    n: questionNumber,
    content_hash: seenHash,
    comment: text(2000).optional().describe('A comment for the worker'),
    payload: json.optional().describe('Replaces the payload of the task; the payload is unchanged if absent'),
    remember_until: z.iso
      .datetime({ offset: true })
      .optional()
      .describe('Until this time the same agent needs no approval for the same task type or tool'),
  }),
  output: decisionShape,
  actor: 'agent',
  access: 'approve',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/approvals/{task_id}/approve' },
  effect: WRITES_ONCE,
  needsPerson: true,
  example: {
    task_id: '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c',
    n: 1,
    comment: 'Only to the first ten.',
    payload: { document: 'report.pdf', recipients: 10 },
  },
  async run(services, caller, { task_id, n, comment, payload, remember_until, content_hash }) {
    const { engine, policies } = services
    const until = remember_until === undefined ? undefined : futureTime(remember_until)
    const { tenant, record, question } = await findQuestion(engine, caller, task_id, n)
    checkApprover(record.task, question, principalKey(caller.principal))
    if (until !== undefined && !isAskedByGate(question)) {
      throw invalid('remember_until', 'applies only to questions of a policy; a worker asked this one')
    }
    checkSeen(record, question, content_hash)
    const edit = await editOf(services, tenant, record, question, payload)
    const answer = canonical({ comment, ...edit })
    const decided = await submitDecision(engine, caller, tenant, question, {
      decision: 'approve',
      reason: null,
      answer,
      content_hash: editedHash(record, question, answer),
    })
    if (until === undefined) return decided
    const rule_id = await rememberApproval(policies, caller, tenant, record, question, until, comment)
    return { ...decided, rule_id }
  },
})

export interface RulingDeps {
  readonly policies: StoredPolicies
  readonly upstreams: TenantUpstreams | undefined
}

interface EditDeps extends RulingDeps {
  readonly engine: Engine
  readonly taskTypes: TaskTypes
  readonly schemas: Schemas
}

/**
 * What the rules say about an approval now: they may have changed since the question was asked. Rejects if a rule
 * blocks. A default that blocks is no obstacle, because a person has approved.
 */
export async function rulingAtApproval(
  { policies, upstreams }: RulingDeps,
  tenant: TenantRef,
  { task, spec }: TaskRecord,
  question: Question,
  payload: Json,
): Promise<Ruling> {
  // Another server may have changed the rules a moment ago.
  const { book: rules } = await policies.fresh(tenant.tenant)
  const ruling = rules.rule(
    policyContext(upstreams, tenant, {
      type: spec.type,
      input: inputOf(spec.input),
      payload,
      session_id: spec.session_id,
      principal_ai: task.principal_ai,
      principal: task.owner,
    }),
  )
  // A repeated decision gets its first response.
  const block = question.state === 'open' && ruling.rule_id !== null ? blockOf(ruling) : undefined
  if (block !== undefined) throw block
  return ruling
}

/** The part of the answer that describes an edited payload: the difference to the payload before this question. */
async function editOf(
  deps: EditDeps,
  tenant: TenantRef,
  record: TaskRecord,
  question: Question,
  payload: Json | undefined,
): Promise<{ payload?: Json; diff?: Json }> {
  const before = payloadAt(record, question.n - 1)
  if (payload !== undefined) await checkEdited(deps, tenant, record, before, payload)
  const ruling = await rulingAtApproval(deps, tenant, record, question, payload ?? before)
  if (payload === undefined) return {}
  const { payload: after } = redactedPayload(record.spec.type, payload, ruling)
  const diff = diffOf(before, after)
  return diff.length === 0 ? {} : { payload: after, diff: diff.map((difference) => ({ ...difference })) }
}

/** An edited payload must satisfy the same checks as every payload: its size and the schema of its task type. */
async function checkEdited(
  { engine, taskTypes, schemas }: EditDeps,
  { tenant }: TenantRef,
  { spec }: TaskRecord,
  before: Json,
  payload: Json,
): Promise<void> {
  const text = canonicalWithin(payload, 'payload', engine.settingsOf(tenant).max_payload_bytes)
  if (spec.type === TOOL_CALL) checkSameTool(before, payload)
  const types = taskTypes.known(tenant) ?? (await taskTypes.load(tenant))
  const refusal = await types.rules.get(spec.type)?.refusal(schemas, { value: payload, text })
  if (refusal !== undefined) throw refusal
}

/** Only the arguments of a tool call can be edited: a different tool is a different call, which the rules have not seen. */
function checkSameTool(before: Json, payload: Json): void {
  const [call, edited] = [readToolCall(before), readToolCall(payload)]
  for (const name of ['upstream', 'tool'] as const) {
    if (call[name] !== edited[name]) throw invalid(`payload.${name}`, `must stay ${canonical(call[name])}`)
  }
}

/** The hash of the approved content if the payload was edited; null otherwise. */
function editedHash(record: TaskRecord, question: Question, answer: CanonicalJson): string | null {
  const { payload } = storedMembers(answer)
  return payload === undefined ? null : contentHash(question, workWith(record, payload))
}

/** Creates a rule so that the owner of the task needs no further approval for this tool or task type. */
function rememberApproval(
  policies: StoredPolicies,
  caller: Caller,
  { tenant }: TenantRef,
  { task, spec }: TaskRecord,
  question: Question,
  until: number,
  comment: string | undefined,
): Promise<string> {
  const call = spec.type === TOOL_CALL ? readToolCall(inputOf(spec.input).payload) : undefined
  const by = principalKey(caller.principal)
  return policies.remember(tenant, {
    principal: task.owner,
    type: spec.type,
    upstream: call?.upstream ?? null,
    tool: call?.tool ?? null,
    uri: call && uriOf(call),
    until,
    by,
    reason: comment ?? `${by} approved task ${task.task_id} and similar ones until ${isoTime(until)}.`,
    rule_id: ruleOf(question),
  })
}

/** An approval to read one resource does not extend to others; prompts need no such limit, each is a tool name. */
function uriOf({ tool, arguments: { uri } }: ToolCall): string | undefined {
  return tool === READ_RESOURCE && typeof uri === 'string' ? uri : undefined
}

/** The rule that asked; null if the default action did. */
function ruleOf({ request }: Question): string | null {
  const asked = parseCanonical(request)
  if (typeof asked !== 'object' || asked === null || !('rule_id' in asked)) return null
  return typeof asked.rule_id === 'string' ? asked.rule_id : null
}

function futureTime(text: string): number {
  const time = Date.parse(text)
  if (!(time > Date.now())) throw invalid('remember_until', 'is not a time in the future')
  return time
}
