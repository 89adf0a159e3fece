import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import type { Ask } from '../../core/command.ts'
import { diffOf } from '../../core/diff.ts'
import { invalid } from '../../core/errors.ts'
import { type CanonicalJson, canonical, canonicalWithin } from '../../core/json/json.ts'
import type { Caller } from '../../core/principal.ts'
import { QUESTION_KINDS, type QuestionKind } from '../../core/question.ts'
import { isoOrNull } from '../../core/time.ts'
import type { Status } from '../../core/transitions.ts'
import { json, jsonObject, leaseFields, ONE_YEAR, parse, seconds, text } from '../input.ts'
import { leaseCall } from '../leases/lease-call.ts'
import { mayRedact, redactorOf } from '../policies/results.ts'
import type { Services } from '../services.ts'
import type { Schemas } from '../task-types/schemas.ts'
import { contentHash, workAt } from '../tasks/work.ts'

const MAX_REQUEST_BYTES = 64 * 1024

const request = z.strictObject({
  title: text(500).optional().meta({ description: 'approval: what is to be approved, in a line' }),
  show: json.optional().meta({ description: 'approval: what the person should see before deciding' }),
  reason: text(2000).optional().meta({ description: 'approval: why it is asked' }),
  rule_id: text(255).optional().meta({ description: 'approval: the rule that asks for it' }),
  message: text(4000).optional().meta({ description: 'input: what is needed, in words' }),
  schema: jsonObject.optional().meta({ description: 'input: JSON Schema 2020-12 that the answer must fit' }),
})

export const askInput = z.strictObject({
  ...leaseFields,
  kind: z.enum(QUESTION_KINDS),
  request,
  expires_in_seconds: seconds(ONE_YEAR, 1).optional(),
})

type AskInput = z.output<typeof askInput>

export interface AskAnswer {
  readonly ok: true
  readonly task_id: string
  readonly n: number
  readonly status: Status
  readonly expires_at: string | null
  readonly receipt_id: string
}

/** The worker stops here and lets the task go; whoever claims it once it is answered begins anew, with the answer. */
export async function ask(engine: Services, caller: Caller, input: unknown): Promise<AskAnswer> {
  checkRole(caller, 'lease')
  const asked = parse(askInput, input)
  const lease = await leaseCall(engine, caller, asked)
  const { kind, expires_in_seconds } = asked
  const request = await checkedRequest(engine.schemas, kind, await keptRequest(engine, caller, asked))
  const question = {
    kind,
    expires_in_ms: expires_in_seconds === undefined ? null : expires_in_seconds * 1000,
    request,
    content_hash: await contentHashFor(engine, lease, { kind, request }),
  }
  const { n, status, expires_at, seq } = await engine.submit({ verb: 'ask', question, ...lease })
  const tenant = await engine.tenant(caller.tenant)
  return {
    ok: true,
    task_id: lease.task_id,
    n,
    status,
    expires_at: isoOrNull(expires_at),
    receipt_id: engine.receiptId(tenant, seq),
  }
}

/** The work cannot change while somebody holds its lease. Null: there is no such task, and the question will be refused. */
async function contentHashFor(
  engine: Services,
  { tenant, task_id }: Pick<Ask, 'tenant' | 'task_id'>,
  question: Pick<Ask['question'], 'kind' | 'request'>,
): Promise<string | null> {
  const record = await engine.reading(() => engine.store.reads.task(tenant, task_id))
  if (record === undefined) return null
  return contentHash(question, workAt(record, record.task.question_count))
}

/** What is kept of a request, and where something was taken out of it. */
type KeptRequest = AskInput['request'] & { readonly redacted_fields?: readonly string[] }

const REDACTED = ['title', 'show', 'reason', 'message'] as const

/** Without what rules take out of what workers say. */
async function keptRequest(engine: Services, caller: Caller, asked: AskInput): Promise<KeptRequest> {
  const tenant = await engine.tenant(caller.tenant)
  if (!mayRedact(engine, tenant.tenant)) return asked.request
  canonical(asked.request, 'request')
  const { text, json: value } = await redactorOf(engine, tenant, asked.task_id)
  const { title, show, reason, message } = asked.request
  const kept = {
    ...asked.request,
    ...(title !== undefined && { title: text(title) }),
    ...(show !== undefined && { show: value(show) }),
    ...(reason !== undefined && { reason: text(reason) }),
    ...(message !== undefined && { message: text(message) }),
  }
  const redacted_fields = REDACTED.flatMap((name) =>
    diffOf(asked.request[name] ?? null, kept[name] ?? null).map(({ path }) => `/${name}${path}`),
  )
  return redacted_fields.length === 0 ? kept : { ...kept, redacted_fields }
}

const FIELDS = {
  approval: ['title', 'show', 'reason', 'rule_id', 'redacted_fields'],
  input: ['message', 'schema', 'redacted_fields'],
} as const satisfies Record<QuestionKind, readonly (keyof KeptRequest)[]>

async function checkedRequest(
  schemas: Schemas,
  kind: QuestionKind,
  asked: KeptRequest,
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
