import { Cron } from 'croner'
import { messageOf } from '../../util/error-message.ts'
import type { Timetable } from './timetable.ts'

const NICKNAME = /^@[a-z]+$/
const FIELDS = /^\S+(\s+\S+){4,6}$/

/** The library counts in whole seconds. */
const SECOND = 1000

/** The times of a cron expression; throws an Error that says what is wrong with it. */
export function parseCron(expression: string, timezone: string): Timetable {
  const pattern = expression.trim()
  if (!NICKNAME.test(pattern) && !FIELDS.test(pattern)) {
    throw new Error('is not five fields (minute hour day month weekday), or six with seconds first')
  }
  // It stands for the moment at which the expression is read, which is another after each restart.
  if (pattern.includes('?')) throw new Error('has a "?"; say the value, or "*"')
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
