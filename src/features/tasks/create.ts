import { z } from 'zod'
import { assemble } from '../../core/bodies.ts'
import { Fault } from '../../core/errors.ts'
import { type CanonicalJson, canonical, canonicalWithin } from '../../core/json/json.ts'
import type { Caller } from '../../core/principal.ts'
import type { Settings } from '../../core/settings.ts'
import type { TenantRef } from '../../store/store.ts'
import type { RateLimits } from '../limits/rate-limits.ts'
import type { TenantLimitsRegistry } from '../limits/tenant-limits.ts'
import { admit } from '../policies/admission.ts'
import type { StoredPolicies } from '../policies/stored-policies.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { COMMON_SESSION_LANE, sessionLaneName, TOOL_CALL, toolCallRefusal } from '../sessions/tool-calls.ts'
import type { Schemas } from '../task-types/schemas.ts'
import type { GivenPayload } from '../task-types/task-type-rule.ts'
import type { TenantUpstreams } from '../upstreams/upstreams.ts'
import { checkWebhooks } from '../webhooks/webhook-url.ts'
import { createCommand, EMPTY, type ToolCallRule } from './create-command.ts'
import { keyOf } from './derived-key.ts'
import { liveWorkers, type OutlookDeps, outlook } from './outlook.ts'
import { statusShape, taskShape } from './shape.ts'
import type { CreateInput } from './task-input.ts'

export const createdShape = z.object({
  task_id: z.string().describe('Id of the task'),
  status: statusShape,
  is_duplicate: z
    .boolean()
    .describe('True if a task with this idempotency_key already existed: the response describes that task'),
  receipt_id: z.string().describe('The task.assigned receipt, which opens the obligation towards you'),
  estimated_runtime_seconds: z.int().optional().describe('Usual run time of tasks of this type, in seconds'),
  poll_suggestion_seconds: z
    .int()
    .optional()
    .describe('Suggested delay before the first status check, in seconds'),
  live_workers: liveWorkers,
  console_url: taskShape.shape.console_url,
  hint: taskShape.shape.hint,
})

export type CreateAnswer = z.output<typeof createdShape>

/** The collaborators of create_task, and of every operation that creates a task. */
export interface CreateDeps extends OutlookDeps {
  readonly schemas: Schemas
  readonly policies: StoredPolicies
  readonly limits: TenantLimitsRegistry
  readonly rateLimits: RateLimits
  readonly webhookTenants: ReadonlySet<string>
  readonly upstreams: TenantUpstreams | undefined
  readonly toolCalls: { readonly sessions: ReadonlyMap<number, Pick<Sessions, 'submitted'>> }
}

interface CreateOptions {
  /** The session lane in which a tool call waits. */
  readonly lane?: number | undefined
  /** The request, if it creates many tasks. */
  readonly request?: object
  /** False: without a key, the task is a new one whatever its payload says. */
  readonly derivesKey?: boolean
}

/** Creates a task from valid input. */
export async function createTask(
  deps: CreateDeps,
  tenant: TenantRef,
  caller: Caller,
  input: CreateInput,
  { lane = COMMON_SESSION_LANE, request, derivesKey = true }: CreateOptions = {},
): Promise<CreateAnswer> {
  const { engine, taskTypes, schemas, policies, upstreams, toolCalls, links } = deps
  const limits = deps.limits.known(tenant.tenant) ?? (await deps.limits.load(tenant.tenant))
  const { settings } = limits
  if (input.webhook_url !== undefined) checkWebhooks(deps.webhookTenants, tenant)
  if (limits.tasks !== null) await deps.rateLimits.countTask(caller, limits)
  const types = taskTypes.known(tenant.tenant) ?? (await taskTypes.load(tenant.tenant))
  const type = types.rules.get(input.type)
  const call = input.type === TOOL_CALL ? toolCallRule(upstreams, tenant, input, lane) : undefined
  const { book: rules } = policies.known(tenant.tenant) ?? (await policies.load(tenant.tenant))
  const members = canonicalMembers(input, settings)
  const text = assemble(members)
  const key = derivesKey ? keyOf(type, input) : input.idempotency_key
  const refusal =
    call?.refusal ??
    (type?.publishedBy === 'registered' ? undefined : unregistered(input.type, settings)) ??
    (type && (await type.refusal(schemas, givenPayload(input, members.payload, request))))
  // A repeated request gets the first response, even if a new one with this input would be refused by now.
  if (refusal !== undefined && key === undefined) throw refusal
  const isFree = rules.isOpen && call === undefined
  const admission = isFree ? undefined : admit({ settings, upstreams }, rules, tenant, caller, input)
  const isUnchanged = admission === undefined || admission.input === input
  const command = createCommand(tenant, caller, admission?.input ?? input, settings, type, call, {
    text: isUnchanged ? text : assemble(canonicalMembers(admission.input, settings)),
    asked: isUnchanged ? undefined : text,
    // A key that repeats a redacted value would store it.
    key: isUnchanged || !derivesKey || keyOf(type, admission.input) === key ? key : input.idempotency_key,
    refusal,
    block: admission?.block,
    question: admission?.question ?? null,
    policy: admission?.policy ?? null,
  })
  const submitted = engine.submitConfirmed(command)
  // The gateway's claim, submitted now, finds the task in the same commit.
  if (call !== undefined && command.question === null && command.block === undefined) {
    toolCalls.sessions.get(tenant.tenant)?.submitted(lane)
  }
  const { task_id, status, is_duplicate, seq } = await submitted
  const receipt_id = engine.receiptId(tenant, seq)
  return {
    task_id,
    status,
    is_duplicate,
    receipt_id,
    ...type?.guidance,
    ...links.console(task_id, status),
    ...(await outlook(deps, tenant.tenant, input.type, task_id, status)),
  }
}

function toolCallRule(
  upstreams: TenantUpstreams | undefined,
  { tenant }: TenantRef,
  input: CreateInput,
  lane: number,
): ToolCallRule {
  return { capabilities: [sessionLaneName(lane)], refusal: toolCallRefusal(input, upstreams?.of(tenant)) }
}

/** A type that a worker publishes is not registered: workers do not decide which types are allowed. */
function unregistered(type: string, settings: Settings): Fault | undefined {
  if (settings.allow_unknown_task_types || type === TOOL_CALL) return undefined
  return new Fault('TASK_TYPE_UNKNOWN', { type })
}

const EMPTY_TEXT = canonical(EMPTY)

/** The payload that the task type validates: undefined if it is stored elsewhere, an empty object if there is none. */
function givenPayload(
  { payload, payload_pointer }: CreateInput,
  text: CanonicalJson | undefined,
  request: object | undefined,
): GivenPayload | undefined {
  if (payload !== undefined && payload !== null && text !== undefined)
    return { value: payload, text, request }
  return payload_pointer === undefined ? { value: EMPTY, text: EMPTY_TEXT, request } : undefined
}

const MAX_MEMBER_BYTES = 128 * 1024

/** The canonical members of the input before defaults apply: they decide whether two requests with one key are the same. */
function canonicalMembers(input: CreateInput, settings: Settings): Readonly<Record<string, CanonicalJson>> {
  const members: Record<string, CanonicalJson> = {}
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined || name === 'idempotency_key') continue
    const limit = name === 'payload' ? settings.max_payload_bytes : MAX_MEMBER_BYTES
    members[name] = canonicalWithin(value, name, limit)
  }
  return members
}
