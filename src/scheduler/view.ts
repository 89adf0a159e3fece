import type { JsonObject } from '../core/json/json.ts'
import { isoTime } from '../core/time.ts'
import type { Schedule } from './schedule.ts'

/** A schedule as its owner sees it. */
export interface ScheduleView {
  readonly schedule_id: string
  readonly name: string
  readonly mode: 'interval' | 'cron'
  readonly interval_seconds?: number
  readonly cron_expr?: string
  readonly timezone: string
  readonly task_type: string
  readonly misfire_policy: string
  readonly jitter_seconds: number
  readonly status: 'enabled' | 'paused'
  readonly enabled: boolean
  readonly created_at: string
  readonly next_run_at: string | null
  readonly last_run_at: string | null
  readonly last_status: string | null
}

export function scheduleView(schedule: Schedule): ScheduleView {
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

/** What the receipts say about a schedule. */
export function scheduleFacts({
  name,
  timing,
  task_template,
  misfire_policy,
  jitter_seconds,
}: Pick<Schedule, 'name' | 'timing' | 'task_template' | 'misfire_policy' | 'jitter_seconds'>): JsonObject {
  return { name, ...timing, task_type: task_template.type, misfire_policy, jitter_seconds }
}

export function isoOrNull(time: number | null): string | null {
  return time === null ? null : isoTime(time)
}
