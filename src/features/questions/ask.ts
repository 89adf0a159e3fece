import { z } from 'zod'
import { diffOf } from '../../core/diff.ts'
import { invalid } from '../../core/errors.ts'
import { type CanonicalJson, canonical, canonicalWithin } from '../../core/json/json.ts'
import { QUESTION_KINDS, type QuestionKind } from '../../core/question.ts'
import { isoOrNull } from '../../core/time.ts'
import type { TenantRef } from '../../store/store.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { json, jsonObject, leaseFields, ONE_YEAR, seconds, text, time } from '../input.ts'
import { leaseCall } from '../leases/lease-call.ts'
import { mayRedact, type RedactionDeps, redactorOf } from '../policies/results.ts'
import type { Schemas } from '../task-types/schemas.ts'
import { statusShape } from '../tasks/shape.ts'
import { MAX_REQUEST_BYTES, submitQuestion } from './submit-question.ts'
import { questionFields } from './view.ts'

const request = z
  .strictObject({
    title: text(500).optional().describe('approval, required: what to approve, in one line'),
    show: json.optional().describe('approval: what the person should see before deciding'),
    reason: text(2000).optional().describe('approval: why the approval is requested'),
    rule_id: text(255).optional().describe('approval: the rule that requires it'),
    message: text(4000).optional().describe('input, required: what data is needed, in words'),
    schema: jsonObject.optional().describe('input: JSON Schema 2020-12 that the answer must match'),
  })
  .describe('The question; which members apply depends on kind. At most 64 KiB')

const askInput = z.strictObject({
  ...leaseFields,
  kind: z
    .enum(QUESTION_KINDS)
    .describe('approval: a person approves or denies; input: the agent answers with data'),
  request,
  expires_in_seconds: seconds(ONE_YEAR, 1)
    .optional()
    .describe(
      'How long to wait for an answer. If absent, input waits without limit and approval as long as the server is configured to',
    ),
})

type AskInput = z.output<typeof askInput>

const askedShape = z.object({
  ok: z.literal(true).describe('Always true'),
  task_id: z.string().describe('The task'),
  n: questionFields.n,
  status: statusShape.describe('The status of the task: pending_approval or input_required'),
  expires_at: time.nullable().describe('When the question expires; null if it never does'),
  receipt_id: z.string().describe('The question.asked receipt'),
})

export type AskAnswer = z.output<typeof askedShape>

export const ask = defineOperation({
  name: 'ask',
  title: 'Ask a question',
  description:
    'For workers: parks a task that you hold until its question is answered. kind approval asks a person to approve or deny, kind input asks the agent for data. ' +
    'Your lease ends: stop working. A worker receives the task again with the answer in answers; a denial ends the task.',
  input: askInput,
  output: askedShape,
  actor: 'worker',
  access: 'lease',
  toolsets: ['worker'],
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/ask' },
  effect: WRITES_ONCE,
  example: {
    worker_id: 'w1',
    task_id: '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c',
    lease_id: '5f40b7ca-2933-4136-aa7c-b3cd5b9de299',
    kind: 'approval',
    request: { title: 'Send the report to all customers?', show: { recipients: 214 } },
  },
  async run(services, caller, asked) {
    const { engine, schemas } = services
    const lease = await leaseCall(services, caller, asked)
    const tenant = await engine.tenant(caller.tenant)
    const { kind, expires_in_seconds } = asked
    const { n, status, expires_at, seq } = await submitQuestion(engine, lease, {
      kind,
      expires_in_ms: expires_in_seconds === undefined ? null : expires_in_seconds * 1000,
      request: await checkedRequest(schemas, kind, await redactedRequest(services, tenant, asked)),
    })
    return {
      ok: true as const,
      task_id: lease.task_id,
      n,
      status,
      expires_at: isoOrNull(expires_at),
      receipt_id: engine.receiptId(tenant, seq),
    }
  },
})

/** A request after redaction, with the paths of what was redacted. */
type RedactedRequest = AskInput['request'] & { readonly redacted_fields?: readonly string[] }

const REDACTED = ['title', 'show', 'reason', 'message'] as const

/** Applies the rules that redact what workers report. */
async function redactedRequest(
  deps: RedactionDeps,
  tenant: TenantRef,
  asked: AskInput,
): Promise<RedactedRequest> {
  if (!mayRedact(deps, tenant.tenant)) return asked.request
  canonical(asked.request, 'request')
  const { text, json: value } = await redactorOf(deps, tenant, asked.task_id)
  const { title, show, reason, message } = asked.request
  const redacted = {
    ...asked.request,
    ...(title !== undefined && { title: text(title) }),
    ...(show !== undefined && { show: value(show) }),
    ...(reason !== undefined && { reason: text(reason) }),
    ...(message !== undefined && { message: text(message) }),
  }
  const redacted_fields = REDACTED.flatMap((name) =>
    diffOf(asked.request[name] ?? null, redacted[name] ?? null).map(({ path }) => `/${name}${path}`),
  )
  return redacted_fields.length === 0 ? redacted : { ...redacted, redacted_fields }
}

const FIELDS = {
  approval: ['title', 'show', 'reason', 'rule_id', 'redacted_fields'],
  input: ['message', 'schema', 'redacted_fields'],
} as const satisfies Record<QuestionKind, readonly (keyof RedactedRequest)[]>

async function checkedRequest(
  schemas: Schemas,
  kind: QuestionKind,
  asked: RedactedRequest,
): Promise<CanonicalJson> {
  const allowed: readonly string[] = FIELDS[kind]
  const [needed] = FIELDS[kind]
  for (const [name, value] of Object.entries(asked)) {
    if (value === undefined || allowed.includes(name)) continue
    throw invalid(`request.${name}`, `is not part of a request for ${kind}`)
  }
  if (asked[needed] === undefined) throw invalid(`request.${needed}`, 'is required')
  if (asked.schema !== undefined) await schemas.checkSchema(asked.schema, 'request.schema')
  return canonicalWithin(asked, 'request', MAX_REQUEST_BYTES)
}
