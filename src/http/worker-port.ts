import { z } from 'zod'
import type { Fields } from '../auth/caller.ts'
import type { Fault } from '../core/errors.ts'
import type { Caller } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'
import { leaseNext } from '../features/leases/lease-next.ts'
import { renewLease } from '../features/leases/lease-operations.ts'
import { completeRun, failRun, heartbeatRun, NO_TASK, runView } from '../features/leases/worker-port.ts'
import { admit, endWithKey, identify, note, readFields } from './context.ts'
import type { Endpoint, EndpointContext } from './endpoint.ts'
import type { Exchange } from './exchange.ts'
import { LEASE_ERRORS, renamed, withLease } from './lease-protocol.ts'

const time = z.iso.datetime()

const runFields = {
  task_id: z.string().optional(),
  run_id: z.string().describe('The lease'),
  worker_id: z.string().optional(),
}

const runShape = z.object({
  task_id: z.string(),
  run_id: z.string().describe('The lease'),
  task_type: z.string(),
  params: z.unknown().describe('The payload of the task'),
  priority: z.int().min(1).max(10),
  lease_expires_at: time,
  metadata: z.object({}),
})

const noTaskShape = z.object({ task_id: z.null(), message: z.string() })

/** The worker port, under two prefixes that differ only in the response when there is no task. */
export const workerPort: readonly Endpoint[] = [
  ...portEndpoints('/worker', {
    path: 'lease',
    responses: {
      200: { description: 'A task', content: runShape },
      204: { description: 'No tasks available' },
    },
    handle: (context, exchange) => lease(context, exchange, () => exchange.empty(204)),
  }),
  ...portEndpoints('/workers', {
    path: 'lease_task',
    responses: { 200: { description: 'A task, or none', content: z.union([runShape, noTaskShape]) } },
    handle: (context, exchange) => lease(context, exchange, () => exchange.json(200, NO_TASK)),
  }),
]

type Definition = Pick<Endpoint, 'name' | 'title' | 'path' | 'body' | 'responses' | 'handle'>

function portEndpoints(
  prefix: string,
  { path, responses, handle }: Pick<Endpoint, 'path' | 'responses' | 'handle'>,
): Endpoint[] {
  const id = prefix.slice(1)
  const endpoint = (definition: Definition): Endpoint => ({
    ...definition,
    path: `${prefix}/${definition.path}`,
    tag: 'worker port',
    method: 'POST',
    errors: LEASE_ERRORS,
    describe,
  })
  return [
    endpoint({
      name: `${id}_lease`,
      title: 'Claim a task',
      path,
      body: z.object({
        worker_id: z.string(),
        task_types: z.array(z.string()).optional().describe('Claim only tasks of these types'),
        lease_seconds: z.int().min(1).optional().describe('Duration of the lease'),
      }),
      responses,
      handle,
    }),
    endpoint({
      name: `${id}_task_heartbeat`,
      title: 'Renew the lease and report progress',
      path: 'heartbeat',
      body: z.object({
        ...runFields,
        progress_percent: z.number().min(0).max(100).optional(),
        progress_message: z.string().optional(),
        extend_lease_seconds: z.int().min(1).optional().describe('Duration of the lease from now'),
      }),
      responses: {
        200: {
          description: 'Renewed',
          content: z.object({
            status: z.literal('ok'),
            lease_expires_at: time,
            drain: z.literal(true).optional().describe('Draining: finish current tasks, claim no new ones'),
          }),
        },
      },
      handle: aboutRun(heartbeatRun, {
        progress_percent: 'percent',
        progress_message: 'message',
        extend_lease_seconds: 'extend_by_seconds',
      }),
    }),
    endpoint({
      name: `${id}_complete`,
      title: 'Complete a task',
      path: 'complete',
      body: z.object({
        ...runFields,
        summary: z.string().optional(),
        result_channel: z.string().optional().describe('The channel in which the result is stored'),
        result_pointer: z.string().describe('Where the result is stored'),
        result_checksum: z.string().optional(),
        result: z.unknown().optional(),
        metadata: z.object({}).optional(),
      }),
      responses: {
        200: {
          description: 'Completed',
          content: z.object({
            status: z.literal('completed'),
            notification_sent: z.literal(true),
            notification_id: z.string().describe('The receipt of the result'),
          }),
        },
      },
      handle: aboutRun(completeRun, { summary: 'result_summary', metadata: 'completion_metadata' }),
    }),
    endpoint({
      name: `${id}_fail`,
      title: 'Report a failure',
      path: 'fail',
      body: z.object({
        ...runFields,
        error_message: z.string(),
        retryable: z.boolean().default(true).describe('Whether another attempt may succeed'),
        metadata: z.object({}).optional(),
      }),
      responses: {
        200: {
          description: 'Recorded',
          content: z.object({
            status: z.enum(['failed', 'dead_letter']),
            will_retry: z.boolean(),
            retry_scheduled_at: z.string().nullable().optional(),
            notification_sent: z.literal(true).optional(),
          }),
        },
      },
      handle: aboutRun(failRun),
    }),
  ]
}

async function lease(context: EndpointContext, exchange: Exchange, respondNone: () => void): Promise<void> {
  const credential = await admit(context, exchange)
  const body = await readFields(context, exchange)
  const fields = renamed(body, { task_types: 'accept_types', lease_seconds: 'lease_ttl_seconds' })
  const { caller, input } = identify(exchange, credential, leaseNext, { ...fields, max_tasks: 1 })
  endWithKey(context, exchange.response, credential)
  const { tasks } = await context.gate.leaseNext(caller, input, context.held.signal(exchange.response))
  const [offer] = tasks
  if (offer === undefined) return respondNone()
  note(exchange, { task_id: offer.task_id, lease_id: offer.lease_id })
  await exchange.result(runView(offer))
}

type Run = (gate: Gate, caller: Caller, input: Fields) => Promise<object>

/** A call about a lease. `names` maps its fields to those of the catalogue. */
function aboutRun(run: Run, names: Readonly<Record<string, string>> = {}): Endpoint['handle'] {
  return async (context, exchange) => {
    const credential = await admit(context, exchange)
    const fields = renamed(await readFields(context, exchange), { run_id: 'lease_id', ...names })
    const complete = await withLease(context, credential, fields)
    const { caller, input } = identify(exchange, credential, renewLease, complete)
    exchange.json(200, await run(context.gate, caller, input))
  }
}

function describe({ code }: Fault): object {
  if (code !== 'LEASE_INVALID_OR_EXPIRED') return {}
  return { error: 'lease_expired', message: 'Task has been reclaimed' }
}
