import { invalid } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../gate.ts'
import { asOldPriority } from '../legacy-priority.ts'
import type { OfferView } from './shape.ts'

// The worker port, as it is spoken over HTTP and by tools of the old names: run_id is the lease, params the payload.
// Inputs come in the names of the gate, with what only the port knows beside them.

type Fields = Readonly<Record<string, unknown>>

/** What a lease call answers when there is nothing to do. */
export const NO_TASK = { task_id: null, message: 'No tasks available' } as const

export function runView(offer: OfferView) {
  return {
    task_id: offer.task_id,
    run_id: offer.lease_id,
    task_type: offer.type,
    params: offer.payload,
    priority: asOldPriority(offer.priority),
    lease_expires_at: offer.expires_at,
    metadata: {
      attempt: offer.attempt,
      max_attempts: offer.max_attempts,
      fence: offer.fence,
      principal_ai: offer.principal_ai,
      summary: offer.summary,
      body: offer.body,
      inputs: offer.inputs,
      payload_pointer: offer.payload_pointer,
      session_id: offer.session_id,
    },
  }
}

/**
 * A call about a lease with the task and the worker that it leaves out, as the store has them. What it does name stays,
 * and the gate checks it.
 */
export async function withHolder<Call extends Fields & { readonly lease_id: string }>(
  gate: Gate,
  tenant: string,
  call: Call,
) {
  const { task_id, worker_id, worker_kind } = await gate.findLease(tenant, call.lease_id, call.task_id)
  // A lease of a person's own key can be named only with that key, which says who calls.
  const named = worker_kind === 'worker' || worker_kind === 'service' ? { worker_kind } : {}
  return { task_id, worker_id, ...named, ...call }
}

/** Extends the lease; with percent or message it is also a report of progress. */
export async function heartbeatRun(gate: Gate, caller: Caller, input: Fields) {
  const { percent, message, ...call } = input
  const progress = { ...(percent !== undefined && { percent }), ...(message !== undefined && { message }) }
  const reports = percent !== undefined || message !== undefined
  const extend_by_seconds = call.extend_by_seconds ?? gate.settings.default_lease_ttl_seconds
  const { expires_at, drain } = reports
    ? await gate.reportProgress(caller, { ...call, progress, extend_by_seconds })
    : await gate.renewLease(caller, call)
  return { status: 'ok', lease_expires_at: expires_at, ...(drain && { drain }) } as const
}

export async function completeRun(gate: Gate, caller: Caller, input: Fields) {
  const { result_channel, result_pointer, result_checksum, result, ...call } = input
  if (typeof result_pointer !== 'string' || result_pointer === '') {
    throw invalid('result_pointer', 'is required: it says where the result is')
  }
  const artifact = {
    pointer: result_pointer,
    ...(result_channel !== undefined && { channel: result_channel }),
    ...(result_checksum !== undefined && { checksum: result_checksum }),
  }
  const { receipt_id } = await gate.complete(caller, {
    ...call,
    result: result ?? artifact,
    artifacts: [artifact],
  })
  // The receipt in the owner's inbox is the notification.
  return { status: 'completed', notification_sent: true, notification_id: receipt_id } as const
}

/** The work is tried again unless the worker says that this is of no use. */
export async function failRun(gate: Gate, caller: Caller, input: Fields) {
  const { error_message, metadata, retryable = true, ...call } = input
  if (typeof error_message !== 'string') throw invalid('error_message', 'is required')
  const error = { message: error_message, ...(metadata !== undefined && { metadata }) }
  const { requeued, next_eligible_at } = await gate.fail(caller, { ...call, error, retryable })
  if (requeued) {
    return { status: 'failed', will_retry: true, retry_scheduled_at: next_eligible_at ?? null } as const
  }
  const status = retryable === true ? 'dead_letter' : 'failed'
  return { status, will_retry: false, notification_sent: true } as const
}
