import { body } from '../../core/bodies.ts'
import type { Block } from '../../core/command.ts'
import { Fault } from '../../core/errors.ts'
import { type CanonicalJson, canonical, type Json } from '../../core/json/json.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Asked } from '../../core/question.ts'
import type { TenantRef } from '../../store/store.ts'
import { sha256 } from '../../util/hash.ts'
import type { Services } from '../services.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import type { CreateInput } from '../tasks/create.ts'
import { argumentsOf, policyContext } from './context.ts'
import type { PolicyContext, Ruling, TenantPolicies } from './policies.ts'
import { objectOf, textOf } from './values.ts'

/** What the rules make of a task that somebody wants to create. */
export interface Admission {
  readonly context: PolicyContext
  readonly ruling: Ruling
  /** What is kept of the input: the same one if nothing is taken out. */
  readonly input: CreateInput
  /** Who has to say yes first. */
  readonly question: Omit<Asked, 'content_hash'> | null
  /** What the task shows of it; null if no rule had anything to say. */
  readonly policy: CanonicalJson | null
  readonly block: Block | undefined
}

/** Rules on a task before anything of it is stored. The input is valid JSON. */
export function admit(
  engine: Services,
  policies: TenantPolicies,
  tenant: TenantRef,
  caller: Caller,
  input: CreateInput,
): Admission {
  const context = policyContext(engine, tenant, {
    type: input.type,
    input,
    payload: input.payload,
    session_id: input.session_id ?? null,
    principal_ai: input.principal_ai ?? caller.principal.id,
    principal: principalKey(caller.principal),
  })
  const ruling = policies.rule(context)
  const { input: kept, fields } = redacted(input, ruling)
  return {
    context,
    ruling,
    input: kept,
    question: ruling.action === 'REQUIRE_APPROVAL' ? approvalOf(engine, context, ruling) : null,
    policy: policyOf(ruling, fields),
    block: ruling.action === 'BLOCK' ? blockedBy(context, ruling, kept) : undefined,
  }
}

/** The fault of a ruling that blocks. */
export function blockOf({ action, rule_id, reason }: Ruling): Fault | undefined {
  return action === 'BLOCK' ? new Fault('POLICY_BLOCKED', { rule_id, reason }, reason) : undefined
}

/** The receipt has only a hash of the arguments, without what was redacted: a short secret could be guessed from it. */
function blockedBy(context: PolicyContext, { rule_id, reason }: Ruling, kept: CreateInput): Block {
  const { type, upstream, tool, session } = context
  const args = type === TOOL_CALL ? argumentsOf(kept.payload) : (kept.payload ?? {})
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

/** A payload without what the rules take out of it, and where that was, from the payload on. */
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

/** Besides the payload, what may hold the same things in other words. */
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
  const kept: CreateInput = {
    ...input,
    payload: found.payload?.payload,
    inputs: found.inputs && objectOf(found.inputs.value),
    body: found.body && textOf(found.body.value),
    summary: found.summary && textOf(found.summary.value),
    success_criteria: found.success_criteria && textOf(found.success_criteria.value),
    result_delivery: found.result_delivery && textOf(found.result_delivery.value),
  }
  return { input: kept, fields }
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

function approvalOf(engine: Services, context: PolicyContext, ruling: Ruling): Omit<Asked, 'content_hash'> {
  const { type, tool, upstream, principal } = context
  const { approval_expires_seconds } = engine.settings
  const byDefault = approval_expires_seconds > 0 ? approval_expires_seconds * 1000 : null
  const what = tool === null ? `a task of type ${type}` : `a call of ${tool} of ${upstream}`
  const { reason, rule_id, expires_in_ms } = ruling
  return {
    kind: 'approval',
    expires_in_ms: expires_in_ms ?? byDefault,
    request: canonical({ title: `${principal} asks for ${what}`, reason, rule_id }),
  }
}
