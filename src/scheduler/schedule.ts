import type { Json } from '../core/json.ts'
import type { PrincipalKey } from '../core/principal.ts'

export const MISFIRE_POLICIES = ['skip', 'catch_up_one', 'catch_up_all'] as const
export type MisfirePolicy = (typeof MISFIRE_POLICIES)[number]

/** When a schedule runs. An interval is as long in every time zone. */
export type Timing =
  | { readonly mode: 'interval'; readonly interval_seconds: number; readonly timezone: string }
  | { readonly mode: 'cron'; readonly cron_expr: string; readonly timezone: string }

/** The task that each run creates: the input of create_task, with a payload that is yet to be filled in. */
export interface TaskTemplate {
  readonly type: string
  readonly payload_template?: Json | undefined
  readonly summary?: string | undefined
  readonly requirements?:
    | { readonly capabilities?: readonly string[] | undefined; readonly tags?: readonly string[] | undefined }
    | undefined
  readonly priority?: number | undefined
  readonly max_attempts?: number | undefined
  readonly max_expiries?: number | undefined
  readonly retry_backoff_seconds?: number | undefined
  readonly timeout_seconds?: number | undefined
  readonly session_id?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly expected_outcome_kind?: string | undefined
  readonly expected_artifact_mime?: string | undefined
}

/** What somebody asked for. It never changes. */
export interface Plan {
  readonly name: string
  readonly timing: Timing
  readonly task_template: TaskTemplate
  readonly misfire_policy: MisfirePolicy
  readonly jitter_seconds: number
}

/** A plan that is being kept. Times are milliseconds since the epoch. */
export interface Schedule extends Plan {
  /** The id of the task that asked for it, so that asking again after a crash makes no second one. */
  readonly schedule_id: string
  /** Whose tasks the runs create: the owner of the task that asked. */
  readonly owner: PrincipalKey
  readonly principal_ai: string
  /** Its schedule.created. */
  readonly receipt_id: string
  /** When it was asked for, by the gate's clock: what intervals count from, whichever scheduler counts. */
  readonly created_at: number
  readonly status: 'enabled' | 'paused'
  /** Runs at or before this time are dealt with, or were never due: the schedule did not exist, or was paused. */
  readonly settled_until: number
  /** The first run after `settled_until`; null if there is none. */
  readonly next_run_at: number | null
  /** `next_run_at` and its jitter: the time at which it fires. */
  readonly due_at: number | null
  readonly last_run_at: number | null
  /** How the last run or try went: `created`, `duplicate`, or the code of an error. */
  readonly last_status: string | null
  /** The run of which the owner was told that it is overdue. */
  readonly stale_run_at: number | null
}
