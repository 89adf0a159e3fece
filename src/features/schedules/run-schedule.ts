import { z } from 'zod'
import { forbidden, seesAll } from '../../core/authorization.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { type Caller, parsePrincipalKey, principalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { isRun, runTask } from '../../scheduler/plan/run.ts'
import { timetableOf } from '../../scheduler/plan/timetable.ts'
import type { TenantRef } from '../../store/store.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { parse, workerId } from '../input.ts'
import { type CreateAnswer, createdShape, createTask } from '../tasks/create.ts'
import { readTask } from '../tasks/read-task.ts'
import { createInput } from '../tasks/task-input.ts'
import { planOf, recordedSchedule, scheduleId } from './recorded-schedule.ts'
import { expectRunAfter, noteFailure } from './schedule-watch.ts'

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
    if (opening === undefined || (await isDeleted(engine, tenant, opening.seq))) {
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
      await expectRunAfter(engine, asking, runAt)
      return created
    } catch (error) {
      if (error instanceof Fault)
        await noteFailure(engine, asking, error.code).catch((problem) => engine.report(problem))
      throw error
    }
  },
})

async function isDeleted(engine: Engine, { tenant }: TenantRef, opening: number): Promise<boolean> {
  const { reads } = engine.store
  const ends = await engine.reading(() => reads.children(tenant, [opening], ['schedule.deleted']))
  return ends.length > 0
}

/**
 * A conflict means that the run exists: the first call may have rendered another `now`, or a policy may redact more
 * since then.
 */
async function asDuplicate(engine: Engine, tenant: TenantRef, error: unknown): Promise<CreateAnswer> {
  const isKnown = error instanceof Fault && error.code === 'IDEMPOTENCY_CONFLICT'
  const task_id = isKnown ? error.details.task_id : undefined
  if (typeof task_id !== 'string') throw error
  const { task } = await readTask(engine, tenant, task_id)
  return { task_id, status: task.status, is_duplicate: true, receipt_id: engine.receiptId(tenant, task.seq) }
}
