import type { JsonObject } from '../core/json/json.ts'
import type { PrincipalKey } from '../core/principal.ts'
import { isoOrNull, isoTime } from '../core/time.ts'
import type { Plan } from './plan/plan.ts'

/** A stored schedule. Times are milliseconds since the epoch. */
export interface Schedule extends Plan {
  /** The id of the task that requested it, so that a repeated request after a crash creates no second schedule. */
  readonly schedule_id: string
  /** The owner of the requesting task, who also owns the tasks of the runs. */
  readonly owner: PrincipalKey
  readonly principal_ai: string
  /** The schedule.created receipt. */
  readonly receipt_id: string
  /** When it was requested, by the clock of the store: intervals count from it. */
  readonly created_at: number
  readonly status: 'enabled' | 'paused'
  /** Runs until this time are settled, or were never due because the schedule did not exist or was paused. */
  readonly settled_until: number
  /** The first run after `settled_until`; null if there is none. */
  readonly next_run_at: number | null
  /** `next_run_at` plus its jitter. */
  readonly due_at: number | null
  readonly last_run_at: number | null
  /** The result of the last attempt: `created`, `duplicate`, or an error code. */
  readonly last_status: string | null
  /** The last run that was reported as overdue. */
  readonly stale_run_at: number | null
}

/** The fields of a schedule in receipts. */
export function scheduleFacts({
  name,
  timing,
  task_template,
  misfire_policy,
  jitter_seconds,
}: Plan): JsonObject {
  return { name, ...timing, task_type: task_template.type, misfire_policy, jitter_seconds }
}

export type ScheduleView = ReturnType<typeof scheduleView>

/** A schedule as its owner sees it. */
export function scheduleView(schedule: Schedule) {
  const enabled = schedule.status === 'enabled'
  return {
    schedule_id: schedule.schedule_id,
    name: schedule.name,
    ...schedule.timing,
    task_type: schedule.task_template.type,
    misfire_policy: schedule.misfire_policy,
    jitter_seconds: schedule.jitter_seconds,
    status: schedule.status,
    enabled,
    created_at: isoTime(schedule.created_at),
    next_run_at: enabled ? isoOrNull(schedule.next_run_at) : null,
    last_run_at: isoOrNull(schedule.last_run_at),
    last_status: schedule.last_status,
  }
}
