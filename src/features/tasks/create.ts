import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import { assemble, body } from '../../core/bodies.ts'
import type { Block, Create } from '../../core/command.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { receiptSeq } from '../../core/ids.ts'
import { type CanonicalJson, canonical, canonicalWithin, type JsonObject } from '../../core/json/json.ts'
import { sortedSet } from '../../core/matching.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Settings } from '../../core/settings.ts'
import { isoTime } from '../../core/time.ts'
import type { Status } from '../../core/transitions.ts'
import type { TenantRef } from '../../store/store.ts'
import { json, jsonObject, labels, ONE_YEAR, parse, seconds, text } from '../input.ts'
import { type Admission, admit } from '../policies/admission.ts'
import type { Services } from '../services.ts'
import {
  COMMON_SEAT,
  checkNoSeat,
  seatName,
  TOOL_CALL,
  TOOL_CALL_DEFAULTS,
  toolCallRefusal,
} from '../sessions/tool-calls.ts'
import type { GivenPayload, TaskTypeRule } from '../task-types/rule.ts'
import { outlook } from './outlook.ts'
import { storedInput } from './stored-input.ts'
import { contentHash, workOf } from './work.ts'

export const createInput = z.strictObject({
  type: text(255),
  /** The agent on whose behalf the task is done; the caller itself if absent. */
  principal_ai: text(255).optional(),
  payload: json.optional(),
  payload_pointer: text(2048).optional(),
  summary: text(2000).optional(),
  body: text(100 * 1024).optional(),
  inputs: jsonObject.optional(),
  requirements: z
    .strictObject({
      capabilities: z.array(text(128)).max(32).optional(),
      tags: z.array(text(128)).max(32).optional(),
    })
    .optional(),
  priority: z.int().min(-1000).max(1000).optional(),
  idempotency_key: text(255).optional(),
  max_attempts: z.int().min(1).max(1000).optional(),
  max_expiries: z.int().min(1).max(1000).optional(),
  retry_backoff_seconds: seconds(ONE_YEAR).optional(),
  delay_seconds: seconds(ONE_YEAR).optional(),
  timeout_seconds: seconds(ONE_YEAR, 1).optional(),
  deadline_at: z.iso.datetime({ offset: true }).optional().meta({
    description:
      'When the task as a whole has to have ended, at most 365 days ahead. By then it fails with DEADLINE_EXCEEDED, whatever its state',
  }),
  success_criteria: text(4000).optional().meta({
    description: 'When the work counts as done, in words. The worker and the receipt task.assigned have it',
  }),
  result_delivery: text(500).optional().meta({
    description:
      'Where and how the result is expected, in words, such as "store artifact pointer". return_payload if absent',
  }),
  expected_outcome_kind: text(50).optional(),
  expected_artifact_mime: text(255).optional(),
  parent_task_id: text(255).optional(),
  caused_by_receipt_id: text(64).optional(),
  session_id: text(255).optional(),
  labels: labels.optional(),
})

export type CreateInput = z.output<typeof createInput>

export interface CreateAnswer {
  readonly task_id: string
  readonly status: Status
  readonly is_duplicate: boolean
  readonly receipt_id: string
  /** What the registry of types says about tasks like this one. */
  readonly estimated_runtime_seconds?: number | undefined
  readonly poll_suggestion_seconds?: number | undefined
  /** Workers heard of lately that take the type. */
  readonly live_workers?: number | undefined
  /** The page of the task, for people. */
  readonly console_url?: string | undefined
  /** What the task waits for, if that is not just a free worker. */
  readonly hint?: string | undefined
}

export function create(engine: Services, caller: Caller, input: unknown): Promise<CreateAnswer> {
  return createWithin(engine, caller, input, {})
}

/** How a task comes to be created. */
interface Circumstances {
  /** Where a call of an upstream's tool waits for its turn. */
  readonly seat?: number | undefined
  /** The request that creates it, if that creates many. */
  readonly request?: object
}

export async function createWithin(
  engine: Services,
  caller: Caller,
  input: unknown,
  circumstances: Circumstances,
): Promise<CreateAnswer> {
  checkRole(caller, 'create')
  const tenant = await engine.tenant(caller.tenant)
  return createTask(engine, tenant, caller, parse(createInput, input), circumstances)
}

