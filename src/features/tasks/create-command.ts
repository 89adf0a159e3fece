import { body } from '../../core/bodies.ts'
import type { Block, Create } from '../../core/command.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { receiptSeq } from '../../core/ids.ts'
import { type CanonicalJson, canonical, type JsonObject } from '../../core/json/json.ts'
import { type ConcurrencyLimit, limitedName, type RateLimit, sortedSet } from '../../core/matching.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { schedulingOf } from '../../core/scheduling.ts'
import type { Settings } from '../../core/settings.ts'
import { isoTime } from '../../core/time.ts'
import type { TenantRef } from '../../store/store.ts'
import { relationsOf } from '../flow/relation-input.ts'
import type { Admission } from '../policies/admission.ts'
import { checkNoSessionLane, TOOL_CALL_DEFAULTS } from '../sessions/tool-calls.ts'
import { keyAt, shortKey } from '../task-types/payload-path.ts'
import type { TaskTypeRule } from '../task-types/task-type-rule.ts'
import type { TypeOptions } from '../task-types/type-options.ts'
import { type CreateInput, deliveryOf, storedInput } from './task-input.ts'
import { contentHash, workOf } from './work.ts'

export const EMPTY: JsonObject = {}

/** What is special about a task that is a call of an upstream's tool. */
export interface ToolCallRule {
  readonly capabilities: readonly string[]
  readonly refusal: Fault | undefined
}

/** The results of the checks of an input. */
interface Checked {
  /** The canonical input to store. */
  readonly text: CanonicalJson
  /** The canonical input before redaction; undefined if nothing was redacted. */
  readonly asked: CanonicalJson | undefined
  /** The idempotency key: given, or made from the payload. */
  readonly key: string | undefined
  readonly refusal: Fault | undefined
  readonly block: Block | undefined
  readonly question: Admission['question']
  readonly policy: CanonicalJson | null
}

/** The command that creates a task. Defaults come from the task type, then from the server. */
export function createCommand(
  tenant: TenantRef,
  caller: Caller,
  input: CreateInput,
  settings: Settings,
  type: TaskTypeRule | undefined,
  call: ToolCallRule | undefined,
  { text, asked, key, refusal, block, question, policy }: Checked,
): Create {
  const required = input.requirements?.capabilities
  if (required !== undefined) checkNoSessionLane(required, 'requirements.capabilities')
  const capabilities = call?.capabilities ?? sortedSet(required ?? [])
  const standard = call === undefined ? settings : TOOL_CALL_DEFAULTS
  const defaults = type?.options
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
    escalation_class: input.escalation_class ?? type?.view.escalation_class ?? null,
    scheduling: schedulingOf({ retry: input.retry ?? defaults?.default_retry ?? undefined }),
    retention_days: retentionOf(input, defaults?.retention_days, settings),
    limit: call === undefined ? limitOf(input, defaults?.concurrency ?? null) : null,
    rate: call === undefined ? rateOf(input, defaults?.rate ?? null) : null,
    delay_ms: (input.delay_seconds ?? 0) * 1000,
    session_id: input.session_id ?? null,
    labels: labelsOf(input, defaults?.default_labels ?? null),
    idempotency_key: key ?? null,
    caused_by: causeOf(tenant, input),
    input: text,
    asked,
    contract: contractOf(input, timeout_seconds, caller.principal.instance_id),
    question: null,
    policy,
    refusal,
    block,
    relations: relationsOf(caller, input),
  }
  if (question === null) return command
  const stored = storedInput(text)
  const content_hash = contentHash(question, workOf(command, stored, stored.payload ?? EMPTY))
  return { ...command, question: { ...question, content_hash } }
}

/** The time limit of one attempt; null if there is none. */
function timeoutOf(
  input: CreateInput,
  ofType: number | null | undefined,
  { default_timeout_seconds }: Settings,
): number | null {
  const standard = default_timeout_seconds === 0 ? null : default_timeout_seconds
  return input.timeout_seconds ?? ofType ?? standard
}

/** How long the contents of the task are stored after its end; null if without limit. */
function retentionOf(
  input: CreateInput,
  ofType: number | null | undefined,
  { task_retention_days }: Settings,
): number | null {
  const standard = task_retention_days === 0 ? null : task_retention_days
  return input.retention_days ?? ofType ?? standard
}

/** Tasks without the value of the key share one limit. */
function limitOf(
  { type, payload }: CreateInput,
  concurrency: TypeOptions['concurrency'],
): ConcurrencyLimit | null {
  if (concurrency === null) return null
  return { limited: limitedName(type, keyValue(payload, concurrency.key)), max_held: concurrency.limit }
}

/** Tasks without the value of the key share one rate. */
function rateOf({ type, payload }: CreateInput, rate: TypeOptions['rate']): RateLimit | null {
  if (rate === null) return null
  return {
    rated: limitedName(type, keyValue(payload, rate.key)),
    limit: rate.limit,
    seconds: rate.seconds,
  }
}

function keyValue(payload: CreateInput['payload'], key: string | undefined): string | null {
  const value = key === undefined ? undefined : keyAt(payload, key)
  return value === undefined ? null : shortKey(value)
}

const MAX_LABELS = 32

function labelsOf({ labels }: CreateInput, ofType: CreateInput['labels'] | null): CanonicalJson | null {
  const all = ofType === null || ofType === undefined ? labels : { ...ofType, ...labels }
  if (all === undefined) return null
  if (Object.keys(all).length > MAX_LABELS) {
    throw invalid(
      'labels',
      `has more than ${MAX_LABELS} entries${all === labels ? '' : ' with those of the type'}`,
    )
  }
  return canonical(all, 'labels')
}

function causeOf(tenant: TenantRef, input: CreateInput): number | null {
  if (input.caused_by_receipt_id === undefined) return null
  const seq = receiptSeq(tenant.salt, input.caused_by_receipt_id)
  if (seq === undefined)
    throw new Fault('PARENT_NOT_FOUND', { caused_by_receipt_id: input.caused_by_receipt_id })
  return seq
}

/** The obligation towards the owner, as the task.assigned receipt states it. */
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

function timeoutsOf({ deadline_at }: CreateInput, execution: number | null): JsonObject {
  if (execution === null && deadline_at === undefined) return EMPTY
  return {
    ...(execution !== null && { execution }),
    ...(deadline_at !== undefined && { deadline: isoTime(Date.parse(deadline_at)) }),
  }
}
