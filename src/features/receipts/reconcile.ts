import { Fault } from '../../core/errors.ts'
import { canonical, canonicalWithin, type Json } from '../../core/json/json.ts'
import { readEvidence } from '../../core/locatability.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { TenantRef } from '../../store/store.ts'
import { type RedactionDeps, redactorOf } from '../policies/results.ts'

/** The end of a task that its worker has recorded in the shared ledger. */
export interface RemoteCompletion {
  readonly task_id: string
  /** The id of the receipt in the shared ledger. */
  readonly receipt_id: string
  /** The worker that holds or held the task. */
  readonly worker: PrincipalKey
  readonly status: 'success' | 'failure' | 'canceled'
  readonly result: Json
  /** What the worker says in words. */
  readonly text: string | null
  /** Where the result is. Without it, it is in the receipt. */
  readonly artifacts: Json
}

const MAX_SUMMARY = 2000
const MAX_ERROR_BYTES = 16 * 1024

/** Whether the completion ended the task, or why it cannot. */
export type Reconciled = 'ended' | 'unchanged' | { readonly refused: string }

/** Ends a task as its worker has recorded it in the shared ledger. Repeating it has no effect. */
export async function reconcileTask(
  deps: RedactionDeps,
  tenant: TenantRef,
  completion: RemoteCompletion,
): Promise<Reconciled> {
  try {
    const outcome = await outcomeOf(deps, tenant, completion)
    const { task_id, worker: holder } = completion
    const answer = await deps.engine.submit({
      ...{ verb: 'reconcile', tenant: tenant.tenant, task_id, holder, outcome },
    })
    return answer.ended ? 'ended' : 'unchanged'
  } catch (error) {
    // What this server does not accept from a worker, it does not accept from the shared ledger either.
    if (error instanceof Fault && !error.retryable) return { refused: error.message }
    throw error
  }
}

async function outcomeOf(deps: RedactionDeps, tenant: TenantRef, completion: RemoteCompletion) {
  const { task_id, receipt_id, status, result, text } = completion
  // Anything that is not valid JSON here is refused before redaction.
  canonical(result, 'result')
  const redactor = await redactorOf(deps, tenant, task_id)
  const summary = text === null ? null : redactor.text(text).slice(0, MAX_SUMMARY)
  const source = { receiptgate_receipt_id: receipt_id }
  if (status !== 'success') {
    const code = status === 'failure' ? 'FAILED_IN_RECEIPTGATE' : 'CANCELED_IN_RECEIPTGATE'
    const message = summary ?? `The worker has ended the task in ReceiptGate with the status ${status}.`
    const error = canonicalWithin({ code, message, ...source }, 'error', MAX_ERROR_BYTES)
    return { kind: 'failed', error } as const
  }
  const { artifacts } = readEvidence(completion.artifacts, undefined)
  return {
    kind: 'succeeded',
    result: canonicalWithin(redactor.json(result), 'result', deps.engine.settings.max_payload_bytes),
    artifacts: artifacts ?? canonical([{ type: 'receiptgate', pointer: receipt_id }]),
    result_summary: summary,
    completion_metadata: canonical(source),
  } as const
}