/** Creates a task from an input that was checked. */
export async function createTask(
  engine: Services,
  tenant: TenantRef,
  caller: Caller,
  input: CreateInput,
  { seat = COMMON_SEAT, request }: Circumstances = {},
): Promise<CreateAnswer> {
  const { taskTypes, policies, settings } = engine
  const types = taskTypes.known(tenant.tenant) ?? (await taskTypes.load(tenant.tenant))
  const type = types.rules.get(input.type)
  const call = input.type === TOOL_CALL ? toolCallOf(engine, tenant, input, seat) : undefined
  const rules = policies.known(tenant.tenant) ?? (await policies.load(tenant.tenant))
  const members = canonicalMembers(input, settings)
  const text = assemble(members)
  const refusal =
    call?.refusal ??
    (type === undefined
      ? unknownType(input.type, settings)
      : await type.refusal(engine.schemas, givenPayload(input, members.payload, request)))
  // Whoever asks again gets the first answer, even if what was asked would not be taken any more.
  if (refusal !== undefined && input.idempotency_key === undefined) throw refusal
  const isFree = rules.isOpen && call === undefined
  const admission = isFree ? undefined : admit(engine, rules, tenant, caller, input)
  const isKept = admission === undefined || admission.input === input
  const command = createCommand(tenant, caller, admission?.input ?? input, settings, type, call, {
    text: isKept ? text : assemble(canonicalMembers(admission.input, settings)),
    asked: isKept ? undefined : text,
    refusal,
    block: admission?.block,
    question: admission?.question ?? null,
    policy: admission?.policy ?? null,
  })
  const submitted = engine.submit(command)
  // Whoever looks now finds it in the same commit.
  if (call !== undefined && command.question === null && command.block === undefined) {
    engine.toolCalls.sessions?.submitted(seat)
  }
  const { task_id, status, is_duplicate, seq } = await submitted
  const receipt_id = engine.receiptId(tenant, seq)
  return {
    task_id,
    status,
    is_duplicate,
    receipt_id,
    ...type?.guidance,
    ...engine.links.console(task_id, status),
    ...(await outlook(engine, tenant.tenant, input.type, task_id, status)),
  }
}

/** What is special about a task that is a call of an upstream's tool. */
interface CallRule {
  readonly capabilities: readonly string[]
  readonly refusal: Fault | undefined
}

function toolCallOf(engine: Services, { tenant }: TenantRef, input: CreateInput, seat: number): CallRule {
  const upstreams = engine.upstreams?.tenant === tenant ? engine.upstreams : undefined
  return { capabilities: [seatName(seat)], refusal: toolCallRefusal(input, upstreams) }
}

/** What became of an input on its way to a command. */
interface Judged {
  readonly text: CanonicalJson
  readonly asked: CanonicalJson | undefined
  readonly refusal: Fault | undefined
  readonly block: Block | undefined
  readonly question: Admission['question']
  readonly policy: CanonicalJson | null
}

function createCommand(
  tenant: TenantRef,
  caller: Caller,
  input: CreateInput,
  settings: Settings,
  type: TaskTypeRule | undefined,
  call: CallRule | undefined,
  { text, asked: original, refusal, block, question, policy }: Judged,
): Create {
  const asked = input.requirements?.capabilities
  if (asked !== undefined) checkNoSeat(asked, 'requirements.capabilities')
  const capabilities = call?.capabilities ?? sortedSet(asked ?? [])
  const standard = call === undefined ? settings : TOOL_CALL_DEFAULTS
  const defaults = type?.view
  const timeout_seconds = timeoutOf(input, defaults?.default_timeout_seconds, settings)
  const command: Create = {
    verb: 'create',
    tenant: tenant.tenant,
    owner: principalKey(caller.principal),
    principal_ai: input.principal_ai ?? caller.principal.id,
    type: input.type,
    capabilities,
    priority: input.priority ?? defaults?.default_priority ?? settings.default_priority,
    max_attempts: input.max_attempts ?? defaults?.default_max_attempts ?? standard.default_max_attempts,
    max_expiries: input.max_expiries ?? settings.max_lease_expiries,
    retry_backoff_seconds:
      input.retry_backoff_seconds ??
      defaults?.default_retry_backoff_seconds ??
      standard.default_retry_backoff_seconds,
    timeout_seconds,
    deadline_at: input.deadline_at === undefined ? null : Date.parse(input.deadline_at),
    delay_ms: (input.delay_seconds ?? 0) * 1000,
    session_id: input.session_id ?? null,
    labels: labelsOf(input),
    idempotency_key: input.idempotency_key ?? null,
    caused_by: causeOf(tenant, input),
    input: text,
    asked: original,
    contract: contractOf(input, timeout_seconds, caller.principal.instance_id),
    question: null,
    policy,
    refusal,
    block,
  }
  if (question === null) return command
  const kept = storedInput(text)
  const content_hash = contentHash(question, workOf(command, kept, kept.payload ?? EMPTY))
  return { ...command, question: { ...question, content_hash } }
}

