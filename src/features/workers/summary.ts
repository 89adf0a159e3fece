import { z } from 'zod'
import { nextCursor } from '../input.ts'
import { age, line, summaryView } from '../summary.ts'
import { WORKER_STATES, type WorkerView } from './shape.ts'

const MAX_TYPES = 100

const rowShape = z.object({
  worker_id: z.string().describe('Name of the worker'),
  state: z.enum(WORKER_STATES).describe('busy: holds a lease; idle: holds none; offline: not seen recently'),
  drain: z.literal(true).optional().describe('Present if an admin has drained the worker'),
  types: z.string().describe('Task types that the worker accepts; cut if there are many'),
  tasks: z.int().describe('Number of tasks that it holds'),
  completed: z.int().describe('Number of tasks it has completed'),
  failed: z.int().optional().describe('Number of failures it has reported'),
  seen: z.string().describe('Time since it last called, such as 3m'),
})

export const workerListSummary = summaryView({
  shape: z.object({ workers: z.array(rowShape), next_cursor: nextCursor }),
  defaults: { limit: 20 },
  of: (page: { workers: readonly WorkerView[]; next_cursor: string | null }, now) => ({
    workers: page.workers.map((worker) => ({
      worker_id: worker.worker_id,
      state: worker.state,
      ...(worker.drain && { drain: true as const }),
      types: line(worker.accept_types?.join(', ') ?? 'any', MAX_TYPES),
      tasks: worker.leased + worker.running,
      completed: worker.completed,
      ...(worker.failed > 0 && { failed: worker.failed }),
      seen: age(worker.last_seen_at, now),
    })),
    next_cursor: page.next_cursor,
  }),
})
