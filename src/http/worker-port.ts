import type { Fields } from '../auth/caller.ts'
import type { Credential } from '../auth/credential.ts'
import type { Fault } from '../core/errors.ts'
import type { Caller } from '../core/principal.ts'
import { completeRun, failRun, heartbeatRun, NO_TASK, runView } from '../features/leases/worker-port.ts'
import { admit, type Context, identify, note, readFields } from './context.ts'
import type { Exchange } from './exchange.ts'
import { operationNamed, renamed, withLease } from './lease-calls.ts'
import type { Route } from './router.ts'

const claim = operationNamed('lease_next')
const renew = operationNamed('renew_lease')

type Handler = (context: Context, exchange: Exchange) => Promise<void>

/** The worker port: run_id is the lease, params the payload. */
export function workerPort(context: Context): Route[] {
  const route = (path: string, handler: Handler): Route => ({
    method: 'POST',
    path,
    describe,
    handle: (exchange) => handler(context, exchange),
  })
  return [
    route('/worker/lease', (context, exchange) => lease(context, exchange, () => exchange.empty(204))),
    route('/worker/heartbeat', heartbeat),
    route('/worker/complete', complete),
    route('/worker/fail', fail),
    route('/workers/lease_task', (context, exchange) =>
      lease(context, exchange, () => exchange.json(200, NO_TASK)),
    ),
    route('/workers/heartbeat', heartbeat),
    route('/workers/complete', complete),
    route('/workers/fail', fail),
  ]
}

async function lease(context: Context, exchange: Exchange, sayNone: () => void): Promise<void> {
  const credential = admit(context, exchange)
  const body = await readFields(context, exchange)
  const fields = renamed(body, { task_types: 'accept_types', lease_seconds: 'lease_ttl_seconds' })
  const { caller, input } = identify(exchange, credential, claim, { ...fields, max_tasks: 1 })
  const { tasks } = await context.gate.leaseNext(caller, input, context.held.signal(exchange.response))
  const [offer] = tasks
  if (offer === undefined) return sayNone()
  note(exchange, { task_id: offer.task_id, lease_id: offer.lease_id })
  await exchange.answer(runView(offer))
}

async function heartbeat(context: Context, exchange: Exchange): Promise<void> {
  const { caller, input } = await enter(context, exchange, {
    progress_percent: 'percent',
    progress_message: 'message',
    extend_lease_seconds: 'extend_by_seconds',
  })
  exchange.json(200, await heartbeatRun(context.gate, caller, input))
}

async function complete(context: Context, exchange: Exchange): Promise<void> {
  const { caller, input } = await enter(context, exchange, {
    summary: 'result_summary',
    metadata: 'completion_metadata',
  })
  exchange.json(200, await completeRun(context.gate, caller, input))
}

async function fail(context: Context, exchange: Exchange): Promise<void> {
  const { caller, input } = await enter(context, exchange, {})
  exchange.json(200, await failRun(context.gate, caller, input))
}

/** A call about a lease: who makes it, and its input in the names of the gate. */
async function enter(
  context: Context,
  exchange: Exchange,
  names: Readonly<Record<string, string>>,
): Promise<{ caller: Caller; input: Fields }> {
  const credential: Credential = admit(context, exchange)
  const body = await readFields(context, exchange)
  const fields = renamed(body, { run_id: 'lease_id', ...names })
  return identify(exchange, credential, renew, await withLease(context, credential, fields))
}

function describe({ code }: Fault): object {
  if (code !== 'LEASE_INVALID_OR_EXPIRED') return {}
  return { error: 'lease_expired', message: 'Task has been reclaimed' }
}
