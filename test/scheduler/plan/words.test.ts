import { describe, expect, it } from 'vitest'
import { parseCron } from '../../../src/scheduler/plan/timetable.ts'
import { timingWords } from '../../../src/scheduler/plan/words.ts'

const BERLIN = 'Europe/Berlin'

function cron(cron_expr: string): string {
  return timingWords({ mode: 'cron', cron_expr, timezone: BERLIN })
}

const CASES: Readonly<Record<string, string>> = {
  '0 9 * * 1-5': `every weekday at 09:00 ${BERLIN}`,
  '0 9 * * MON-FRI': `every weekday at 09:00 ${BERLIN}`,
  '30 2 * * *': `every day at 02:30 ${BERLIN}`,
  '0 30 2 * * *': `every day at 02:30 ${BERLIN}`,
  '0 8,12,17 * * *': `every day at 08:00, 12:00 and 17:00 ${BERLIN}`,
  '15,45 8 * * *': `every day at 08:15 and 08:45 ${BERLIN}`,
  '0 10 * * 6,0': `every Saturday and Sunday at 10:00 ${BERLIN}`,
  '0 10 * * 7': `every Sunday at 10:00 ${BERLIN}`,
  '0 10 * * TUE,THU': `every Tuesday and Thursday at 10:00 ${BERLIN}`,
  '0 10 * * 0-6': `every day at 10:00 ${BERLIN}`,
  '0 9 * * MON#2': `on the second Monday of every month at 09:00 ${BERLIN}`,
  '0 9 1 * *': `on day 1 of every month at 09:00 ${BERLIN}`,
  '0 9 1,15 * *': `on day 1 and 15 of every month at 09:00 ${BERLIN}`,
  '0 9 L * *': `on the last day of every month at 09:00 ${BERLIN}`,
  '0 9 24 12 *': `on 24 December at 09:00 ${BERLIN}`,
  '0 9 1 JAN,JUL *': `on day 1 of January and July at 09:00 ${BERLIN}`,
  '0 9 * 6-8 *': `every day in June, July and August at 09:00 ${BERLIN}`,
  '0 9 13 * FRI': `on day 13 of every month and every Friday at 09:00 ${BERLIN}`,
  '* * * * *': 'every minute',
  '*/5 * * * *': 'every 5 minutes',
  '*/15 9-17 * * 1-5': `every 15 minutes from 09:00 to 17:59, every weekday ${BERLIN}`,
  '0 9-17 * * *': `every hour from 09:00 to 17:00 ${BERLIN}`,
  '0 * * * *': 'every hour',
  '30 * * * *': 'every hour at minute 30',
  '0 */6 * * *': `every 6 hours ${BERLIN}`,
  '@daily': `every day at 00:00 ${BERLIN}`,
  '@hourly': 'every hour',
  '@weekly': `every Sunday at 00:00 ${BERLIN}`,
  '@monthly': `on day 1 of every month at 00:00 ${BERLIN}`,
  '@yearly': `on 1 January at 00:00 ${BERLIN}`,
}

describe('the words of a schedule', () => {
  it.each(Object.entries(CASES))('%s is %s', (expression, words) => {
    // The table names only expressions that a schedule can have.
    expect(() => parseCron(expression, BERLIN)).not.toThrow()
    expect(cron(expression)).toBe(words)
  })

  it.each([
    '*/7 * * * *',
    '0 0/5 * * *',
    '5-40 9 * * *',
    '10 0 9 * * *',
    '0 9 * * 1,3#2',
    '0 9 1W * *',
    '0 9 * * 1-5/2',
  ])('%s has no exact words, so it is quoted', (expression) => {
    expect(cron(expression)).toBe(`at the times of "${expression}" ${BERLIN}`)
  })

  it.each([
    [1, 'every second'],
    [45, 'every 45 seconds'],
    [60, 'every minute'],
    [90, 'every 90 seconds'],
    [3600, 'every hour'],
    [7200, 'every 2 hours'],
    [86_400, 'every day'],
    [604_800, 'every 7 days'],
  ])('an interval of %i s is %s', (interval_seconds, words) => {
    expect(timingWords({ mode: 'interval', interval_seconds, timezone: 'UTC' })).toBe(words)
  })
})
