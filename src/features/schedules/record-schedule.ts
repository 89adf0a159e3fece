import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import type { LeaseClaim } from '../../core/command.ts'
import { Fault } from '../../core/errors.ts'
import { canonicalWithin } from '../../core/json/json.ts'
import { checkLease } from '../../core/lease.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { jsonObject, leaseFields, parse, text, workerId } from '../input.ts'
import { leaseCall } from '../leases/lease-call.ts'
import type { Services } from '../services.ts'
import { type RecordedSchedule, recordedSchedule } from './recorded-schedule.ts'
import { expectRunAfter, forgetSchedule, setPaused } from './schedule-watch.ts'

const MAX_SCHEDULE_BYTES = 16 * 1024

export const recordScheduleInput = z.strictObject({
  ...leaseFields,
  schedule_id: text(64),
  event: z.enum(['created', 'deleted', 'paused', 'resumed']),
  schedule: jsonObject.optional(),
})

/**
 * Writes schedule.created or schedule.deleted; the rules are in core/decide/record-schedule.ts. That a schedule is paused
 * or resumed is noted without a receipt: a paused one is not overdue.
 */
export async function recordSchedule(engine: Services, caller: Caller, input: unknown) {
  const asked = parse(recordScheduleInput, input)
  const lease = await leaseCall(engine, caller, asked)
  const tenant = await engine.tenant(caller.tenant)
  const { task_id, schedule_id, event } = asked
  const known =
    event === 'created'
      ? await recordedSchedule(engine, tenant.tenant, task_id, new Fault('TASK_NOT_FOUND', { task_id }))
      : await recordedSchedule(engine, tenant.tenant, schedule_id)
  if (event === 'paused' || event === 'resumed') {
    const seq = await notePause(engine, lease, known, event === 'paused')
    return { ok: true, receipt_id: engine.receiptId(tenant, seq) } as const
  }
  const { seq } = await engine.submit({
    verb: 'record_schedule',
    event,
    schedule_id,
    ...receiptsOf(known),
    schedule: canonicalWithin(asked.schedule ?? {}, 'schedule', MAX_SCHEDULE_BYTES),
    ...lease,
  })
  if (event === 'created') await expectRunAfter(engine, known.asking, known.asking.spec.created_at)
  else await forgetSchedule(engine, tenant.tenant, schedule_id)
  return { ok: true, receipt_id: engine.receiptId(tenant, seq) } as const
}

/** Resolves with the seq of the receipt by which the schedule was created. */
async function notePause(
  engine: Services,
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
      'The schedule belongs to another than who asks to change it.',
    )
  }
  await setPaused(engine, asking, isPaused, now)
  return opening.seq
}

export const reportStaleInput = z.strictObject({
  worker_id: workerId,
  schedule_id: text(64),
  next_run_at: z.iso.datetime(),
  reason: text(255).optional(),
})

/** Tells the owner of a schedule that it is overdue. The rules are in core/decide/report-stale.ts. */
export async function reportStale(engine: Services, caller: Caller, input: unknown) {
  checkRole(caller, 'lease')
  const { schedule_id, next_run_at, reason } = parse(reportStaleInput, input)
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
}

/** The receipts that a schedule hangs on. */
function receiptsOf({ asking, opening }: RecordedSchedule): { asked: number; created: number | null } {
  return { asked: asking.task.seq, created: opening?.seq ?? null }
}
