import { invalid } from '../../core/errors.ts'
import { canonical, canonicalWithin, type Json } from '../../core/json/json.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { blockOf } from '../policies/admission.ts'
import { policyContext } from '../policies/context.ts'
import type { Ruling } from '../policies/policies.ts'
import type { Services } from '../services.ts'
import { readToolCall, TOOL_CALL } from '../sessions/tool-calls.ts'
import { inputOf } from '../tasks/task-input.ts'

/** What the rules say now about a task that somebody wants to approve, with this payload. */
export async function ruledAgain(
  engine: Services,
  tenant: TenantRef,
  { task, spec }: TaskRecord,
  payload: Json,
): Promise<Ruling> {
  // Another server may have changed the rules a moment ago.
  const rules = await engine.policies.fresh(tenant.tenant)
  return rules.rule(
    policyContext(engine, tenant, {
      type: spec.type,
      input: inputOf(spec.input),
      payload,
      session_id: spec.session_id,
      principal_ai: task.principal_ai,
      principal: task.owner,
    }),
  )
}

/** A person has allowed it, so that no rule does is no reason to refuse it. A rule that forbids it is. */
export function checkUnblocked(ruling: Ruling): void {
  const block = blockOf(ruling)
  if (block !== undefined && ruling.rule_id !== null) throw block
}

/** A payload that an approver has changed has to pass what every payload has to pass: its size and the schema of its type. */
export async function checkEdited(
  engine: Services,
  tenant: TenantRef,
  { spec }: TaskRecord,
  before: Json,
  payload: Json,
): Promise<void> {
  const text = canonicalWithin(payload, 'payload', engine.settings.max_payload_bytes)
  if (spec.type === TOOL_CALL) checkSameTool(before, payload)
  const { taskTypes } = engine
  const types = taskTypes.known(tenant.tenant) ?? (await taskTypes.load(tenant.tenant))
  const refusal = await types.rules.get(spec.type)?.refusal(engine.schemas, { value: payload, text })
  if (refusal !== undefined) throw refusal
}

/** Only the arguments of a call can be changed: another tool is another call, which rules have not looked at. */
function checkSameTool(before: Json, payload: Json): void {
  const [call, edited] = [readToolCall(before), readToolCall(payload)]
  for (const name of ['upstream', 'tool'] as const) {
    if (call[name] !== edited[name]) throw invalid(`payload.${name}`, `must stay ${canonical(call[name])}`)
  }
}
