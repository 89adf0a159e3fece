import { z } from 'zod'
import { operation, WRITES_ONCE } from '../define-operation.ts'
import { createdShape } from '../tasks/create.ts'
import { recordSchedule, recordScheduleInput, reportStale, reportStaleInput } from './record-schedule.ts'
import { runSchedule, runScheduleInput } from './run-schedule.ts'

const recorded = z.object({ ok: z.literal(true), receipt_id: z.string() })

export const scheduleOperations = [
  operation({
    name: 'record_schedule',
    title: 'Record a schedule',
    description:
      'For schedulers: under the lease of a task that asked for it, says that a schedule was created (its schedule_id is that task_id), deleted, paused or resumed. ' +
      'For created and deleted the owner of the task gets a receipt; what was created stays owed until it is deleted. Paused and resumed answer with the receipt of the creation. Recording twice is the same as once.',
    input: recordScheduleInput,
    output: recorded,
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/schedules/{schedule_id}/record' },
    effect: WRITES_ONCE,
    call: recordSchedule,
  }),
  operation({
    name: 'run_schedule',
    title: 'Create the task of a scheduled run',
    description:
      'For schedulers: creates the task of the run of run_at, on behalf of the owner of the schedule and as the owner asked for it. ' +
      'Only the worker that recorded the schedule can do so. Calling it again answers with the same task.',
    input: runScheduleInput,
    output: createdShape,
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/schedules/{schedule_id}/run' },
    effect: WRITES_ONCE,
    call: runSchedule,
  }),
  operation({
    name: 'report_stale_schedule',
    title: 'Report an overdue schedule',
    description:
      'For schedulers: tells the owner of a schedule that the run of next_run_at is long overdue, and why. Each run is told once.',
    input: reportStaleInput,
    output: recorded,
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/schedules/{schedule_id}/stale' },
    effect: WRITES_ONCE,
    call: reportStale,
  }),
] as const
