import { parseCron, type Timetable } from './cron.ts'
import type { Timing } from './plan.ts'

export type { Timetable }

export function timetableOf(timing: Timing, createdAt: number): Timetable {
  return timing.mode === 'cron'
    ? parseCron(timing.cron_expr, timing.timezone)
    : everyInterval(timing.interval_seconds * 1000, createdAt)
}

/** The first run is one interval after `createdAt`. */
function everyInterval(interval: number, createdAt: number): Timetable {
  return {
    next: (after) => createdAt + Math.max(1, Math.floor((after - createdAt) / interval) + 1) * interval,
    previous(before) {
      const n = Math.ceil((before - createdAt) / interval) - 1
      return n < 1 ? null : createdAt + n * interval
    },
  }
}

/** The runs after `after` up to `until`, oldest first; if there are more than `limit`, the newest of them. */
export function runsBetween(timetable: Timetable, after: number, until: number, limit: number): number[] {
  const runs: number[] = []
  let run = timetable.previous(until + 1)
  while (run !== null && run > after && runs.length < limit) {
    runs.push(run)
    run = timetable.previous(run)
  }
  return runs.reverse()
}
