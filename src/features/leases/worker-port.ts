import { invalid } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../gate.ts'
import { asOldPriority } from '../legacy-priority.ts'
import type { OfferView } from './shape.ts'

// The worker port protocol, shared by its HTTP routes and the legacy tools: run_id is the lease, params is the payload.
// Inputs use the field names of the operations, plus the fields that only the port has.

type Fields = Readonly<Record<string, unknown>>

/** The response to a lease request when there is no task. */
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
 * Adds the task and the worker of a lease, as stored, to a call that leaves them out. Fields that the call contains stay,
 * and the operation checks them.
 */
export async function withHolder<Call extends Fields & { readonly lease_id: string }>(
  gate: Pick<Gate, 'findLease'>,
  tenant: string,
  call: Call,
) {
  const { task_id, worker_id, worker_kind } = await gate.findLease(tenant, call.lease_id, call.task_id)
  // A lease taken with a personal key can be used only with that key, which identifies the caller.
  const named = worker_kind === 'worker' || worker_kind === 'service' ? { worker_kind } : {}
  return { task_id, worker_id, ...named, ...call }
}

/** Renews the lease; with percent or message it also reports progress. */
export async function heartbeatRun(
  gate: Pick<Gate, 'settings' | 'reportProgress' | 'renewLease'>,
  caller: Caller,
  input: Fields,
) {
  const { percent, message, ...call } = input
  const progress = { ...(percent !== undefined && { percent }), ...(message !== undefined && { message }) }
  const reports = percent !== undefined || message !== undefined
  const extend_by_seconds = call.extend_by_seconds ?? gate.settings.default_lease_ttl_seconds
  const { expires_at, drain } = reports
    ? await gate.reportProgress(caller, { ...call, progress, extend_by_seconds })
    : await gate.renewLease(caller, call)
  return { status: 'ok', lease_expires_at: expires_at, ...(drain && { drain }) } as const
}

export async function completeRun(gate: Pick<Gate, 'complete'>, caller: Caller, input: Fields) {
  const { result_channel, result_pointer, result_checksum, result, ...call } = input
  if (typeof result_pointer !== 'string' || result_pointer === '') {
    throw invalid('result_pointer', 'is required: where the result is stored')
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

/** The task is retried unless the worker reports that this is useless. */
export async function failRun(gate: Pick<Gate, 'fail'>, caller: Caller, input: Fields) {
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
