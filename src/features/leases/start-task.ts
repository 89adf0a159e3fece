import { z } from 'zod'
import { isoTime } from '../../core/time.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { time } from '../fields.ts'
import { leaseFields } from '../input.ts'
import { leaseCall } from './lease-call.ts'
import { ok } from './shape.ts'

export const startTask = defineOperation({
  name: 'start_task',
  title: 'Start a task',
  description:
    'For workers: marks a leased task as running. Optional: the first report_progress does it too.',
  input: z.strictObject(leaseFields),
  output: z.object({
    ok,
    status: z.literal('running').describe('The new status'),
    started_at: time.describe('Time at which the task was marked as running'),
  }),
  actor: 'worker',
  access: 'lease',
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/running' },
  effect: WRITES_ONCE,
  async run({ engine, workers }, caller, input) {
    const lease = await leaseCall({ engine, workers }, caller, input)
    const { status, started_at } = await engine.submit({ verb: 'start', ...lease })
    return { ok: true, status, started_at: isoTime(started_at) } as const
  },
})
