import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import { canonicalWithin } from '../../core/json.ts'
import { checkRole } from '../../core/policy.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { TenantRef } from '../../store/store.ts'
import type { Engine } from '../engine.ts'
import { jsonObject, leaseFields, parse, text, workerId } from '../input.ts'
import { leaseCall } from '../lease-call.ts'

const MAX_SCHEDULE_BYTES = 16 * 1024

export const recordScheduleInput = z.strictObject({
  ...leaseFields,
  schedule_id: text(64),
  event: z.enum(['created', 'deleted']),
  schedule: jsonObject.optional(),
})

/** Writes schedule.created or schedule.deleted. The rules are in core/decide/record-schedule.ts. */
export async function recordSchedule(engine: Engine, caller: Caller, input: unknown) {
  const asked = parse(recordScheduleInput, input)
  const lease = await leaseCall(engine, caller, asked)
  const tenant = await engine.tenant(caller.tenant)
  const { task_id, schedule_id, event } = asked
  const known =
    event === 'created'
      ? await readSchedule(engine, tenant, task_id, new Fault('TASK_NOT_FOUND', { task_id }))
      : await readSchedule(engine, tenant, schedule_id)
  const { seq } = await engine.submit({
    verb: 'record_schedule',
    event,
    schedule_id,
    ...known,
    schedule: canonicalWithin(asked.schedule ?? {}, 'schedule', MAX_SCHEDULE_BYTES),
    ...lease,
  })
  return { ok: true, receipt_id: engine.receiptId(tenant, seq) } as const
}

export const reportStaleInput = z.strictObject({
  worker_id: workerId,
  schedule_id: text(64),
  next_run_at: z.iso.datetime(),
  reason: text(255).optional(),
})

/** Tells the owner of a schedule that it is overdue. The rules are in core/decide/report-stale.ts. */
export async function reportStale(engine: Engine, caller: Caller, input: unknown) {
  checkRole(caller, 'lease')
  const { schedule_id, next_run_at, reason } = parse(reportStaleInput, input)
  const tenant = await engine.tenant(caller.tenant)
  const { asked, created } = await readSchedule(engine, tenant, schedule_id)
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

/** The receipts that a schedule hangs on. Neither ever changes, so they may be read before the batch. */
async function readSchedule(
  engine: Engine,
  { tenant }: TenantRef,
  schedule_id: string,
  absent: Fault = new Fault('SCHEDULE_NOT_FOUND', { schedule_id }),
): Promise<{ asked: number; created: number | null }> {
  const { reads } = engine.store
  const record = isUuid(schedule_id) ? await engine.reading(() => reads.task(tenant, schedule_id)) : undefined
  if (record === undefined) throw absent
  const asked = record.task.seq
  const [opening] = await engine.reading(() => reads.children(tenant, [asked], ['schedule.created']))
  return { asked, created: opening?.seq ?? null }
}
