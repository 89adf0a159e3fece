import { hash } from 'node:crypto'
import { body } from '../../core/bodies.ts'
import type { Block } from '../../core/command.ts'
import { Fault } from '../../core/errors.ts'
import { type CanonicalJson, canonical, type Json } from '../../core/json/json.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Asked } from '../../core/question.ts'
import type { Settings } from '../../core/settings.ts'
import type { PolicyContext, Ruling, TenantPolicies } from '../../policy/ruling.ts'
import type { TenantRef } from '../../store/store.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import type { CreateInput } from '../tasks/task-input.ts'
import type { UpstreamRegistry } from '../upstreams/upstreams.ts'
import { argumentsOf, policyContext } from './context.ts'
import { objectOf, textOf } from './values.ts'

interface AdmissionDeps {
  readonly settings: Pick<Settings, 'approval_expires_seconds'>
  readonly upstreams: UpstreamRegistry | undefined
}

/** What the rules decide about a task that is to be created. */
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
      args_hash: canonical(`sha256:${hash('sha256', canonical(args))}`),
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

/** The redacted input. Besides the payload, its other texts may contain the same secrets. */
function redacted(input: CreateInput, ruling: Ruling): { input: CreateInput; fields: readonly string[] } {
  if (ruling.redacting.length === 0) return { input, fields: [] }
  const { payload, inputs, body: text, summary, success_criteria, result_delivery } = input
  const found = {
    payload: payload === undefined ? undefined : redactedPayload(input.type, payload, ruling),
    inputs: inputs === undefined ? undefined : ruling.redactText(inputs),
    body: text === undefined ? undefined : ruling.redactText(text),
    summary: summary === undefined ? undefined : ruling.redactText(summary),
    success_criteria: success_criteria === undefined ? undefined : ruling.redactText(success_criteria),
    result_delivery: result_delivery === undefined ? undefined : ruling.redactText(result_delivery),
  }
  const fields = Object.entries(found).flatMap(
    ([name, part]) => part?.fields.map((field) => `/${name}${field}`) ?? [],
  )
  if (fields.length === 0) return { input, fields }
  const stored: CreateInput = {
    ...input,
    payload: found.payload?.payload,
    inputs: found.inputs && objectOf(found.inputs.value),
    body: found.body && textOf(found.body.value),
    summary: found.summary && textOf(found.summary.value),
    success_criteria: found.success_criteria && textOf(found.success_criteria.value),
    result_delivery: found.result_delivery && textOf(found.result_delivery.value),
  }
  return { input: stored, fields }
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
  const { reason, rule_id, expires_in_ms } = ruling
  return {
    kind: 'approval',
    expires_in_ms: expires_in_ms ?? byDefault,
    request: canonical({ title: `${principal} asks for ${what}`, reason, rule_id }),
  }
}
