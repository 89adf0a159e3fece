import { z } from 'zod'
import { receiptId, receiptSeq } from '../core/ids.ts'
import type { Json, JsonObject } from '../core/json/json.ts'
import { type PrincipalKey, parsePrincipalKey } from '../core/principal.ts'
import type { Task } from '../core/task.ts'
import { NA } from '../features/receipts/ledger-shape.ts'
import type { RemoteCompletion } from '../features/receipts/reconcile.ts'
import type { TenantRef } from '../store/store.ts'
import { nameOf, type Target } from './canonical.ts'
import type { RemoteReceipt } from './client.ts'

/** A task that is open here, with the workers that have claimed it. */
export interface Claimed {
  readonly tenant: TenantRef
  readonly task: Pick<Task, 'task_id' | 'seq'>
  readonly workers: readonly PrincipalKey[]
}

const json = z.custom<Json>((value) => value !== undefined)

const completionShape = z.looseObject({
  status: z.enum(['success', 'failure', 'canceled']),
  outcome_text: z.string().catch(NA),
  artifact_pointer: z.string().catch(NA),
  artifact_location: z.string().catch(NA),
  artifact_refs: z.array(json).catch([]),
  body: z.looseObject({ result: json.optional() }).catch({}),
})

/**
 * What a receipt of the shared ledger says about the end of a task. Undefined if it says nothing about that, or if
 * AsyncGate has sent it. A receipt that does not fit the task is not believed, and the reason is returned.
 */
export function completionOf(
  receipt: RemoteReceipt,
  claimed: Claimed,
  target: Target,
): RemoteCompletion | { readonly mismatch: string } | undefined {
  if (receipt.phase !== 'complete' || isOwn(receipt, claimed.tenant)) return undefined
  const mismatch = mismatchOf(receipt, claimed, target)
  if (mismatch !== undefined) return { mismatch }
  const worker = claimed.workers.find((name) => workerName(name) === receipt.for_principal)
  if (worker === undefined) return { mismatch: 'for_principal is no worker that has claimed the task' }
  const said = completionShape.safeParse(receipt)
  if (!said.success) return { mismatch: 'its status is none of success, failure and canceled' }
  const { status, outcome_text, body } = said.data
  const text = outcome_text === NA ? null : outcome_text
  return {
    ...{ task_id: claimed.task.task_id, receipt_id: receipt.receipt_id, worker, status, text },
    result: body.result ?? text,
    artifacts: artifactsOf(said.data),
  }
}

function isOwn({ receipt_id, source_system }: RemoteReceipt, { salt }: TenantRef): boolean {
  return source_system === 'asyncgate' && receiptSeq(salt, receipt_id) !== undefined
}

function mismatchOf(
  { task_id, tenant_id, obligation_id, source_system }: RemoteReceipt,
  { tenant, task }: Claimed,
  target: Target,
): string | undefined {
  if (task_id !== task.task_id) return 'it names another task'
  if (tenant_id !== undefined && tenant_id !== target.tenantId) return 'it names another tenant'
  if (source_system === 'asyncgate') return 'it names asyncgate as its source, which has not sent it'
  if (target.profile === '1.1' && obligation_id !== receiptId(tenant.salt, task.seq)) {
    return 'it names another obligation'
  }
  return undefined
}

function workerName(key: PrincipalKey): string {
  return nameOf(parsePrincipalKey(key).id)
}

/** Null if it does not say where the result is. */
function artifactsOf(said: z.output<typeof completionShape>): Json {
  const { artifact_refs, artifact_pointer: pointer, artifact_location: location } = said
  if (artifact_refs.length > 0) return artifact_refs
  if (pointer === NA) return null
  const artifact: JsonObject = { pointer, ...(location !== NA && { location }) }
  return [artifact]
}
