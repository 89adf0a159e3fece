import type { Fields } from '../auth/caller.ts'
import type { Credential } from '../auth/credential.ts'
import { type Fault, invalid } from '../core/errors.ts'
import type { Caller } from '../core/principal.ts'
import type { OfferView } from '../gate/shapes.ts'
import { admit, type Context, identify, note, readFields } from './context.ts'
import type { Exchange } from './exchange.ts'
import type { Grants } from './grants.ts'
import { operationNamed, renamed, withWorker } from './lease-calls.ts'
import type { Route } from './router.ts'

const claim = operationNamed('lease_next')
const renew = operationNamed('renew_lease')

type Handler = (context: Context, grants: Grants, exchange: Exchange) => Promise<void>

/** The worker port: run_id is the lease, params the payload. */
export function workerPort(context: Context, grants: Grants): Route[] {
  const route = (path: string, handler: Handler): Route => ({
    method: 'POST',
    path,
    describe,
    handle: (exchange) => handler(context, grants, exchange),
  })
  return [
    route('/worker/lease', lease),
    route('/worker/heartbeat', heartbeat),
    route('/worker/complete', complete),
    route('/worker/fail', fail),
    route('/workers/lease_task', lease),
    route('/workers/heartbeat', heartbeat),
    route('/workers/complete', complete),
    route('/workers/fail', fail),
  ]
}

async function lease(context: Context, grants: Grants, exchange: Exchange): Promise<void> {
  const credential = admit(context, exchange)
  const body = await readFields(context, exchange)
  const fields = renamed(body, { task_types: 'accept_types', lease_seconds: 'lease_ttl_seconds' })
  const { caller, input } = identify(exchange, credential, claim, { ...fields, max_tasks: 1 })
  const { tasks } = await context.gate.claim(caller, input, context.held.signal(exchange.response))
  const [offer] = tasks
  if (offer === undefined) return exchange.empty(204)
  if (typeof body.worker_id === 'string') grants.add(offer, body.worker_id, body.worker_kind)
  note(exchange, { task_id: offer.task_id, lease_id: offer.lease_id })
  exchange.json(200, envelope(offer))
}

function envelope(offer: OfferView) {
  return {
    task_id: offer.task_id,
    run_id: offer.lease_id,
    task_type: offer.type,
    params: offer.payload,
    priority: offer.priority,
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

async function heartbeat(context: Context, grants: Grants, exchange: Exchange): Promise<void> {
  const { gate } = context
  const { caller, input } = await enter(context, grants, exchange, {
    progress_percent: 'percent',
    progress_message: 'message',
    extend_lease_seconds: 'extend_by_seconds',
  })
  const { percent, message, ...call } = input
  const progress = { ...(percent !== undefined && { percent }), ...(message !== undefined && { message }) }
  const reports = percent !== undefined || message !== undefined
  const extend_by_seconds = call.extend_by_seconds ?? gate.settings.default_lease_ttl_seconds
  const { expires_at } = reports
    ? await gate.progress(caller, { ...call, progress, extend_by_seconds })
    : await gate.renew(caller, call)
  exchange.json(200, { status: 'ok', lease_expires_at: expires_at })
}

async function complete(context: Context, grants: Grants, exchange: Exchange): Promise<void> {
  const { caller, input } = await enter(context, grants, exchange, {
    summary: 'result_summary',
    metadata: 'completion_metadata',
  })
  const { result_channel, result_pointer, result_checksum, result, ...call } = input
  if (typeof result_pointer !== 'string' || result_pointer === '') {
    throw invalid('result_pointer', 'is required: it says where the result is')
  }
  const artifact = {
    pointer: result_pointer,
    ...(result_channel !== undefined && { channel: result_channel }),
    ...(result_checksum !== undefined && { checksum: result_checksum }),
  }
  const { receipt_id } = await context.gate.complete(caller, {
    ...call,
    result: result ?? artifact,
    artifacts: [artifact],
  })
  // The receipt in the owner's inbox is the notification.
  exchange.json(200, { status: 'completed', notification_sent: true, notification_id: receipt_id })
}

async function fail(context: Context, grants: Grants, exchange: Exchange): Promise<void> {
  const { caller, input } = await enter(context, grants, exchange, {})
  const { error_message, metadata, ...call } = input
  if (typeof error_message !== 'string') throw invalid('error_message', 'is required')
  const error = { message: error_message, ...(metadata !== undefined && { metadata }) }
  const { requeued, next_eligible_at } = await context.gate.fail(caller, { ...call, error })
  if (requeued) {
    exchange.json(200, { status: 'failed', will_retry: true, retry_scheduled_at: next_eligible_at ?? null })
    return
  }
  const status = call.retryable === true ? 'dead_letter' : 'failed'
  exchange.json(200, { status, will_retry: false, notification_sent: true })
}

/** A call about a lease: who makes it, and its input in the names of the gate. */
async function enter(
  context: Context,
  grants: Grants,
  exchange: Exchange,
  names: Readonly<Record<string, string>>,
): Promise<{ caller: Caller; input: Fields }> {
  const credential: Credential = admit(context, exchange)
  const body = await readFields(context, exchange)
  const fields = renamed(body, { run_id: 'lease_id', ...names })
  return identify(exchange, credential, renew, await withWorker(context, grants, credential, fields))
}

function describe({ code }: Fault): object {
  if (code !== 'LEASE_INVALID_OR_EXPIRED') return {}
  return { error: 'lease_expired', message: 'Task has been reclaimed' }
}
