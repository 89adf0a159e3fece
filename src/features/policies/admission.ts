import { body } from '../../core/bodies.ts'
import type { Block } from '../../core/command.ts'
import { Fault } from '../../core/errors.ts'
import { type CanonicalJson, canonical, type Json } from '../../core/json/json.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Asked } from '../../core/question.ts'
import type { Settings } from '../../core/settings.ts'
import type { PolicyContext, Ruling, TenantPolicies } from '../../policy/ruling.ts'
import type { TenantRef } from '../../store/store.ts'
import { sha256 } from '../../util/hash.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import type { CreateInput } from '../tasks/task-input.ts'
import type { TenantUpstreams } from '../upstreams/upstreams.ts'
import { argumentsOf, policyContext } from './context.ts'
import { objectOf, textOf } from './values.ts'

interface AdmissionDeps {
  readonly settings: Pick<Settings, 'approval_expires_seconds'>
  readonly upstreams: TenantUpstreams | undefined
}

/** What the rules decide about a requested task. */
export interface Admission {
  readonly context: PolicyContext
  readonly ruling: Ruling
  /** The input to store: the same object if nothing is redacted. */
  readonly input: CreateInput
  /** The approval that is required first; null if none is. */
  readonly question: Omit<Asked, 'content_hash'> | null
  /** The `policy` of the task; null if no rule applied. */
  readonly policy: CanonicalJson | null
  readonly block: Block | undefined
}

/** Applies the rules to a task before any part of it is stored. The input is valid JSON. */
export function admit(
  { settings, upstreams }: AdmissionDeps,
  policies: TenantPolicies,
  tenant: TenantRef,
  caller: Caller,
  input: CreateInput,
): Admission {
  const context = policyContext(upstreams, tenant, {
    type: input.type,
    input,
    payload: input.payload,
    session_id: input.session_id ?? null,
    principal_ai: input.principal_ai ?? caller.principal.id,
    principal: principalKey(caller.principal),
  })
  const ruling = policies.rule(context)
  const { input: stored, fields } = redacted(input, ruling)
  return {
    context,
    ruling,
    input: stored,
    question: ruling.action === 'REQUIRE_APPROVAL' ? approvalOf(settings, context, ruling) : null,
    policy: policyOf(ruling, fields),
    block: ruling.action === 'BLOCK' ? blockedBy(context, ruling, stored) : undefined,
  }
}

/** The fault of a ruling that blocks; undefined for every other ruling. */
export function blockOf({ action, rule_id, reason }: Ruling): Fault | undefined {
  return action === 'BLOCK' ? new Fault('POLICY_BLOCKED', { rule_id, reason }, reason) : undefined
}

/** The receipt has a hash of the redacted arguments only: a short secret could be guessed from a hash that includes it. */
function blockedBy(context: PolicyContext, { rule_id, reason }: Ruling, stored: CreateInput): Block {
  const { type, upstream, tool, session } = context
  const args = type === TOOL_CALL ? argumentsOf(stored.payload) : (stored.payload ?? {})
  return {
    rule_id,
    reason,
    body: body({
      type: canonical(type),
      upstream: canonical(upstream),
      tool: canonical(tool),
      session_id: canonical(session),
      rule_id: canonical(rule_id),
      reason: canonical(reason),
      args_hash: canonical(sha256(canonical(args))),
    }),
  }
}

/** The redacted payload, and JSON pointers into it to what was redacted. */
export function redactedPayload(
  type: string,
  payload: Json,
  ruling: Ruling,
): { payload: Json; fields: string[] } {
  if (type !== TOOL_CALL) {
    const { value, fields } = ruling.redactArgs(payload)
    return { payload: value, fields: [...fields] }
  }
  const { value, fields } = ruling.redactArgs(argumentsOf(payload))
  if (fields.length === 0) return { payload, fields: [] }
  const call = typeof payload === 'object' && payload !== null ? payload : {}
  return { payload: { ...call, arguments: value }, fields: fields.map((field) => `/arguments${field}`) }
}

/** Fields of a task that are free text: the worker and the approver read them, so a secret could pass there. */
const TEXTS = [
  'body',
  'summary',
  'success_criteria',
  'result_delivery',
  'expected_outcome_kind',
  'expected_artifact_mime',
] as const satisfies readonly (keyof CreateInput)[]

/** The input without what the rules redact. Capabilities stay: they decide which workers can claim the task. */
function redacted(input: CreateInput, ruling: Ruling): { input: CreateInput; fields: readonly string[] } {
  if (ruling.redacting.length === 0) return { input, fields: [] }
  const fields: string[] = []
  const redact = (place: string, value: Json): Json => {
    const found = ruling.redactText(value)
    fields.push(...found.fields.map((field) => place + field))
    return found.value
  }
  const stored: CreateInput = { ...input }
  if (input.payload !== undefined) {
    const found = redactedPayload(input.type, input.payload, ruling)
    fields.push(...found.fields.map((field) => `/payload${field}`))
    stored.payload = found.payload
  }
  if (input.inputs !== undefined) stored.inputs = objectOf(redact('/inputs', input.inputs))
  for (const name of TEXTS) {
    const text = input[name]
    if (text !== undefined) stored[name] = textOf(redact(`/${name}`, text))
  }
  const { tags, ...requirements } = input.requirements ?? {}
  if (tags !== undefined) {
    const clean = tags.map((tag, i) => textOf(redact(`/requirements/tags/${i}`, tag)))
    stored.requirements = { ...requirements, tags: clean }
  }
  return fields.length === 0 ? { input, fields } : { input: stored, fields }
}

function policyOf(ruling: Ruling, fields: readonly string[]): CanonicalJson | null {
  const { action, rule_id, reason, redacting } = ruling
  if (action === 'ALLOW' && rule_id === null && redacting.length === 0) return null
  return canonical({
    action,
    rule_id,
    reason,
    redacted_fields: fields,
    ...(redacting.length > 0 && { redacting_rules: redacting }),
  })
}

function approvalOf(
  { approval_expires_seconds }: AdmissionDeps['settings'],
  context: PolicyContext,
  ruling: Ruling,
): Omit<Asked, 'content_hash'> {
  const { type, tool, upstream, principal } = context
  const byDefault = approval_expires_seconds > 0 ? approval_expires_seconds * 1000 : null
  const what = tool === null ? `a task of type ${type}` : `a call of ${tool} of ${upstream}`
  const { reason, rule_id, expires_in_ms, approve_by } = ruling
  return {
    kind: 'approval',
    expires_in_ms: expires_in_ms ?? byDefault,
    request: canonical({
      title: `${principal} asks for ${what}`,
      reason,
      rule_id,
      ...(approve_by === 'client' && { approve_by }),
    }),
  }
}
