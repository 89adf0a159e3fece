import { hash } from 'node:crypto'
import { runsBetween, type Timetable } from './plan/timetable.ts'
import type { Schedule } from './schedule.ts'

/** The maximum number of missed runs that catch_up_all fires. Older ones are skipped. */
export const MAX_CATCH_UP = 1000

type Jittered = Pick<Schedule, 'schedule_id' | 'jitter_seconds'>

/**
 * When a run fires. The jitter is a hash of schedule and run, so that all schedulers agree on it. It is shorter than the time
 * to the next run, so that runs keep their order.
 */
export function dueAt(
  { schedule_id, jitter_seconds }: Jittered,
  timetable: Timetable,
  runAt: number,
): number {
  if (jitter_seconds === 0) return runAt
  const gap = (timetable.next(runAt) ?? Number.POSITIVE_INFINITY) - runAt
  const unit = Number.parseInt(hash('sha256', `${schedule_id} ${runAt}`).slice(0, 12), 16) / 2 ** 48
  return runAt + Math.floor(unit * Math.min(jitter_seconds * 1000, gap))
}

/** The next run after `settledUntil`. */
export function upcoming(
  schedule: Jittered,
  timetable: Timetable,
  settledUntil: number,
): Pick<Schedule, 'settled_until' | 'next_run_at' | 'due_at'> {
  const next_run_at = timetable.next(settledUntil)
  const due_at = next_run_at === null ? null : dueAt(schedule, timetable, next_run_at)
  return { settled_until: settledUntil, next_run_at, due_at }
}

interface DueRuns {
  /** The runs to fire now, oldest first. The last one is the current run. */
  readonly fire: readonly number[]
  /** The number of missed runs that are skipped; a lower bound if there are very many. */
  readonly skipped: number
}

/** The newest due run, and the missed runs before it that the misfire policy includes. */
export function dueRuns(
  schedule: Jittered & Pick<Schedule, 'settled_until' | 'misfire_policy'>,
  timetable: Timetable,
  now: number,
): DueRuns {
  const missed = runsBetween(timetable, schedule.settled_until, now, MAX_CATCH_UP + 3)
  const newest = missed.at(-1)
  if (newest !== undefined && dueAt(schedule, timetable, newest) > now) missed.pop()
  const current = missed.pop()
  if (current === undefined) return { fire: [], skipped: 0 }
  const limit = CAUGHT_UP[schedule.misfire_policy]
  const caughtUp = limit === 0 ? [] : missed.slice(-limit)
  return { fire: [...caughtUp, current], skipped: missed.length - caughtUp.length }
}

/** How many missed runs each misfire policy fires. */
const CAUGHT_UP = { skip: 0, catch_up_one: 1, catch_up_all: MAX_CATCH_UP } as const