/** The limit of one attempt, from the task, its type or the settings; null if there is none. */
function timeoutOf(
  input: CreateInput,
  ofType: number | null | undefined,
  { default_timeout_seconds }: Settings,
): number | null {
  const standard = default_timeout_seconds === 0 ? null : default_timeout_seconds
  return input.timeout_seconds ?? ofType ?? standard
}

function unknownType(type: string, settings: Settings): Fault | undefined {
  if (settings.allow_unknown_task_types || type === TOOL_CALL) return undefined
  return new Fault('TASK_TYPE_UNKNOWN', { type })
}

const EMPTY: JsonObject = {}
const EMPTY_TEXT = canonical(EMPTY)

/** What its type looks at: nothing of a payload that is elsewhere, and an empty object if there is none. */
function givenPayload(
  { payload, payload_pointer }: CreateInput,
  text: CanonicalJson | undefined,
  request: object | undefined,
): GivenPayload | undefined {
  if (payload !== undefined && payload !== null && text !== undefined)
    return { value: payload, text, request }
  return payload_pointer === undefined ? { value: EMPTY, text: EMPTY_TEXT, request } : undefined
}

/** Texts that decide whether two creates with one key are the same: what was asked, before defaults. */
function canonicalMembers(asked: CreateInput, settings: Settings): Readonly<Record<string, CanonicalJson>> {
  const members: Record<string, CanonicalJson> = {}
  for (const [name, value] of Object.entries(asked)) {
    if (value === undefined || name === 'idempotency_key') continue
    const limit = name === 'payload' ? settings.max_payload_bytes : MAX_MEMBER_BYTES
    members[name] = canonicalWithin(value, name, limit)
  }
  return members
}

const MAX_MEMBER_BYTES = 128 * 1024
const MAX_LABELS = 32

function labelsOf(input: CreateInput): CanonicalJson | null {
  if (input.labels === undefined) return null
  if (Object.keys(input.labels).length > MAX_LABELS) {
    throw invalid('labels', `has more than ${MAX_LABELS} entries`)
  }
  return canonical(input.labels, 'labels')
}

function causeOf(tenant: TenantRef, input: CreateInput): number | null {
  if (input.caused_by_receipt_id === undefined) return null
  const seq = receiptSeq(tenant.salt, input.caused_by_receipt_id)
  if (seq === undefined)
    throw new Fault('PARENT_NOT_FOUND', { caused_by_receipt_id: input.caused_by_receipt_id })
  return seq
}

export function deliveryOf({ result_delivery }: CreateInput): string {
  return result_delivery ?? 'return_payload'
}

const NO_TIMEOUTS: JsonObject = {}

function timeoutsOf({ deadline_at }: CreateInput, execution: number | null): JsonObject {
  if (execution === null && deadline_at === undefined) return NO_TIMEOUTS
  return {
    ...(execution !== null && { execution }),
    ...(deadline_at !== undefined && { deadline: isoTime(Date.parse(deadline_at)) }),
  }
}

/** What the gate undertakes towards the owner. */
function contractOf(
  input: CreateInput,
  timeout: number | null,
  instanceId: string | undefined,
): CanonicalJson {
  return body({
    created_by_instance_id: canonical(instanceId ?? null),
    instructions: canonical(input.summary ?? `Execute task type: ${input.type}`),
    requirements: canonical(input.requirements ?? {}),
    result_delivery: canonical(deliveryOf(input)),
    success_criteria: canonical(input.success_criteria ?? input.expected_outcome_kind ?? null),
    timeouts: canonical(timeoutsOf(input, timeout)),
  })
}
