import { describe, expect, it } from 'vitest'
import { MAX_POLL_MS, MIN_POLL_MS, PollMeter, pollInterval } from '../../../src/mcp/tasks/poll-interval.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

describe('how often a task is looked at', () => {
  it.each([
    ['a new one', 0, false, 0, MIN_POLL_MS],
    ['one from the future', -5 * SECOND, false, 0, MIN_POLL_MS],
    ['one of a minute', MINUTE, false, 0, 6 * SECOND],
    ['one of five minutes', 5 * MINUTE, false, 0, 30 * SECOND],
    ['one of a day', 1440 * MINUTE, false, 0, MAX_POLL_MS],
    ['one that a person has to approve', 0, true, 0, 5 * SECOND],
    ['one that a person has not approved for an hour', 60 * MINUTE, true, 0, MAX_POLL_MS],
    ['a new one at an easy load', 0, false, 500, MIN_POLL_MS],
    ['a new one at ten times that', 0, false, 5_000, 10 * MIN_POLL_MS],
    ['any at an impossible load', MINUTE, false, 1_000_000, MAX_POLL_MS],
  ])('%s', (_, age, isPending, perSecond, interval) => {
    expect(pollInterval(age, isPending, perSecond)).toBe(interval)
  })

  it('is a whole number of milliseconds', () => {
    expect(pollInterval(12_345.6, false, 777)).toBe(Math.round(1234.56 * (777 / 500)))
  })
})

describe('the meter', () => {
  it('knows the last full second, and this one if it has more', () => {
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

  it('forgets what was before a pause', () => {
    const meter = new PollMeter()
    meter.note(SECOND)
    expect(meter.perSecond(60 * SECOND)).toBe(0)
  })
})
