import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseCron, runsBetween, type Timetable, timetableOf } from '../../../src/scheduler/plan/timetable.ts'

const at = (iso: string) => Date.parse(iso)
const HOUR = 3600_000

function runs(timetable: Timetable, from: string, until: string): string[] {
  return runsBetween(timetable, at(from), at(until), 100).map((run) => new Date(run).toISOString())
}

/** The runs in sequence, as a scheduler that never stops sees them. */
function walk(timetable: Timetable, after: number, until: number): number[] {
  const found: number[] = []
  for (let run = timetable.next(after); run !== null && run <= until; run = timetable.next(run))
    found.push(run)
  return found
}

describe('intervals', () => {
  const CREATED = at('2026-01-01T00:00:00.123Z')
  const every = (interval_seconds: number) =>
    timetableOf({ mode: 'interval', interval_seconds, timezone: 'UTC' }, CREATED)

  it('an interval counts from the creation of the schedule', () => {
    expect(runs(every(60), '2025-01-01T00:00:00Z', '2026-01-01T00:03:00Z')).toEqual([
      '2026-01-01T00:01:00.123Z',
      '2026-01-01T00:02:00.123Z',
    ])
  })

  it('next and previous run are consistent at any time', () => {
    const times = fc.integer({ min: CREATED - 10 * HOUR, max: CREATED + 1000 * HOUR })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), times, (seconds, time) => {
        const timetable = every(seconds)
        const next = timetable.next(time) ?? Number.NaN
        const previous = timetable.previous(time)
        expect((next - CREATED) % (seconds * 1000)).toBe(0)
        expect(next).toBeGreaterThan(Math.max(time, CREATED))
        expect(next - (previous ?? CREATED)).toBeLessThanOrEqual(2 * seconds * 1000)
        if (previous !== null) expect(timetable.next(previous - 1)).toBe(previous)
        expect(timetable.previous(next + 1)).toBe(next)
      }),
    )
  })
})

describe('runs between two times', () => {
  const minutely = parseCron('* * * * *', 'UTC')

  it('the first time is excluded and the last included', () => {
    expect(runs(minutely, '2026-01-01T00:00:00Z', '2026-01-01T00:02:00Z')).toEqual([
      '2026-01-01T00:01:00.000Z',
      '2026-01-01T00:02:00.000Z',
    ])
    expect(runs(minutely, '2026-01-01T00:00:00Z', '2026-01-01T00:00:59.999Z')).toEqual([])
  })

  it('the newest runs are returned if there are too many', () => {
    const found = runsBetween(minutely, at('1990-01-01T00:00:00Z'), at('2026-01-01T00:00:30Z'), 3)
    expect(found.map((run) => new Date(run).toISOString())).toEqual([
      '2025-12-31T23:58:00.000Z',
      '2025-12-31T23:59:00.000Z',
      '2026-01-01T00:00:00.000Z',
    ])
  })
})

describe('cron expressions', () => {
  it.each([
    ['0 9 * * 1-5', 'UTC', ['2026-01-02T09:00:00.000Z', '2026-01-05T09:00:00.000Z']],
    ['*/30 10 1 1 *', 'UTC', ['2026-01-01T10:00:00.000Z', '2026-01-01T10:30:00.000Z']],
    ['15 30 12 * * WED', 'UTC', ['2026-01-07T12:30:15.000Z']],
    ['@daily', 'Asia/Kathmandu', ['2026-01-01T18:15:00.000Z', '2026-01-02T18:15:00.000Z']],
    ['0 0 L * *', 'UTC', ['2026-01-31T00:00:00.000Z']],
  ])('%s in %s has the expected runs', (expression, timezone, expected) => {
    const found = runs(parseCron(expression, timezone), '2026-01-01T09:00:00Z', '2026-02-01T00:00:00Z')
    expect(found.slice(0, expected.length)).toEqual(expected)
  })

  it.each([
    ['', /five fields/],
    ['nonsense', /five fields/],
    ['* * * *', /five fields/],
    ['60 * * * *', /minute: 60/],
    ['* * * * 8', /8/],
    ['2026-01-01T00:00:00Z', /five fields/],
    ['? * * * *', /"\?"/],
  ])('%j is refused with a reason', (expression, reason) => {
    expect(() => parseCron(expression, 'UTC')).toThrow(reason)
  })

  it('an unknown time zone is refused', () => {
    expect(() => parseCron('* * * * *', 'Mars/Olympus')).toThrow(/"Mars\/Olympus" is not a time zone/)
  })
})

