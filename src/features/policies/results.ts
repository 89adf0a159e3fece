import { Fault } from '../../core/errors.ts'
import { type Json, type JsonObject, parseCanonical } from '../../core/json/json.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { payloadOf } from '../questions/question-view.ts'
import type { Services } from '../services.ts'
import { inputOf } from '../tasks/task-input.ts'
import { policyContext } from './context.ts'
import type { PolicyContext } from './policies.ts'
import { objectOf, textOf } from './values.ts'

/** What is kept of the things that a worker says about a task. */
export interface Kept {
  json(said: Json): Json
  object(said: JsonObject): JsonObject
  text(said: string): string
}

const ALL: Kept = { json: (said) => said, object: (said) => said, text: (said) => said }

/** Whether something may be taken out of what workers say. Asked for every report; most tenants have no such rule. */
export function mayRedact(engine: Services, tenant: number): boolean {
  return engine.policies.known(tenant)?.redactsResults ?? true
}

/** What is taken out of what a worker says about a task, before anything of it is stored. */
export async function keptOf(engine: Services, tenant: TenantRef, task_id: string): Promise<Kept> {
  const policies = engine.policies.known(tenant.tenant) ?? (await engine.policies.load(tenant.tenant))
  if (!policies.redactsResults) return ALL
  const record = await engine.reading(() => engine.store.reads.task(tenant.tenant, task_id))
  // The report will be refused.
  if (record === undefined) return ALL
  const { context, redacting } = ruledBefore(engine, tenant, record)
  const json = (said: Json) => policies.redactResult(context, said, redacting).value
  return { json, object: (said) => objectOf(json(said)), text: (said) => textOf(json(said)) }
}

/** Bytes cannot be redacted: where they would have to be, they are not taken. */
export async function checkUpload(engine: Services, tenant: TenantRef, record: TaskRecord): Promise<void> {
  const policies = engine.policies.known(tenant.tenant) ?? (await engine.policies.load(tenant.tenant))
  if (!policies.redactsResults) return
  const { context, redacting } = ruledBefore(engine, tenant, record)
  if (!policies.redactsResultOf(context, redacting)) return
  const reason =
    'Results of this task are redacted, which an upload cannot be: complete it with the result itself.'
  throw new Fault('POLICY_BLOCKED', { rule_id: null, reason }, reason)
}

/** The task as the rules see it, and those that took something out of it when it was created. */
function ruledBefore(
  engine: Services,
  tenant: TenantRef,
  { task, spec, questions }: TaskRecord,
): { readonly context: PolicyContext; readonly redacting: readonly string[] } {
  const input = inputOf(spec.input)
  const context = policyContext(engine, tenant, {
    type: spec.type,
    input,
    payload: payloadOf(input, questions),
    session_id: spec.session_id,
    principal_ai: task.principal_ai,
    principal: task.owner,
  })
  return { context, redacting: spec.policy === null ? [] : redactingIn(parseCanonical(spec.policy)) }
}

function redactingIn(policy: Json): readonly string[] {
  if (typeof policy !== 'object' || policy === null || !('redacting_rules' in policy)) return []
  const { redacting_rules } = policy
  return Array.isArray(redacting_rules) ? redacting_rules.map(String) : []
}
