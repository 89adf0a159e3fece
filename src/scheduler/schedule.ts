import type { PrincipalKey } from '../core/principal.ts'
import type { Plan } from './plan/plan.ts'

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
