import { Cron } from 'croner'
import { messageOf } from '../../util/error-message.ts'

/** When a schedule runs. An interval does not depend on the time zone. */
export type Timing =
  | { readonly mode: 'interval'; readonly interval_seconds: number; readonly timezone: string }
  | { readonly mode: 'cron'; readonly cron_expr: string; readonly timezone: string }

const NICKNAME = /^@[a-z]+$/
const FIELDS = /^\S+(\s+\S+){4,6}$/

/** The resolution of croner. */
const SECOND = 1000

/** The times at which a schedule runs. It is deterministic. */
export interface Timetable {
  /** The first run after a time; null if there is none. */
  next(after: number): number | null
  /** The last run before a time; null if there is none. */
  previous(before: number): number | null
}

/** The times of a cron expression. Throws an Error with the reason if the expression is not valid. */
export function parseCron(expression: string, timezone: string): Timetable {
  const pattern = expression.trim()
  if (!NICKNAME.test(pattern) && !FIELDS.test(pattern)) {
    throw new Error('is not five fields (minute hour day month weekday), or six with seconds first')
  }
  // croner replaces it with the time at which it parses the expression, which differs after each restart.
  if (pattern.includes('?')) throw new Error('has a "?"; use a value or "*"')
  checkTimezone(timezone)
  const cron = read(pattern, timezone)
  return {
    next: (after) => cron.nextRun(new Date(after))?.getTime() ?? null,
    previous(before) {
      const [run] = cron.previousRuns(1, new Date(Math.ceil(before / SECOND) * SECOND))
      return run?.getTime() ?? null
    },
  }
}

export function checkTimezone(timezone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone })
  } catch {
    throw new Error(`"${timezone}" is not a time zone; give it as in Europe/Berlin or UTC`)
  }
}

function read(pattern: string, timezone: string): Cron {
  try {
    return new Cron(pattern, { timezone, paused: true })
  } catch (error) {
    const reason = messageOf(error)
    throw new Error(reason.replace(/^CronPattern: /, '').replace(/^./, (first) => first.toLowerCase()))
  }
}

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
