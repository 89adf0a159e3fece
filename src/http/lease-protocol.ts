import { type Fault, invalid } from '../core/errors.ts'
import type { OfferView } from '../features/leases/shape.ts'
import { admit, type Context, identify, note, readFields } from './context.ts'
import type { Exchange } from './exchange.ts'
import { operationNamed, renamed, withLease } from './lease-calls.ts'
import type { Params, Route } from './router.ts'

const WORKER_ID = /^[^.\s]+\.\S+$/
const WORKER_PATTERN = 'must match pattern {type}.{instance}'

const claim = operationNamed('lease_next')
const renew = operationNamed('renew_lease')

/** The AsyncGate lease protocol 1.0: workers poll for an offer, and keep it alive. */
export function leaseProtocol(context: Context): Route[] {
  return [
    { method: 'POST', path: '/lease', describe, handle: (exchange) => poll(context, exchange) },
    {
      method: 'POST',
      path: '/lease/{lease_id}/heartbeat',
      describe,
      handle: (exchange, params) => heartbeat(context, exchange, params),
    },
  ]
}

async function poll(context: Context, exchange: Exchange): Promise<void> {
  const credential = admit(context, exchange)
  const body = await readFields(context, exchange)
  const { worker_id } = body
  if (typeof worker_id !== 'string' || !WORKER_ID.test(worker_id)) throw invalid('worker_id', WORKER_PATTERN)
  const fields = renamed(
    { lease_ttl_seconds: context.gate.settings.lease_protocol_ttl_seconds, ...body },
    { preferred_kinds: 'preferred_types' },
  )
  const { caller, input } = identify(exchange, credential, claim, fields)
  const { tasks } = await context.gate.leaseNext(caller, input, context.held.signal(exchange.response))
  const [first, ...others] = tasks.map(offer)
  if (first === undefined) return exchange.empty(204)
  note(exchange, { task_id: first.task.task_id, lease_id: first.lease_id })
  await exchange.answer(others.length === 0 ? first : { ...first, offers: [first, ...others] })
}

function offer(offered: OfferView) {
  return {
    lease_id: offered.lease_id,
    lease_expires_at: offered.expires_at,
    task: {
      task_id: offered.task_id,
      principal_ai: offered.principal_ai,
      task_type: offered.type,
      task_summary: offered.summary,
      task_body: offered.body,
      payload: offered.payload,
      payload_pointer: offered.payload_pointer,
      inputs: offered.inputs,
      expected_outcome_kind: offered.expected_outcome_kind,
      expected_artifact_mime: offered.expected_artifact_mime,
    },
  }
}

async function heartbeat(context: Context, exchange: Exchange, { lease_id }: Params): Promise<void> {
  const { gate } = context
  const credential = admit(context, exchange)
  const body = await readFields(context, exchange)
  const asked = { extend_by_seconds: gate.settings.lease_protocol_ttl_seconds, ...body, lease_id }
  const fields = await withLease(context, credential, asked)
  const { caller, input } = identify(exchange, credential, renew, fields)
  const verb = 'progress' in input ? gate.reportProgress : gate.renewLease
  const { expires_at, drain } = await verb(caller, input)
  exchange.json(200, { status: 'ok', lease_id, lease_expires_at: expires_at, ...(drain && { drain }) })
}

function describe(fault: Fault): object {
  if (fault.details.problem === WORKER_PATTERN) return { error: 'invalid_worker_id', detail: WORKER_PATTERN }
  return { detail: fault.message }
}
