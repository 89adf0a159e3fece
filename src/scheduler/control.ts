import { GateError } from '../client/transport.ts'
import type { PrincipalKey } from '../core/principal.ts'
import { Permanent, type TaskContext, type TaskDefinition, task } from '../worker/index.ts'
import { createPayload, listPayload, schedulePayload } from './control-input.ts'
import type { Lease, ScheduleGate } from './gate.ts'
import type { Plan } from './plan/plan.ts'
import { timetableOf } from './plan/timetable.ts'
import type { Schedule } from './schedule.ts'
import type { ScheduleStore } from './store.ts'
import { upcoming } from './ticker.ts'
import { isoOrNull, scheduleFacts, scheduleView } from './view.ts'

/** Schedules that one owner may have. */
export const MAX_SCHEDULES = 1000

export interface ControlOptions {
  readonly store: ScheduleStore
  readonly gate: ScheduleGate
  readonly now?: (() => number) | undefined
  /** Something about the schedules has changed. */
  readonly onChange: () => void
}

/** The control tasks that a scheduler leases. Each can be done again after a crash, with the same effect. */
export function controlTasks({ store, gate, onChange, now = Date.now }: ControlOptions): TaskDefinition[] {
  /** The schedule, if who asks is its owner. Somebody else's is as good as none. */
  const owned = async (ctx: TaskContext, scheduleId: string): Promise<Schedule> => {
    const { owner } = await gate.asked(ctx.task.task_id)
    const schedule = store.get(scheduleId)
    if (schedule?.owner !== owner) throw notFound(scheduleId)
    return schedule
  }

  const create = async (plan: Plan, ctx: TaskContext) => {
    const schedule_id = ctx.task.task_id
    const known = store.get(schedule_id)
    if (known !== undefined) return created(known)
    const asked = await gate.asked(schedule_id)
    checkRoom(asked.owner)
    // The receipt comes first: a schedule that is kept is always owed.
    const receipt_id = await forGood(gate.record(leaseOf(ctx), 'created', schedule_id, scheduleFacts(plan)))
    const timetable = timetableOf(plan.timing, asked.created_at)
    const schedule: Schedule = {
      schedule_id,
      ...plan,
      ...asked,
      receipt_id,
      status: 'enabled',
      ...upcoming({ schedule_id, jitter_seconds: plan.jitter_seconds }, timetable, asked.created_at),
      last_run_at: null,
      last_status: null,
      stale_run_at: null,
    }
    store.add(schedule)
    onChange()
    return created(schedule)
  }

  const checkRoom = (owner: PrincipalKey) => {
    if (store.count(owner) < MAX_SCHEDULES) return
    throw new Permanent(`There are ${MAX_SCHEDULES} schedules already. Delete some that are not needed.`, {
      code: 'QUOTA_EXCEEDED',
      details: { quota: 'schedules', limit: MAX_SCHEDULES },
    })
  }

  const resume = async (scheduleId: string, ctx: TaskContext) => {
    const schedule = await owned(ctx, scheduleId)
    const timetable = timetableOf(schedule.timing, schedule.created_at)
    // What would have run meanwhile was not missed. A clock that was set back brings nothing again.
    store.resume(scheduleId, upcoming(schedule, timetable, Math.max(now(), schedule.settled_until)))
    onChange()
    await forGood(gate.record(leaseOf(ctx), 'resumed', scheduleId, scheduleFacts(schedule)))
    return { ok: true, next_run_at: isoOrNull(store.get(scheduleId)?.next_run_at ?? null) }
  }

  /** The gate knows schedules that a lost file does not: they are owed until they are deleted. */
  const remove = async (scheduleId: string, ctx: TaskContext) => {
    const { owner } = await gate.asked(ctx.task.task_id)
    const schedule = store.get(scheduleId)
    if (schedule !== undefined && schedule.owner !== owner) throw notFound(scheduleId)
    store.remove(scheduleId)
    const facts = schedule === undefined ? {} : scheduleFacts(schedule)
    await forGood(gate.record(leaseOf(ctx), 'deleted', scheduleId, facts))
    return { ok: true }
  }

  const list = async (
    { limit, cursor }: { limit: number; cursor?: string | undefined },
    ctx: TaskContext,
  ) => {
    const { owner } = await gate.asked(ctx.task.task_id)
    const found = store.list(owner, cursor ?? '', limit + 1)
    const page = found.slice(0, limit)
    return {
      schedules: page.map(scheduleView),
      next_cursor: found.length > limit ? (page.at(-1)?.schedule_id ?? null) : null,
    }
  }

  return [
    task('schedule.create', { input: createPayload, run: create }),
    task('schedule.pause', {
      input: schedulePayload,
      async run({ schedule_id }, ctx) {
        const schedule = await owned(ctx, schedule_id)
        store.pause(schedule_id)
        await forGood(gate.record(leaseOf(ctx), 'paused', schedule_id, scheduleFacts(schedule)))
        return { ok: true }
      },
    }),
    task('schedule.resume', { input: schedulePayload, run: (asked, ctx) => resume(asked.schedule_id, ctx) }),
    task('schedule.delete', { input: schedulePayload, run: (asked, ctx) => remove(asked.schedule_id, ctx) }),
    task('schedule.status', {
      input: schedulePayload,
      async run({ schedule_id }, ctx) {
        const schedule = await owned(ctx, schedule_id)
        return { ...scheduleView(schedule), task_template: schedule.task_template }
      },
    }),
    task('schedule.list', { input: listPayload, run: list }),
  ]
}

function created({ schedule_id, next_run_at }: Schedule) {
  return { schedule_id, next_run_at: isoOrNull(next_run_at) }
}

function notFound(schedule_id: string): Permanent {
  return new Permanent('There is no such schedule.', {
    code: 'SCHEDULE_NOT_FOUND',
    details: { schedule_id },
  })
}

/** What the gate refuses, it will refuse again. */
async function forGood<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    if (!(error instanceof GateError) || error.retryable) throw error
    const details = { ...error.details }
    throw new Permanent(error.message, { code: error.code, details, cause: error })
  }
}

/** The lease under which the handler runs. */
function leaseOf({ task }: TaskContext): Lease {
  if (!('lease_id' in task) || typeof task.lease_id !== 'string') {
    throw new Error('the worker did not pass on the lease')
  }
  return { task_id: task.task_id, lease_id: task.lease_id }
}
