import { z } from 'zod'
import type { LeaseClaim } from '../../core/command.ts'
import { Fault } from '../../core/errors.ts'
import { canonicalWithin } from '../../core/json/json.ts'
import { checkLease } from '../../core/lease.ts'
import { principalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { jsonObject, leaseFields, text, workerId } from '../input.ts'
import { leaseCall } from '../leases/lease-call.ts'
import { ok } from '../leases/shape.ts'
import { type RecordedSchedule, recordedSchedule, scheduleId } from './recorded-schedule.ts'
import { expectRunAfter, forgetSchedule, setPaused } from './schedule-watch.ts'

const MAX_SCHEDULE_BYTES = 16 * 1024

/**
 * Writes schedule.created or schedule.deleted; the rules are in core/decide/record-schedule.ts. Pausing and resuming
 * write no receipt: they only change when the schedule counts as overdue.
 */
export const recordSchedule = defineOperation({
  name: 'record_schedule',
  title: 'Record a schedule',
  description:
    'For schedulers: under the lease of the task that asked for it, records that a schedule was created (its schedule_id is that task_id), deleted, paused or resumed. ' +
    'For created and deleted the owner of the task gets a receipt; a created schedule is an open obligation until it is deleted. Paused and resumed return the receipt of the creation. Repeating the call has no further effect.',
  input: z.strictObject({
    ...leaseFields,
    schedule_id: scheduleId,
    event: z
      .enum(['created', 'deleted', 'paused', 'resumed'])
      .describe('What happened to the schedule; the task whose lease is sent must have asked for it'),
    schedule: jsonObject.optional().describe('The schedule, for readers of the receipt; at most 16 KiB'),
  }),
  output: z.object({
    ok,
    receipt_id: z
      .string()
      .describe('The schedule.deleted receipt for deleted, otherwise the schedule.created receipt'),
  }),
  actor: 'worker',
  access: 'lease',
  rest: { method: 'POST', path: '/v1/schedules/{schedule_id}/record' },
  effect: WRITES_ONCE,
  async run({ engine, workers }, caller, input) {
    const lease = await leaseCall({ engine, workers }, caller, input)
    const tenant = await engine.tenant(caller.tenant)
    const { task_id, schedule_id, event } = input
    const recorded =
      event === 'created'
        ? await recordedSchedule(engine, tenant.tenant, task_id, new Fault('TASK_NOT_FOUND', { task_id }))
        : await recordedSchedule(engine, tenant.tenant, schedule_id)
    if (event === 'paused' || event === 'resumed') {
      const seq = await notePause(engine, lease, recorded, event === 'paused')
      return { ok: true, receipt_id: engine.receiptId(tenant, seq) } as const
    }
    const { seq } = await engine.submit({
      verb: 'record_schedule',
      event,
      schedule_id,
      ...receiptsOf(recorded),
      schedule: canonicalWithin(input.schedule ?? {}, 'schedule', MAX_SCHEDULE_BYTES),
      ...lease,
    })
    if (event === 'created') await expectRunAfter(engine, recorded.asking, recorded.asking.spec.created_at)
    else await forgetSchedule(engine, tenant.tenant, schedule_id)
    return { ok: true, receipt_id: engine.receiptId(tenant, seq) } as const
  },
})

/** Resolves with the seq of the receipt that created the schedule. */
async function notePause(
  engine: Engine,
  lease: LeaseClaim & { readonly tenant: number },
  { asking, opening }: RecordedSchedule,
  isPaused: boolean,
): Promise<number> {
  const schedule_id = asking.task.task_id
  const { tenant, task_id } = lease
  const [record, now] = await engine.reading(() =>
    Promise.all([engine.store.reads.task(tenant, task_id), engine.store.now()]),
  )
  const task = checkLease(record?.task, lease, now)
  if (opening === undefined) throw new Fault('SCHEDULE_NOT_FOUND', { schedule_id })
  if (asking.task.owner !== task.owner) {
    throw new Fault(
      'FORBIDDEN',
      { schedule_id },
      'The schedule belongs to another owner than the task that asks to change it.',
    )
  }
  await setPaused(engine, asking, isPaused, now)
  return opening.seq
}

/** The rules are in core/decide/report-stale.ts. */
export const reportStaleSchedule = defineOperation({
  name: 'report_stale_schedule',
  title: 'Report an overdue schedule',
  description:
    'For schedulers: notifies the owner of a schedule that the run of next_run_at is long overdue, and why. The owner is notified once per run.',
  input: z.strictObject({
    worker_id: workerId,
    schedule_id: scheduleId,
    next_run_at: z.iso.datetime().describe('Planned time of the overdue run'),
    reason: text(255).optional().describe('Why the run is overdue: an error code or a few words'),
  }),
  output: z.object({ ok, receipt_id: z.string().describe('The receipt that notifies the owner') }),
  actor: 'worker',
  access: 'lease',
  rest: { method: 'POST', path: '/v1/schedules/{schedule_id}/stale' },
  effect: WRITES_ONCE,
  async run({ engine }, caller, { schedule_id, next_run_at, reason }) {
    const tenant = await engine.tenant(caller.tenant)
    const { asked, created } = receiptsOf(await recordedSchedule(engine, tenant.tenant, schedule_id))
    if (created === null) throw new Fault('SCHEDULE_NOT_FOUND', { schedule_id })
    const { seq } = await engine.submit({
      verb: 'report_stale',
      tenant: tenant.tenant,
      by: principalKey(caller.principal),
      role: caller.role,
      schedule_id,
      asked,
      created,
      next_run_at: Date.parse(next_run_at),
      reason: reason ?? null,
    })
    return { ok: true, receipt_id: engine.receiptId(tenant, seq) } as const
  },
})

/** The seqs of the receipts that a schedule depends on. */
function receiptsOf({ asking, opening }: RecordedSchedule): { asked: number; created: number | null } {
  return { asked: asking.task.seq, created: opening?.seq ?? null }
}
