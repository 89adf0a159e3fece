import { isoTime } from '../../core/time.ts'
import type { TaskTemplate } from './plan.ts'
import { type RunTime, render } from './template.ts'
import type { Timetable } from './timetable.ts'

/** The assumed interval after the last run of a timetable. */
const ONE_DAY = 24 * 3600 * 1000

/** A run of a schedule. */
export interface ScheduledRun extends RunTime {
  readonly principal_ai: string
  /** The schedule.created receipt. */
  readonly receipt_id: string
}

/** The input of create_task for a run. Because of the key, every attempt leads to the same task. */
export function runTask({ task_template }: { readonly task_template: TaskTemplate }, run: ScheduledRun) {
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

/** Whether a timetable has a run at this time. Around a clock change the two directions can differ. */
export function isRun(timetable: Timetable, time: number): boolean {
  return timetable.next(time - 1) === time || timetable.previous(time + 1) === time
}

/** After this time the run of `runAt` is overdue by more than two intervals. */
export function staleAfter(timetable: Timetable, runAt: number): number {
  const interval = (timetable.next(runAt) ?? runAt + ONE_DAY) - runAt
  return runAt + 2 * interval
}
