import { z } from 'zod'
import { type Caller, parsePrincipalKey, principalKey } from '../../core/principal.ts'
import { runTask } from '../../scheduler/plan/run.ts'
import type { AuditSink } from '../audit/port.ts'
import { defineOperation, WRITES, WRITES_ONCE } from '../define-operation.ts'
import { parse, text } from '../input.ts'
import { createdShape, createTask } from '../tasks/create.ts'
import { createInput } from '../tasks/task-input.ts'
import { type VisibleSchedule, visibleSchedule } from './list-schedules.ts'
import { asDuplicate } from './record-schedule.ts'
import { scheduleId } from './schedule-watch.ts'

/** The owner, as whom the server creates what the owner of a schedule has asked for. */
function ownerOf({ tenant }: Caller, { record }: VisibleSchedule): Caller {
  return { tenant, principal: parsePrincipalKey(record.task.owner), role: 'agent' }
}

/** The receipts of the task name its owner. What an operator does with it is in the audit log. */
function recordControl(
  audit: AuditSink,
  { tenant, principal, key_id, origin }: Caller,
  { record }: VisibleSchedule,
  operation: string,
): void {
  const by = principalKey(principal)
  if (by === record.task.owner) return
  const subject = record.task.task_id
  const details = { operation, owner: record.task.owner }
  audit.record({ event: 'admin_action', tenant, principal: by, subject, key_id, origin, details })
}

/** The key can be used for one run of a schedule, whoever sends it: a repeated request creates no second task. */
export const runScheduleNow = defineOperation({
  name: 'run_schedule_now',
  title: 'Run a schedule now',
  description:
    'Creates the task of a schedule now, besides its planned runs, as its owner specified it. It belongs to the owner and has the label schedule_id. ' +
    'It also works for a paused schedule, and without a running scheduler. Repeating the call with the same idempotency_key returns the same task.',
  input: z.strictObject({
    schedule_id: scheduleId,
    idempotency_key: text(128).describe('Names this run: requests with the same key create one task'),
  }),
  output: createdShape,
  access: 'create',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/schedules/{schedule_id}/run-now' },
  effect: WRITES_ONCE,
  async run(services, caller, { schedule_id, idempotency_key }) {
    const { engine } = services
    const schedule = await visibleSchedule(engine, caller, schedule_id)
    const { record, plan, now } = schedule
    const tenant = await engine.tenant(caller.tenant)
    const planned = runTask(plan, {
      schedule_id,
      run_at: now,
      now,
      principal_ai: record.task.principal_ai,
      receipt_id: engine.receiptId(tenant, schedule.opening),
    })
    // A repeated request renders another time, so the existing task of the key is the answer.
    const input = parse(createInput, {
      ...planned,
      idempotency_key: `schedule:${schedule_id}:now:${idempotency_key}`,
    })
    const created = await createTask(services, tenant, ownerOf(caller, schedule), input).catch((error) =>
      asDuplicate(engine, tenant, error),
    )
    recordControl(services.audit, caller, schedule, 'run_schedule_now')
    return created
  },
})

/** The scheduler has the state of a schedule, so it is changed by a control task, as when the owner asks for it. */
export const pauseSchedule = defineOperation({
  name: 'pause_schedule',
  title: 'Pause or resume a schedule',
  description:
    'Creates the control task that pauses a schedule, or resumes it with pause false, on behalf of its owner. A scheduler executes it, usually within a second: wait_for_task returns when it has.',
  input: z.strictObject({
    schedule_id: scheduleId,
    pause: z.boolean().default(true).describe('Whether the schedule is paused; false resumes it'),
  }),
  output: createdShape,
  access: 'create',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/schedules/{schedule_id}/pause' },
  effect: WRITES,
  async run(services, caller, { schedule_id, pause }) {
    const { engine } = services
    const schedule = await visibleSchedule(engine, caller, schedule_id)
    const tenant = await engine.tenant(caller.tenant)
    const type = pause ? 'schedule.pause' : 'schedule.resume'
    const input = parse(createInput, { type, payload: { schedule_id }, parent_task_id: schedule_id })
    const created = await createTask(services, tenant, ownerOf(caller, schedule), input)
    recordControl(services.audit, caller, schedule, 'pause_schedule')
    return created
  },
})