describe('begin of daylight saving time', () => {
  // 02:00 to 03:00 does not exist in Berlin on 2026-03-29; 03:00 there is 01:00Z.
  it('a time that does not exist runs when the clocks have changed', () => {
    expect(
      runs(parseCron('30 2 * * *', 'Europe/Berlin'), '2026-03-27T12:00:00Z', '2026-03-30T12:00:00Z'),
    ).toEqual(['2026-03-28T01:30:00.000Z', '2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z'])
  })

  it('frequent runs continue without a gap', () => {
    expect(
      runs(parseCron('*/30 * * * *', 'Europe/Berlin'), '2026-03-29T00:00:00Z', '2026-03-29T02:00:00Z'),
    ).toEqual([
      '2026-03-29T00:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-29T01:30:00.000Z',
      '2026-03-29T02:00:00.000Z',
    ])
    expect(
      runs(parseCron('*/15 2 * * *', 'Europe/Berlin'), '2026-03-28T12:00:00Z', '2026-03-29T12:00:00Z'),
    ).toEqual([])
  })
})

describe('end of daylight saving time', () => {
  // 02:00 to 03:00 happens twice in Berlin on 2026-10-25, from 00:00Z to 02:00Z.
  it('a time that occurs twice runs only the first time', () => {
    expect(
      runs(parseCron('30 2 * * *', 'Europe/Berlin'), '2026-10-24T12:00:00Z', '2026-10-26T12:00:00Z'),
    ).toEqual(['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z'])
  })

  it('frequent runs fire in both hours', () => {
    expect(
      runs(parseCron('*/30 2 * * *', 'Europe/Berlin'), '2026-10-24T12:00:00Z', '2026-10-25T12:00:00Z'),
    ).toEqual([
      '2026-10-25T00:00:00.000Z',
      '2026-10-25T00:30:00.000Z',
      '2026-10-25T01:00:00.000Z',
      '2026-10-25T01:30:00.000Z',
    ])
  })
})

describe('cron timetables', () => {
  const expressions = fc.constantFrom(
    '30 2 * * *',
    '*/15 2 * * *',
    '0 * * * *',
    '15 1,2,3 * * *',
    '*/20 0-5 * * *',
    '30 2 25 10 *',
    '30 2 29 3 *',
    '0 */6 * * *',
    '7 * * * * *',
  )
  const zones = fc.constantFrom(
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kathmandu',
    'Africa/Cairo',
  )
  /** Around the clock changes in these zones. */
  const days = fc.constantFrom(
    '2026-03-08T00:00:00Z',
    '2026-03-29T00:00:00Z',
    '2026-04-04T12:00:00Z',
    '2026-04-24T00:00:00Z',
    '2026-10-03T12:00:00Z',
    '2026-10-25T00:00:00Z',
    '2026-10-29T20:00:00Z',
    '2026-11-01T04:00:00Z',
  )
  const offsets = fc.integer({ min: 0, max: 16 * HOUR })

  it('the runs do not depend on the start of the search, so a restart neither adds nor loses a run', () => {
    fc.assert(
      fc.property(expressions, zones, days, offsets, (expression, zone, day, offset) => {
        const timetable = parseCron(expression, zone)
        const start = at(day) - 8 * HOUR
        const until = start + 16 * HOUR
        const all = walk(timetable, start, until)
        const later = all.filter((run) => run > start + offset)
        expect(walk(timetable, start + offset, until)).toEqual(later)
        expect(runsBetween(timetable, start + offset, until, 100_000)).toEqual(later)
      }),
      { numRuns: 150 },
    )
  })
})
