import { Fault } from '../../core/errors.ts'
import { type Json, type JsonObject, parseCanonical } from '../../core/json/json.ts'
import type { Engine } from '../../engine/engine.ts'
import type { PolicyContext } from '../../policy/ruling.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { payloadOf } from '../questions/view.ts'
import { inputOf } from '../tasks/task-input.ts'
import type { TenantUpstreams } from '../upstreams/upstreams.ts'
import { policyContext } from './context.ts'
import type { StoredPolicies } from './stored-policies.ts'
import { objectOf, textOf } from './values.ts'

export interface RedactionDeps {
  readonly engine: Engine
  readonly policies: StoredPolicies
  readonly upstreams: TenantUpstreams | undefined
}

/** Redacts what a worker reports about a task. */
export interface Redactor {
  json(reported: Json): Json
  object(reported: JsonObject): JsonObject
  text(reported: string): string
}

const UNCHANGED: Redactor = {
  json: (reported) => reported,
  object: (reported) => reported,
  text: (reported) => reported,
}

/** Whether reports of workers may need redaction. Checked for every report; most tenants have no such rule. */
export function mayRedact({ policies }: Pick<RedactionDeps, 'policies'>, tenant: number): boolean {
  return policies.known(tenant)?.book.redactsResults ?? true
}

/** The redactor for reports about a task. It is applied before any part of a report is stored. */
export async function redactorOf(
  { engine, policies, upstreams }: RedactionDeps,
  tenant: TenantRef,
  task_id: string,
): Promise<Redactor> {
  const { book: rules } = policies.known(tenant.tenant) ?? (await policies.load(tenant.tenant))
  if (!rules.redactsResults) return UNCHANGED
  const record = await engine.reading(() => engine.store.reads.task(tenant.tenant, task_id))
  // There is no such task, so the report is refused anyway.
  if (record === undefined) return UNCHANGED
  const { context, redacting } = contextOf(upstreams, tenant, record)
  const json = (reported: Json) => rules.redactResult(context, reported, redacting).value
  return { json, object: (reported) => objectOf(json(reported)), text: (reported) => textOf(json(reported)) }
}

/** Refuses an upload where the result must be redacted: bytes cannot be. */
export async function checkUpload(
  { policies, upstreams }: Pick<RedactionDeps, 'policies' | 'upstreams'>,
  tenant: TenantRef,
  record: TaskRecord,
): Promise<void> {
  const { book: rules } = policies.known(tenant.tenant) ?? (await policies.load(tenant.tenant))
  if (!rules.redactsResults) return
  const { context, redacting } = contextOf(upstreams, tenant, record)
  if (!rules.redactsResultOf(context, redacting)) return
  const reason =
    'The result of this task must be redacted, and an upload cannot be: complete the task with the result itself.'
  throw new Fault('POLICY_BLOCKED', { rule_id: null, reason }, reason)
}

/** The task as rules see it, and the rules that redacted it when it was created. */
function contextOf(
  upstreams: TenantUpstreams | undefined,
  tenant: TenantRef,
  { task, spec, questions }: TaskRecord,
): { readonly context: PolicyContext; readonly redacting: readonly string[] } {
  const input = inputOf(spec.input)
  const context = policyContext(upstreams, tenant, {
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
