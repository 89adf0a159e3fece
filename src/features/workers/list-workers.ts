import { z } from 'zod'
import { seesAll } from '../../core/authorization.ts'
import { defineOperation, READS, WRITES_ONCE } from '../define-operation.ts'
import { text, workerId } from '../input.ts'
import { nextCursor, pageLimit } from '../paging.ts'
import { WORKER_STATES, workerShape } from './shape.ts'

export const listWorkers = defineOperation({
  name: 'list_workers',
  title: 'List workers',
  description:
    'The workers seen in the last day, sorted by id: whether each is idle, busy or offline, what it can do and which leases it holds. Repeat with next_cursor until it is null.',
  input: z.strictObject({
    state: z.enum(WORKER_STATES).optional().describe('Only workers in this state'),
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
  actor: 'anyone',
  access: 'read',
  rest: { method: 'GET', path: '/v1/workers' },
  effect: READS,
  async run({ engine, workers }, caller, { state, limit, cursor }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const found = await workers.list(tenant, cursor ?? '', limit + 1, seesAll(caller.role))
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
    'For admins: tells the worker in its next response to finish the tasks that it holds and stop; it receives no more tasks. drain false lifts this.',
  input: z.strictObject({
    worker_id: workerId,
    drain: z.boolean().default(true).describe('Whether the worker has to stop'),
  }),
  output: z.object({
    worker_id: z.string().describe('Name of the worker'),
    drain: z.boolean().describe('Whether the worker has to stop'),
  }),
  actor: 'anyone',
  access: 'manage',
  rest: { method: 'POST', path: '/v1/workers/{worker_id}/drain' },
  effect: WRITES_ONCE,
  example: { worker_id: 'w1', drain: true },
  async run({ engine, workers }, caller, { worker_id, drain }) {
    const { tenant } = await engine.tenant(caller.tenant)
    await workers.drain(tenant, worker_id, drain)
    return { worker_id, drain }
  },
})
