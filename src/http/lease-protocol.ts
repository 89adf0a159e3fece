import { z } from 'zod'
import type { Fields } from '../auth/caller.ts'
import type { Credential } from '../auth/credential.ts'
import { type Fault, invalid } from '../core/errors.ts'
import { leaseNext } from '../features/leases/lease-next.ts'
import { renewLease } from '../features/leases/lease-operations.ts'
import type { OfferView } from '../features/leases/shape.ts'
import { withHolder } from '../features/leases/worker-port.ts'
import { admit, type Context, endWithKey, identify, note, readFields } from './context.ts'
import type { Endpoint, EndpointContext } from './endpoint.ts'
import type { Exchange } from './exchange.ts'
import type { Params } from './router.ts'

export const LEASE_ERRORS = [400, 401, 403, 404, 409, 413, 415, 500, 503]

const WORKER_ID = /^[^.\s]+\.\S+$/
const WORKER_PATTERN = 'must match pattern {type}.{instance}'

const offerShape = z.object({
  lease_id: z.string().describe('The lease, for heartbeats and for the report'),
  lease_expires_at: z.iso.datetime().describe('When the lease expires unless it is renewed'),
  task: z.object({
    task_id: z.string(),
    principal_ai: z.string().describe('The agent for which the work is done'),
    task_type: z.string(),
    task_summary: z.string().nullable(),
    task_body: z.string().nullable().describe('The instructions in full'),
    payload: z.unknown(),
    payload_pointer: z.string().describe('Where the payload is stored if it is not inline'),
    inputs: z.unknown(),
    expected_outcome_kind: z.string().nullable(),
    expected_artifact_mime: z.string().nullable(),
  }),
})

/** The AsyncGate lease protocol 1.0: workers poll for an offer and keep it alive with heartbeats. */
export const leaseProtocol: readonly Endpoint[] = [
  {
    name: 'poll',
    tag: 'lease protocol',
    title: 'Poll for an offer',
    description:
      'A lease lasts 900 s unless lease_ttl_seconds or the operator sets another duration. preferred_kinds only change the order.',
    method: 'POST',
    path: '/lease',
    body: z.object({
      worker_id: z.string().describe('{type}.{instance}'),
      capabilities: z.array(z.string()).optional().describe('The capabilities that the worker offers'),
      max_tasks: z.int().min(1).max(100).default(1).describe('Maximum number of offers'),
      preferred_kinds: z.array(z.string()).optional().describe('Task types to offer first'),
      lease_ttl_seconds: z.int().min(1).optional().describe('Duration of the lease'),
      worker_instance_id: z.string().optional().describe('Which process of the worker polls'),
      reclaim: z
        .boolean()
        .optional()
        .describe('Take over the leases of an earlier process of the worker first'),
      wait_seconds: z.number().min(0).max(50).optional().describe('How long to wait for work'),
    }),
    responses: {
      200: {
        description: 'An offer',
        content: offerShape.extend({
          offers: z.array(offerShape).optional().describe('All offers, if there is more than one'),
        }),
      },
      204: { description: 'No work' },
    },
    errors: LEASE_ERRORS,
    describe,
    handle: poll,
  },
  {
    name: 'lease_heartbeat',
    tag: 'lease protocol',
    title: 'Renew the lease of an offer',
    description: 'task_id and worker_id are optional: the lease is found by its id.',
    method: 'POST',
    path: '/lease/{lease_id}/heartbeat',
    parameters: z.object({ lease_id: z.string() }),
    body: z.object({
      task_id: z.string().optional(),
      worker_id: z.string().optional(),
      progress: z.object({}).optional().describe('Reported as progress of the task'),
      extend_by_seconds: z.int().min(1).optional().describe('Duration of the lease from now'),
    }),
    responses: {
      200: {
        description: 'Renewed',
        content: z.object({
          status: z.literal('ok'),
          lease_id: z.string(),
          lease_expires_at: z.iso.datetime(),
          drain: z.literal(true).optional().describe('Draining: finish current tasks, claim no new ones'),
        }),
      },
    },
    errors: LEASE_ERRORS,
    describe,
    handle: heartbeat,
  },
]

async function poll(context: EndpointContext, exchange: Exchange): Promise<void> {
  const credential = await admit(context, exchange)
  const body = await readFields(context, exchange)
  const { worker_id } = body
  if (typeof worker_id !== 'string' || !WORKER_ID.test(worker_id)) throw invalid('worker_id', WORKER_PATTERN)
  const fields = renamed(
    { lease_ttl_seconds: context.gate.settings.lease_protocol_ttl_seconds, ...body },
    { preferred_kinds: 'preferred_types' },
  )
  const { caller, input } = identify(exchange, credential, leaseNext, fields)
  endWithKey(context, exchange.response, credential)
  const { tasks } = await context.gate.leaseNext(caller, input, context.held.signal(exchange.response))
  const [first, ...others] = tasks.map(offerView)
  if (first === undefined) return exchange.empty(204)
  note(exchange, { task_id: first.task.task_id, lease_id: first.lease_id })
  await exchange.result(others.length === 0 ? first : { ...first, offers: [first, ...others] })
}

function offerView(offer: OfferView) {
  return {
    lease_id: offer.lease_id,
    lease_expires_at: offer.expires_at,
    task: {
      task_id: offer.task_id,
      principal_ai: offer.principal_ai,
      task_type: offer.type,
      task_summary: offer.summary,
      task_body: offer.body,
      payload: offer.payload,
      payload_pointer: offer.payload_pointer,
      inputs: offer.inputs,
      expected_outcome_kind: offer.expected_outcome_kind,
      expected_artifact_mime: offer.expected_artifact_mime,
    },
  }
}

async function heartbeat(context: EndpointContext, exchange: Exchange, { lease_id }: Params): Promise<void> {
  const { gate } = context
  const credential = await admit(context, exchange)
  const body = await readFields(context, exchange)
  const asked = { extend_by_seconds: gate.settings.lease_protocol_ttl_seconds, ...body, lease_id }
  const fields = await withLease(context, credential, asked)
  const { caller, input } = identify(exchange, credential, renewLease, fields)
  const renewal = 'progress' in input ? gate.reportProgress(caller, input) : gate.renewLease(caller, input)
  const { expires_at, drain } = await renewal
  exchange.json(200, { status: 'ok', lease_id, lease_expires_at: expires_at, ...(drain && { drain }) })
}

function describe(fault: Fault): object {
  if (fault.details.problem === WORKER_PATTERN) return { error: 'invalid_worker_id', detail: WORKER_PATTERN }
  return { detail: fault.message }
}

/** The fields of a call about a lease, completed with the task and the worker, which the older protocols omit. */
export async function withLease({ gate }: Context, credential: Credential, fields: Fields): Promise<Fields> {
  const { lease_id } = fields
  if (typeof lease_id !== 'string') throw invalid('run_id', 'is required: it names the lease')
  return withHolder(gate, credential.tenant, { ...fields, lease_id })
}

/** The same fields under the names of the catalogue. */
export function renamed(fields: Fields, names: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [Object.hasOwn(names, name) ? names[name] : name, value]),
  )
}
