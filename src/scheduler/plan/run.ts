import { isoTime } from '../../core/time.ts'
import type { Plan } from './plan.ts'
import { render } from './template.ts'
import type { Timetable } from './timetable.ts'

/** The interval that is assumed after the last run of a timetable. */
const ONE_DAY = 24 * 3600 * 1000

/** A run of a schedule. Times are milliseconds since the epoch. */
export interface ScheduledRun {
  readonly schedule_id: string
  readonly run_at: number
  readonly now: number
  readonly principal_ai: string
  /** Its schedule.created. */
  readonly receipt_id: string
}

/** The input of create_task for a run. The key makes every attempt to create it lead to the same task. */
export function runTask({ task_template }: Pick<Plan, 'task_template'>, run: ScheduledRun) {
  const { schedule_id, run_at, now, principal_ai, receipt_id } = run
  const { payload_template, labels, ...template } = task_template
  return {
    ...template,
    ...(payload_template !== undefined && {
      payload: render(payload_template, { schedule_id, run_at, now }),
    }),
    labels: { ...labels, schedule_id },
    principal_ai,
    parent_task_id: schedule_id,
    caused_by_receipt_id: receipt_id,
    idempotency_key: `schedule:${schedule_id}:${isoTime(run_at)}`,
  }
}

/** Whether a timetable has a run at this time. Around a change of the clocks its two directions can differ. */
export function isRun(timetable: Timetable, time: number): boolean {
  return timetable.next(time - 1) === time || timetable.previous(time + 1) === time
}

/** After this time the run of `runAt` is overdue by more than two intervals. */
export function staleAfter(timetable: Timetable, runAt: number): number {
  const interval = (timetable.next(runAt) ?? runAt + ONE_DAY) - runAt
  return runAt + 2 * interval
}
