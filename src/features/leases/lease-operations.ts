import { z } from 'zod'
import { CANCEL_STAGES } from '../../core/cancellation.ts'
import type { Caller } from '../../core/principal.ts'
import { isoOrNull, isoTime } from '../../core/time.ts'
import { defineOperation, WRITES, WRITES_ONCE } from '../define-operation.ts'
import { leaseFields, ONE_YEAR, parse, seconds, time } from '../input.ts'
import { itemError, MAX_ITEMS, outcomesOf } from '../many.ts'
import { type LeaseDeps, leaseCall, leaseMs } from './lease-call.ts'
import { drainField, EXAMPLE_LEASE, expiryFields, ok } from './shape.ts'

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
  toolsets: ['worker'],
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/running' },
  effect: WRITES_ONCE,
  async run({ engine, workers }, caller, input) {
    const lease = await leaseCall({ engine, workers }, caller, input)
    const { status, started_at } = await engine.submit({ verb: 'start', ...lease })
    return { ok: true, status, started_at: isoTime(started_at) } as const
  },
})

const renewInput = z.strictObject({
  ...leaseFields,
  extend_by_seconds: seconds(ONE_YEAR, 1)
    .optional()
    .describe('New duration of the lease, in seconds from now. Default: that of the server'),
})

const renewedShape = z.object({
  ok,
  ...expiryFields,
  renewals_left: z.int().describe('Number of times that this lease can still be renewed'),
  ...drainField,
})

export const renewLease = defineOperation({
  name: 'renew_lease',
  title: 'Renew a lease',
  description:
    'For workers: extends a lease from now on. Call it well before expires_at, for example after a third of the duration. ' +
    'Refused once the lease has ended: stop working on the task then.',
  input: renewInput,
  output: renewedShape,
  actor: 'worker',
  access: 'lease',
  toolsets: ['worker'],
  rest: { method: 'POST', path: '/v1/leases/renew' },
  effect: WRITES,
  example: { ...EXAMPLE_LEASE, extend_by_seconds: 300 },
  run: ({ engine, workers }, caller, input) => renew({ engine, workers }, caller, input),
})

export const renewMany = defineOperation({
  name: 'renew_many',
  title: 'Renew many leases',
  description: 'For workers: renews up to 1,000 leases in one call, each with its own outcome.',
  input: z.strictObject({
    items: z
      .array(z.unknown().meta({ type: 'object', description: 'The input of renew_lease' }))
      .min(1)
      .max(MAX_ITEMS)
      .describe('The leases, each with the fields of renew_lease'),
  }),
  output: z.object({
    results: z
      .array(z.union([renewedShape, itemError]))
      .readonly()
      .describe('One outcome per lease, in the order of the request'),
  }),
  actor: 'worker',
  access: 'lease',
  rest: { method: 'POST', path: '/v1/leases/renew_many' },
  effect: WRITES,
  async run({ engine, workers }, caller, { items }) {
    const run = async (item: unknown) => renew({ engine, workers }, caller, parse(renewInput, item))
    return { results: await outcomesOf(items, run, engine) }
  },
})

async function renew(
  { engine, workers }: LeaseDeps,
  caller: Caller,
  input: z.output<typeof renewInput>,
): Promise<z.output<typeof renewedShape>> {
  const lease = await leaseCall({ engine, workers }, caller, input)
  const extend_ms = leaseMs(engine.settings, input.extend_by_seconds)
  const { expires_at, renewals_left, now } = await engine.submit({ verb: 'renew', extend_ms, ...lease })
  workers.saw(lease)
  return {
    ok: true,
    expires_at: isoTime(expires_at),
    expires_in_ms: expires_at - now,
    renewals_left,
    ...(workers.drains.has(lease.tenant, lease.worker_id) && { drain: true }),
  }
}

export const releaseLease = defineOperation({
  name: 'release_lease',
  title: 'Release a lease',
  description:
    'For workers: returns a leased task to the queue immediately. It does not count as an attempt.',
  input: z.strictObject(leaseFields),
  output: z.object({ ok, status: z.literal('queued').describe('The new status') }),
  actor: 'worker',
  access: 'lease',
  toolsets: ['worker'],
  rest: { method: 'POST', path: '/v1/leases/release' },
  effect: WRITES_ONCE,
  async run({ engine, workers }, caller, input) {
    const lease = await leaseCall({ engine, workers }, caller, input)
    await engine.submit({ verb: 'release', ...lease })
    return { ok: true, status: 'queued' } as const
  },
})

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
  toolsets: ['worker'],
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
