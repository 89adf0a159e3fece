import { hash } from 'node:crypto'
import { body } from '../../core/bodies.ts'
import type { Block } from '../../core/command.ts'
import { Fault } from '../../core/errors.ts'
import { type CanonicalJson, canonical, type Json } from '../../core/json/json.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Asked } from '../../core/question.ts'
import type { TenantRef } from '../../store/store.ts'
import type { Services } from '../services.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import type { CreateInput } from '../tasks/task-input.ts'
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
  engine: Pick<Services, 'settings' | 'upstreams'>,
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
      args_hash: canonical(`sha256:${hash('sha256', canonical(args))}`),
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
  const kept: CreateInput = { ...input }
  if (input.payload !== undefined) {
    const found = redactedPayload(input.type, input.payload, ruling)
    fields.push(...found.fields.map((field) => `/payload${field}`))
    kept.payload = found.payload
  }
  if (input.inputs !== undefined) kept.inputs = objectOf(redact('/inputs', input.inputs))
  for (const name of TEXTS) {
    const text = input[name]
    if (text !== undefined) kept[name] = textOf(redact(`/${name}`, text))
  }
  const { tags, ...requirements } = input.requirements ?? {}
  if (tags !== undefined) {
    const clean = tags.map((tag, i) => textOf(redact(`/requirements/tags/${i}`, tag)))
    kept.requirements = { ...requirements, tags: clean }
  }
  return fields.length === 0 ? { input, fields } : { input: kept, fields }
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
  engine: Pick<Services, 'settings'>,
  context: PolicyContext,
  ruling: Ruling,
): Omit<Asked, 'content_hash'> {
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
