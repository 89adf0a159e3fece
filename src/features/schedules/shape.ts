import { z } from 'zod'
import { parsePrincipalKey } from '../../core/principal.ts'
import { isoOrNull, isoTime } from '../../core/time.ts'
import { MISFIRE_POLICIES, type Plan } from '../../scheduler/plan/plan.ts'
import { timingWords } from '../../scheduler/plan/words.ts'
import type { TaskRecord } from '../../store/reads.ts'
import { jsonObject, principalShape, time } from '../input.ts'
import type { Watched } from './schedule-watch.ts'

export const scheduleShape = z.object({
  schedule_id: z.string().describe('Id of the schedule: the id of the task that asked for it'),
  name: z.string().describe('Name of the schedule, for people'),
  created_by: principalShape.describe('Owner of the schedule and of the tasks that it creates'),
  status: z.enum(['enabled', 'paused']).describe('A paused schedule creates no tasks'),
  when: z.string().describe('When it runs, in words'),
  mode: z.enum(['interval', 'cron']).describe('Whether it runs at an interval or by a cron expression'),
  interval_seconds: z.int().optional().describe('With interval: seconds between two runs'),
  cron_expr: z.string().optional().describe('With cron: the expression'),
  timezone: z.string().describe('Time zone of the cron expression'),
  task_type: z.string().describe('Type of the tasks that it creates'),
  misfire_policy: z.enum(MISFIRE_POLICIES).describe('Which runs are made up for after a downtime'),
  jitter_seconds: z.int().describe('Maximum random delay of each run'),
  created_at: time.describe('When it was requested'),
  next_run_at: time.nullable().describe('When it runs next; null if it is paused or has no further run'),
  last_run_at: time.nullable().describe('The newest run that has created a task; null if none has'),
  last_error: z
    .string()
    .nullable()
    .describe('Error code of the last run, if its task could not be created; otherwise null'),
})

export const scheduleDetailShape = scheduleShape.extend({
  next_runs: z.array(time).readonly().describe('The next five runs; empty if it is paused'),
  task_template: jsonObject.describe('The task that each run creates'),
})

export type ScheduleView = z.output<typeof scheduleShape>
export type ScheduleDetail = z.output<typeof scheduleDetailShape>

/** A schedule as the ledger and the watch of the server know it. */
export function scheduleView({ task, spec }: TaskRecord, plan: Plan, watched: Watched): ScheduleView {
  const { timing } = plan
  return {
    schedule_id: task.task_id,
    name: plan.name,
    created_by: parsePrincipalKey(task.owner),
    status: watched.is_paused ? 'paused' : 'enabled',
    when: timingWords(timing),
    ...timing,
    task_type: plan.task_template.type,
    misfire_policy: plan.misfire_policy,
    jitter_seconds: plan.jitter_seconds,
    created_at: isoTime(spec.created_at),
    next_run_at: watched.is_paused ? null : isoOrNull(watched.next_run_at),
    last_run_at: isoOrNull(watched.last_run_at ?? null),
    last_error: watched.failure,
  }
}
