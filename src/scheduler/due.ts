import { hash } from 'node:crypto'
import { runsBetween, type Timetable } from './plan/timetable.ts'
import type { Schedule } from './schedule.ts'

/** Runs that catch_up_all makes up for at one time. Of a longer absence, older ones are left out. */
export const MAX_CATCH_UP = 1000

export type Jittered = Pick<Schedule, 'schedule_id' | 'jitter_seconds'>

/**
 * When a run fires. The delay is drawn from the schedule and the run, so every scheduler draws the same. It is shorter
 * than the time to the next run: runs keep their order.
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

export interface DueRuns {
  /** To be fired now, oldest first. The last one is the current run. */
  readonly fire: readonly number[]
  /** Runs that were missed and are not made up for; a lower bound if there were very many. */
  readonly left: number
}

type Considered = Jittered & Pick<Schedule, 'settled_until' | 'misfire_policy'>

/**
 * What is due: the newest run that is, however late, and those that were missed before it as far as the policy wants
 * them.
 */
export function dueRuns(schedule: Considered, timetable: Timetable, now: number): DueRuns {
  const expected = runsBetween(timetable, schedule.settled_until, now, MAX_CATCH_UP + 3)
  const newest = expected.at(-1)
  if (newest !== undefined && dueAt(schedule, timetable, newest) > now) expected.pop()
  const current = expected.pop()
  if (current === undefined) return { fire: [], left: 0 }
  const missed = expected
  const made = madeUp(schedule.misfire_policy, missed)
  return { fire: [...made, current], left: missed.length - made.length }
}

function madeUp(policy: Schedule['misfire_policy'], missed: readonly number[]): readonly number[] {
  switch (policy) {
    case 'skip':
      return []
    case 'catch_up_one':
      return missed.slice(-1)
    case 'catch_up_all':
      return missed.slice(-MAX_CATCH_UP)
  }
}
