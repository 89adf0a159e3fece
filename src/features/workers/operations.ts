import { z } from 'zod'
import { seesAll } from '../../core/authorization.ts'
import { canonicalWithin } from '../../core/json/json.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { jsonObject, nextCursor, pageLimit, text, workerId } from '../input.ts'
import { drainField } from '../leases/shape.ts'
import { checkedTypes, publishedTypesInput } from '../task-types/published-types.ts'
import type { WorkerRegistry } from './registry.ts'
import { WORKER_STATES, workerShape } from './shape.ts'
import { workerListSummary } from './summary.ts'

export const listWorkers = defineOperation({
  name: 'list_workers',
  title: 'List workers',
  description:
    'The workers seen in the last day, sorted by id: whether each is idle, busy or offline, what it can do and which leases it holds. Repeat with next_cursor until it is null.',
  input: z.strictObject({
    state: z.enum(WORKER_STATES).optional().describe('Only workers in this state'),
    worker_id: workerId.optional().describe('Only the worker with this name'),
    limit: pageLimit,
    cursor: text(255).optional().describe('next_cursor of the previous page'),
  }),
  output: z.object({
    workers: z
      .array(workerShape)
      .readonly()
      .describe('The workers of this page. With state, a page may have fewer than limit and not be the last'),
    next_cursor: nextCursor,
  }),
  summary: workerListSummary,
  access: 'read',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/workers' },
  async run({ engine, workers }, caller, { state, worker_id, limit, cursor }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const withConfig = seesAll(caller.role)
    const found =
      worker_id === undefined
        ? await workers.list(tenant, cursor ?? '', limit + 1, withConfig)
        : await workers.find(tenant, worker_id, withConfig)
    const page = found.slice(0, limit)
    return {
      workers: state === undefined ? page : page.filter((worker) => worker.state === state),
      next_cursor: found.length > limit ? (page.at(-1)?.worker_id ?? null) : null,
    }
  },
})

export const drainWorker = defineOperation({
  name: 'drain_worker',
  title: 'Drain a worker',
  description:
    'For admins: tells the worker in its next response to finish the tasks that it holds and stop; it receives no further tasks. drain false lifts this.',
  input: z.strictObject({
    worker_id: workerId,
    drain: z.boolean().default(true).describe('Whether the worker has to stop'),
  }),
  output: z.object({
    worker_id: z.string().describe('Name of the worker'),
    drain: z.boolean().describe('Whether the worker has to stop'),
  }),
  access: 'operate',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/workers/{worker_id}/drain' },
  effect: WRITES_ONCE,
  example: { worker_id: 'w1', drain: true },
  async run({ engine, workers }, caller, { worker_id, drain }) {
    const { tenant } = await engine.tenant(caller.tenant)
    await workers.drain(tenant, worker_id, drain)
    return { worker_id, drain }
  },
})

const MAX_CONFIG_BYTES = 4 * 1024

const ok = z.literal(true).describe('Always true')

const heartbeatShape = z.object({
  ok,
  heartbeat_seconds: z
    .int()
    .describe(
      'Send a heartbeat at least this often, in seconds, while the worker is idle and not waiting in lease_next',
    ),
  ...drainField,
})

const workerInput = z.strictObject({ worker_id: workerId })

export const registerWorker = defineOperation({
  name: 'register_worker',
  title: 'Register a worker',
  description:
    'For workers: announces a worker and what it can do, so that it is listed before its first claim, and publishes its task types. Optional: lease_next announces a worker too.',
  input: z.strictObject({
    worker_id: workerId,
    worker_type: text(64).optional().describe('Kind of worker, for people'),
    version: text(64).optional().describe('Version of the program of the worker, for people'),
    capabilities: z.array(text(128)).max(100).optional().describe('Capabilities that the worker has'),
    accept_types: z
      .array(text(255))
      .max(200)
      .optional()
      .describe('Task types that the worker accepts; any type if absent'),
    task_types: publishedTypesInput
      .optional()
      .describe(
        'What agents should know about the task types of this worker: it replaces what the worker published before. An empty list removes it',
      ),
    config: jsonObject
      .optional()
      .describe('Configuration shown to admins, at most 4 KiB. It must not contain secrets'),
  }),
  output: heartbeatShape,
  actor: 'worker',
  access: 'lease',
  rest: { method: 'POST', path: '/v1/workers/register' },
  effect: WRITES_ONCE,
  example: {
    worker_id: 'w1',
    capabilities: ['pdf'],
    accept_types: ['summarise'],
    task_types: [
      {
        type: 'summarise',
        description: 'Summarises a document.',
        input_schema: {
          type: 'object',
          required: ['document'],
          properties: { document: { type: 'string' } },
        },
      },
    ],
  },
  async run(
    { engine, workers, schemas, publications, taskTypes },
    caller,
    { worker_id, config, task_types, ...profile },
  ) {
    if (config !== undefined) canonicalWithin(config, 'config', MAX_CONFIG_BYTES)
    const types = task_types && (await checkedTypes(schemas, task_types, profile.accept_types))
    const call = await callOf(engine, caller, worker_id)
    const { instance_id } = caller.principal
    if (types !== undefined) {
      await publications.publish(call, types, taskTypes.known(call.tenant)?.publications)
    }
    await workers.register(call, { ...profile, config, instance_id })
    return heartbeat(engine, workers, call)
  },
})

export const workerHeartbeat = defineOperation({
  name: 'worker_heartbeat',
  title: 'Send a heartbeat',
  description:
    'For idle workers that do not wait in lease_next: keeps the worker from being listed as offline. It renews no lease: renew_lease does. If drain is true, finish the tasks that you hold and stop.',
  input: workerInput,
  output: heartbeatShape,
  actor: 'worker',
  access: 'lease',
  rest: { method: 'POST', path: '/v1/workers/{worker_id}/heartbeat' },
  effect: WRITES_ONCE,
  async run({ engine, workers }, caller, { worker_id }) {
    const call = await callOf(engine, caller, worker_id)
    const { instance_id } = caller.principal
    workers.saw(call, { instance_id })
    return heartbeat(engine, workers, call)
  },
})

export const unregisterWorker = defineOperation({
  name: 'unregister_worker',
  title: 'Unregister a worker',
  description:
    'For workers that stop permanently: removes the worker from the list. Its leases stay valid until they expire, so release them with release_lease first.',
  input: workerInput,
  output: z.object({ ok }),
  actor: 'worker',
  access: 'lease',
  rest: { method: 'POST', path: '/v1/workers/{worker_id}/unregister' },
  effect: WRITES_ONCE,
  async run({ engine, workers }, caller, { worker_id }) {
    const { tenant } = await engine.tenant(caller.tenant)
    await workers.unregister(tenant, worker_id, caller)
    return { ok: true as const }
  },
})

async function callOf(engine: Engine, caller: Caller, worker_id: string) {
  const { tenant } = await engine.tenant(caller.tenant)
  return { tenant, worker_id, holder: principalKey(caller.principal) }
}

async function heartbeat(
  { settings }: Engine,
  { drains }: WorkerRegistry,
  { tenant, worker_id }: { readonly tenant: number; readonly worker_id: string },
): Promise<z.output<typeof heartbeatShape>> {
  const draining = drains.known(tenant) ?? (await drains.load(tenant))
  return {
    ok: true,
    heartbeat_seconds: Math.max(1, Math.floor(settings.worker_offline_seconds / 3)),
    ...(draining.has(worker_id) && { drain: true }),
  }
}
