import { z } from 'zod'
import { CANCEL_STAGES } from '../../core/cancellation.ts'
import { isoOrNull } from '../../core/time.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { time } from '../fields.ts'
import { leaseFields } from '../input.ts'
import { leaseCall } from './lease-call.ts'
import { ok } from './shape.ts'

/** The rules are in core/cancellation.ts. */
export const reportCancel = defineOperation({
  name: 'report_cancel',
  title: 'Report cancellation progress',
  description:
    'For workers: after a task that you hold was canceled, reports that you know of it (acknowledged) and that your work has stopped (stopped). ' +
    'Optional: the owner sees both in get_task. Send the lease under which you held the task.',
  input: z.strictObject({
    ...leaseFields,
    stage: z.enum(CANCEL_STAGES).describe('What has happened; stopped implies acknowledged'),
  }),
  output: z.object({
    ok,
    acknowledged_at: time
      .nullable()
      .describe('Time at which the worker learned of the cancellation; null if not yet'),
    stopped_at: time
      .nullable()
      .describe('Time at which the worker reported that it had stopped; null if not yet'),
  }),
  actor: 'worker',
  access: 'lease',
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/cancellation' },
  effect: WRITES_ONCE,
  async run({ engine, workers, cancellations }, caller, { stage, ...input }) {
    const call = await leaseCall({ engine, workers }, caller, input)
    const { acknowledged_at, stopped_at } = await cancellations.report(call, stage)
    return {
      ok: true,
      acknowledged_at: isoOrNull(acknowledged_at),
      stopped_at: isoOrNull(stopped_at),
    } as const
  },
})
