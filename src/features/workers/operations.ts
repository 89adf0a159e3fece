import { z } from 'zod'
import { operation, READS, WRITES_ONCE } from '../define-operation.ts'
import { drainField } from '../leases/shape.ts'
import { drainWorker, drainWorkerInput } from './drain-worker.ts'
import { listWorkers, listWorkersInput } from './list-workers.ts'
import {
  registerWorker,
  registerWorkerInput,
  unregisterWorker,
  workerHeartbeat,
  workerInput,
} from './register-worker.ts'
import { workerShape } from './shape.ts'

const ok = z.literal(true)
const noticed = z.object({
  ok,
  heartbeat_seconds: z
    .int()
    .meta({ description: 'Say that you are there this often while you have no work' }),
  ...drainField,
})

export const workerOperations = [
  operation({
    name: 'register_worker',
    title: 'Make a worker known',
    description:
      'For workers: says that you are there and what you can do. Not needed: lease_next does the same. Use it to be seen before your first claim.',
    input: registerWorkerInput,
    output: noticed,
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/workers/register' },
    effect: WRITES_ONCE,
    call: registerWorker,
  }),
  operation({
    name: 'worker_heartbeat',
    title: 'Say that a worker is there',
    description:
      'For workers without work that do not wait in lease_next. It extends no lease: renew_lease does. If drain is true, finish what you hold and stop.',
    input: workerInput,
    output: noticed,
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/workers/{worker_id}/heartbeat' },
    effect: WRITES_ONCE,
    call: workerHeartbeat,
  }),
  operation({
    name: 'unregister_worker',
    title: 'Take a worker off the list',
    description: 'For workers that stop for good. Give back what you hold with release_lease first.',
    input: workerInput,
    output: z.object({ ok }),
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/workers/{worker_id}/unregister' },
    effect: WRITES_ONCE,
    call: unregisterWorker,
  }),
  operation({
    name: 'list_workers',
    title: 'List workers',
    description:
      'The workers that have been heard of in the last day, by id: idle, busy or offline, what they can do and what they hold. Go on with next_cursor until it is null.',
    input: listWorkersInput,
    output: z.object({ workers: z.array(workerShape).readonly(), next_cursor: z.string().nullable() }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/workers' },
    effect: READS,
    call: listWorkers,
  }),
  operation({
    name: 'drain_worker',
    title: 'Tell a worker to stop',
    description:
      'For admins: with its next answer the worker is told to finish what it holds and stop; it gets no more tasks. With drain false it may go on.',
    input: drainWorkerInput,
    output: z.object({ worker_id: z.string(), drain: z.boolean() }),
    actor: 'anyone',
    rest: { method: 'POST', path: '/v1/workers/{worker_id}/drain' },
    effect: WRITES_ONCE,
    call: drainWorker,
  }),
] as const
