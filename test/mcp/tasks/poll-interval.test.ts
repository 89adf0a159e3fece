import { describe, expect, it } from 'vitest'
import { MAX_POLL_MS, MIN_POLL_MS, PollMeter, pollInterval } from '../../../src/mcp/tasks/poll-interval.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

describe('poll interval', () => {
  it.each([
    ['a new task', 0, false, 0, MIN_POLL_MS],
    ['a task from the future', -5 * SECOND, false, 0, MIN_POLL_MS],
    ['a task of one minute', MINUTE, false, 0, 6 * SECOND],
    ['a task of five minutes', 5 * MINUTE, false, 0, 30 * SECOND],
    ['a task of one day', 1440 * MINUTE, false, 0, MAX_POLL_MS],
    ['a new pending approval', 0, true, 0, 5 * SECOND],
    ['a pending approval of one hour', 60 * MINUTE, true, 0, MAX_POLL_MS],
    ['a new task at low load', 0, false, 500, MIN_POLL_MS],
    ['a new task at ten times that load', 0, false, 5_000, 10 * MIN_POLL_MS],
    ['any task at extreme load', MINUTE, false, 1_000_000, MAX_POLL_MS],
  ])('the interval for %s', (_, age, isPending, perSecond, interval) => {
    expect(pollInterval(age, isPending, perSecond)).toBe(interval)
  })

  it('the interval is an integer number of milliseconds', () => {
    expect(pollInterval(12_345.6, false, 777)).toBe(Math.round(1234.56 * (777 / 500)))
  })
})

describe('poll meter', () => {
  it('the rate is that of the last full second, or of the current one if higher', () => {
    const meter = new PollMeter()
    const at = 10 * SECOND
    for (let n = 0; n < 3; n++) meter.note(at + n)
    expect(meter.perSecond(at + 5)).toBe(3)
    expect(meter.perSecond(at + SECOND)).toBe(3)
    for (let n = 0; n < 7; n++) meter.note(at + SECOND + n)
    expect(meter.perSecond(at + SECOND + 10)).toBe(7)
    expect(meter.perSecond(at + 2 * SECOND)).toBe(7)
    expect(meter.perSecond(at + 3 * SECOND)).toBe(0)
  })

  it('polls before a pause do not count', () => {
    const meter = new PollMeter()
    meter.note(SECOND)
    expect(meter.perSecond(60 * SECOND)).toBe(0)
  })
})
