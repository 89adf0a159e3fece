import { z } from 'zod'
import { GateError } from '../client/gate-error.ts'
import type { PrincipalKey } from '../core/principal.ts'
import { isoOrNull } from '../core/time.ts'
import { Permanent, type TaskContext, type TaskDefinition, task } from '../worker/index.ts'
import { upcoming } from './due.ts'
import type { Lease, ScheduleGate } from './gate.ts'
import { type Plan, planInput } from './plan/plan.ts'
import { timetableOf } from './plan/timetable.ts'
import { type Schedule, scheduleFacts, scheduleView } from './schedule.ts'
import type { ScheduleStore } from './store.ts'

/** The maximum number of schedules per owner. */
export const MAX_SCHEDULES = 1000

const text = (max: number) => z.string().min(1).max(max)

/** The payload of schedule.create. A plan that never runs is refused. */
export const createPayload = planInput.superRefine(({ timing }, context) => {
  const now = Date.now()
  if (timetableOf(timing, now).next(now) !== null) return
  context.addIssue({ code: 'custom', path: ['cron_expr'], message: 'never matches' })
})

/** The payload of a control task about one schedule. */
const schedulePayload = z.strictObject({ schedule_id: text(64) })

export const listPayload = z.strictObject({
  limit: z.int().min(1).max(1000).default(200),
  cursor: text(64).optional(),
})

interface ControlOptions {
  readonly store: ScheduleStore
  readonly gate: ScheduleGate
  readonly now?: (() => number) | undefined
  /** Called when the schedules have changed. */
  readonly onChange: () => void
}

/** The control tasks of a scheduler. Each is idempotent, so that it can be repeated after a crash. */
export function controlTasks({ store, gate, onChange, now = Date.now }: ControlOptions): TaskDefinition[] {
  /** The schedule, if the caller owns it. A schedule of another owner is reported as not found. */
  const owned = async (ctx: TaskContext, scheduleId: string): Promise<Schedule> => {
    const { owner } = await gate.requestOf(ctx.task.task_id)
    const schedule = await store.get(scheduleId)
    if (schedule?.owner !== owner) throw notFound(scheduleId)
    return schedule
  }

  const create = async (plan: Plan, ctx: TaskContext) => {
    const schedule_id = ctx.task.task_id
    const known = await store.get(schedule_id)
    if (known !== undefined) return created(known)
    const request = await gate.requestOf(schedule_id)
    await checkQuota(request.owner)
    // The receipt comes first, so that every stored schedule has one.
    const receipt_id = await permanently(
      gate.record(leaseOf(ctx), 'created', schedule_id, scheduleFacts(plan)),
    )
    const timetable = timetableOf(plan.timing, request.created_at)
    const schedule: Schedule = {
      schedule_id,
      ...plan,
      ...request,
      receipt_id,
      status: 'enabled',
      ...upcoming({ schedule_id, jitter_seconds: plan.jitter_seconds }, timetable, request.created_at),
      last_run_at: null,
      last_status: null,
      stale_run_at: null,
    }
    await store.add(schedule)
    onChange()
    return created(schedule)
  }

  const checkQuota = async (owner: PrincipalKey) => {
    if ((await store.count(owner)) < MAX_SCHEDULES) return
    throw new Permanent(
      `The limit of ${MAX_SCHEDULES} schedules is reached. Delete schedules that are not needed.`,
      {
        code: 'QUOTA_EXCEEDED',
        details: { quota: 'schedules', limit: MAX_SCHEDULES },
      },
    )
  }

  const resume = async (scheduleId: string, ctx: TaskContext) => {
    const schedule = await owned(ctx, scheduleId)
    const timetable = timetableOf(schedule.timing, schedule.created_at)
    // Runs during the pause are not missed runs. A clock that was set back repeats no run.
    await store.resume(scheduleId, upcoming(schedule, timetable, Math.max(now(), schedule.settled_until)))
    onChange()
    await permanently(gate.record(leaseOf(ctx), 'resumed', scheduleId, scheduleFacts(schedule)))
    return { ok: true, next_run_at: isoOrNull((await store.get(scheduleId))?.next_run_at ?? null) }
  }

  /** Also deletes a schedule that is not in the file, because the file may have been lost. */
  const remove = async (scheduleId: string, ctx: TaskContext) => {
    const { owner } = await gate.requestOf(ctx.task.task_id)
    const schedule = await store.get(scheduleId)
    if (schedule !== undefined && schedule.owner !== owner) throw notFound(scheduleId)
    await store.remove(scheduleId)
    const facts = schedule === undefined ? {} : scheduleFacts(schedule)
    await permanently(gate.record(leaseOf(ctx), 'deleted', scheduleId, facts))
    return { ok: true }
  }

  const list = async ({ limit, cursor }: z.output<typeof listPayload>, ctx: TaskContext) => {
    const { owner } = await gate.requestOf(ctx.task.task_id)
    const found = await store.list(owner, cursor ?? '', limit + 1)
    const page = found.slice(0, limit)
    return {
      schedules: page.map(scheduleView),
      next_cursor: found.length > limit ? (page.at(-1)?.schedule_id ?? null) : null,
    }
  }

  return [
    task('schedule.create', {
      description:
        'Creates a schedule that creates tasks at fixed times or intervals. Returns its schedule_id.',
      input: createPayload,
      run: create,
    }),
    task('schedule.pause', {
      description: 'Pauses a schedule: it creates no tasks until it is resumed.',
      input: schedulePayload,
      async run({ schedule_id }, ctx) {
        const schedule = await owned(ctx, schedule_id)
        await store.pause(schedule_id)
        await permanently(gate.record(leaseOf(ctx), 'paused', schedule_id, scheduleFacts(schedule)))
        return { ok: true }
      },
    }),
    task('schedule.resume', {
      description: 'Resumes a paused schedule.',
      input: schedulePayload,
      run: (input, ctx) => resume(input.schedule_id, ctx),
    }),
    task('schedule.delete', {
      description: 'Deletes a schedule. Tasks that it has created are not changed.',
      input: schedulePayload,
      run: (input, ctx) => remove(input.schedule_id, ctx),
    }),
    task('schedule.status', {
      description: 'Returns a schedule with its next run and the task that it creates.',
      input: schedulePayload,
      async run({ schedule_id }, ctx) {
        const schedule = await owned(ctx, schedule_id)
        return { ...scheduleView(schedule), task_template: schedule.task_template }
      },
    }),
    task('schedule.list', { description: 'Lists your schedules.', input: listPayload, run: list }),
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

/** Fails permanently if the server refuses the request. */
async function permanently<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    if (!(error instanceof GateError) || error.retryable) throw error
    const details = { ...error.details }
    throw new Permanent(error.message, { code: error.code, details, cause: error })
  }
}

/** The lease of the control task. */
function leaseOf({ task }: TaskContext): Lease {
  if (!('lease_id' in task) || typeof task.lease_id !== 'string') {
    throw new Error('the task has no lease_id')
  }
  return { task_id: task.task_id, lease_id: task.lease_id }
}
