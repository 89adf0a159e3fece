import { invalid } from '../core/errors.ts'
import { canonical, canonicalWithin, type Json } from '../core/json.ts'
import type { TaskRecord } from '../store/reads.ts'
import type { TenantRef } from '../store/store.ts'
import type { Engine } from './engine.ts'
import { blockOf, redactedPayload } from './policy-admission.ts'
import { policyContext } from './policy-context.ts'
import { readToolCall, TOOL_CALL } from './tool-calls.ts'

/**
 * A payload that an approver has changed, as it may be kept. It has to pass what a payload that is created has to pass:
 * its size, the schema of its type, and the rules, which may block it or take something out.
 */
export async function editedPayload(
  engine: Engine,
  tenant: TenantRef,
  { task, spec }: TaskRecord,
  before: Json,
  payload: Json,
): Promise<Json> {
  const text = canonicalWithin(payload, 'payload', engine.settings.max_payload_bytes)
  if (spec.type === TOOL_CALL) checkSameTool(before, payload)
  const { taskTypes, policies } = engine
  const types = taskTypes.known(tenant.tenant) ?? (await taskTypes.load(tenant.tenant))
  const refusal = await types.rules.get(spec.type)?.refusal(engine.schemas, { value: payload, text })
  if (refusal !== undefined) throw refusal

  const rules = policies.known(tenant.tenant) ?? (await policies.load(tenant.tenant))
  const context = policyContext(engine, tenant, {
    type: spec.type,
    payload,
    payload_pointer: undefined,
    session_id: spec.session_id,
    principal_ai: task.principal_ai,
    principal: task.owner,
  })
  const ruling = rules.rule(context)
  const block = blockOf(ruling)
  // A person has allowed it, so that nobody else does is no reason.
  if (block !== undefined && ruling.rule_id !== null) throw block
  return redactedPayload(spec.type, payload, ruling).payload
}

/** Only the arguments of a call can be changed: another tool is another call, which rules have not looked at. */
function checkSameTool(before: Json, payload: Json): void {
  const [call, edited] = [readToolCall(before), readToolCall(payload)]
  for (const name of ['upstream', 'tool'] as const) {
    if (call[name] !== edited[name]) throw invalid(`payload.${name}`, `must stay ${canonical(call[name])}`)
  }
}
