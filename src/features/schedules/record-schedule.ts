import { z } from 'zod'
import { forbidden, seesAll } from '../../core/authorization.ts'
import type { LeaseClaim } from '../../core/command.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { canonicalWithin } from '../../core/json/json.ts'
import { checkLease } from '../../core/lease.ts'
import { type Caller, parsePrincipalKey, principalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { isRun, runTask } from '../../scheduler/plan/run.ts'
import { timetableOf } from '../../scheduler/plan/timetable.ts'
import type { TenantRef } from '../../store/store.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { jsonObject, leaseFields, parse, text, workerId } from '../input.ts'
import { leaseCall } from '../leases/lease-call.ts'
import { ok } from '../leases/shape.ts'
import { type CreateAnswer, createdShape, createTask } from '../tasks/create.ts'
import { readTask } from '../tasks/read-task.ts'
import { createInput } from '../tasks/task-input.ts'
import {
  expectRunAfter,
  forgetSchedule,
  noteFailure,
  noteRun,
  planOf,
  type RecordedSchedule,
  recordedSchedule,
  scheduleId,
  setPaused,
} from './schedule-watch.ts'

const MAX_SCHEDULE_BYTES = 16 * 1024

/**
 * Writes schedule.created or schedule.deleted; the rules are in core/decide/schedule.ts. Pausing and resuming
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

/** The rules are in core/decide/schedule.ts. */
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

/** How far the clock of a scheduler may be ahead of the server's. */
const CLOCK_TOLERANCE_MS = 60_000

/**
 * Everything about the task comes from the stored request of the owner; the scheduler only says that the time has come.
 * So no scheduler can create a task in the name of an owner who did not ask for it.
 */
export const runSchedule = defineOperation({
  name: 'run_schedule',
  title: 'Create the task of a scheduled run',
  description:
    'For schedulers: creates the task of the run at run_at, on behalf of the owner of the schedule and as the owner specified it. ' +
    'Only the worker that recorded the schedule can call it. Repeating the call returns the same task.',
  input: z.strictObject({
    worker_id: workerId,
    schedule_id: scheduleId,
    run_at: z.iso.datetime().describe('Planned time of the run'),
  }),
  output: createdShape,
  actor: 'worker',
  access: 'lease',
  rest: { method: 'POST', path: '/v1/schedules/{schedule_id}/run' },
  effect: WRITES_ONCE,
  async run(services, caller, { schedule_id, run_at }) {
    const { engine } = services
    const tenant = await engine.tenant(caller.tenant)
    const { asking, opening } = await recordedSchedule(engine, tenant.tenant, schedule_id)
    if (opening === undefined || (await isDeleted(engine, tenant.tenant, opening.seq))) {
      throw new Fault('SCHEDULE_NOT_FOUND', { schedule_id })
    }
    if (opening.from !== principalKey(caller.principal) && !seesAll(caller.role)) {
      throw forbidden('admin', caller.role)
    }
    const plan = planOf(asking)
    if (plan === undefined) throw new Fault('SCHEDULE_NOT_FOUND', { schedule_id })
    const { task, spec } = asking
    const runAt = Date.parse(run_at)
    const timetable = timetableOf(plan.timing, spec.created_at)
    const now = await engine.reading(() => engine.store.now())
    if (runAt <= spec.created_at || !isRun(timetable, runAt)) {
      throw invalid('run_at', 'is not a run of the schedule')
    }
    if (runAt > now + CLOCK_TOLERANCE_MS) throw invalid('run_at', 'is in the future')
    const owner: Caller = {
      tenant: caller.tenant,
      principal: parsePrincipalKey(task.owner),
      role: 'agent',
    }
    const receipt_id = engine.receiptId(tenant, opening.seq)
    const { principal_ai } = task
    const run = runTask(plan, { schedule_id, run_at: runAt, now, principal_ai, receipt_id })
    try {
      const created = await createTask(services, tenant, owner, parse(createInput, run)).catch((error) =>
        asDuplicate(engine, tenant, error),
      )
      await noteRun(engine, asking, runAt)
      return created
    } catch (error) {
      if (error instanceof Fault)
        await noteFailure(engine, asking, error.code).catch((problem) => engine.report(problem))
      throw error
    }
  },
})

/** Whether the schedule of this schedule.created receipt was deleted. */
export async function isDeleted(engine: Engine, tenant: number, opening: number): Promise<boolean> {
  const { reads } = engine.store
  const ends = await engine.reading(() => reads.children(tenant, [opening], ['schedule.deleted']))
  return ends.length > 0
}

/**
 * A conflict means that the run exists: the first call may have rendered another `now`, or a policy may redact more
 * since then.
 */
export async function asDuplicate(engine: Engine, tenant: TenantRef, error: unknown): Promise<CreateAnswer> {
  const isKnown = error instanceof Fault && error.code === 'IDEMPOTENCY_CONFLICT'
  const task_id = isKnown ? error.details.task_id : undefined
  if (typeof task_id !== 'string') throw error
  const { task } = await readTask(engine, tenant, task_id)
  return { task_id, status: task.status, is_duplicate: true, receipt_id: engine.receiptId(tenant, task.seq) }
}
