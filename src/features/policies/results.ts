import { Fault } from '../../core/errors.ts'
import { type Json, type JsonObject, parseCanonical } from '../../core/json/json.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { payloadOf } from '../questions/question-view.ts'
import { inputOf } from '../tasks/task-input.ts'
import type { UpstreamRegistry } from '../upstreams/upstreams.ts'
import { policyContext } from './context.ts'
import type { PolicyContext } from './policies.ts'
import type { StoredPolicies } from './stored-policies.ts'
import { objectOf, textOf } from './values.ts'

export interface RedactionDeps {
  readonly engine: Engine
  readonly policies: StoredPolicies
  readonly upstreams: UpstreamRegistry | undefined
}

/** Redacts what a worker reports about a task. */
export interface Redactor {
  json(said: Json): Json
  object(said: JsonObject): JsonObject
  text(said: string): string
}

const ALL: Redactor = { json: (said) => said, object: (said) => said, text: (said) => said }

/** Whether something may be taken out of what workers say. Asked for every report; most tenants have no such rule. */
export function mayRedact(engine: Pick<RedactionDeps, 'policies'>, tenant: number): boolean {
  return engine.policies.known(tenant)?.redactsResults ?? true
}

/** What is taken out of what a worker says about a task, before anything of it is stored. */
export async function redactorOf(deps: RedactionDeps, tenant: TenantRef, task_id: string): Promise<Redactor> {
  const { engine } = deps
  const policies = deps.policies.known(tenant.tenant) ?? (await deps.policies.load(tenant.tenant))
  if (!policies.redactsResults) return ALL
  const record = await engine.reading(() => engine.store.reads.task(tenant.tenant, task_id))
  // The report will be refused.
  if (record === undefined) return ALL
  const { context, redacting } = ruledBefore(deps, tenant, record)
  const json = (said: Json) => policies.redactResult(context, said, redacting).value
  return { json, object: (said) => objectOf(json(said)), text: (said) => textOf(json(said)) }
}

/** Bytes cannot be redacted: where they would have to be, they are not taken. */
export async function checkUpload(
  engine: Omit<RedactionDeps, 'engine'>,
  tenant: TenantRef,
  record: TaskRecord,
): Promise<void> {
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
  engine: Pick<RedactionDeps, 'upstreams'>,
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
