import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dueAt, dueRuns, MAX_CATCH_UP } from '../../src/scheduler/due.ts'
import { MISFIRE_POLICIES, type MisfirePolicy } from '../../src/scheduler/plan/plan.ts'
import { staleAfter } from '../../src/scheduler/plan/run.ts'
import { timetableOf } from '../../src/scheduler/plan/timetable.ts'

const CREATED = Date.UTC(2026, 0, 1)
const MINUTE = 60_000
const minutely = timetableOf({ mode: 'interval', interval_seconds: 60, timezone: 'UTC' }, CREATED)

const schedule = (misfire_policy: MisfirePolicy, settledMinutes = 0, jitter_seconds = 0) => ({
  schedule_id: 's1',
  jitter_seconds,
  misfire_policy,
  settled_until: CREATED + settledMinutes * MINUTE,
})

/** The minutes whose runs fire at this time. */
function fired(policy: MisfirePolicy, settledMinutes: number, now: number): number[] {
  const { fire } = dueRuns(schedule(policy, settledMinutes), minutely, now)
  return fire.map((run) => (run - CREATED) / MINUTE)
}

describe('due runs', () => {
  it('a run is due at its time and not before', () => {
    expect(fired('catch_up_one', 4, CREATED + 5 * MINUTE - 1)).toEqual([])
    expect(fired('catch_up_one', 4, CREATED + 5 * MINUTE)).toEqual([5])
    expect(fired('catch_up_one', 4, CREATED + 6 * MINUTE - 1)).toEqual([5])
    expect(fired('catch_up_one', 5, CREATED + 6 * MINUTE - 1)).toEqual([])
  })

  // Of the runs 5 to 9 that are due, 9 is the current one, and 5 to 8 were missed.
  it.each<[MisfirePolicy, number[], number]>([
    ['skip', [9], 4],
    ['catch_up_one', [8, 9], 3],
    ['catch_up_all', [5, 6, 7, 8, 9], 0],
  ])('missed runs are handled with %s', (policy, minutes, skipped) => {
    const now = CREATED + 9 * MINUTE + 30_000
    expect(fired(policy, 4, now)).toEqual(minutes)
    expect(dueRuns(schedule(policy, 4), minutely, now).skipped).toBe(skipped)
  })

  it('the number of runs to catch up is limited', () => {
    const now = CREATED + 100_000 * MINUTE
    const { fire, skipped } = dueRuns(schedule('catch_up_all'), minutely, now)
    expect(fire).toHaveLength(MAX_CATCH_UP + 1)
    expect(fire.at(-1)).toBe(now)
    expect(fire[0]).toBe(now - MAX_CATCH_UP * MINUTE)
    expect(skipped).toBeGreaterThan(0)
  })

  it('no run is due if the clock was set back before the settled time', () => {
    for (const policy of MISFIRE_POLICIES) expect(fired(policy, 9, CREATED + 3 * MINUTE)).toEqual([])
  })

  it('catch_up_all fires each run once over any ticks, and never before it is due', () => {
    const steps = fc.array(fc.integer({ min: -5 * MINUTE, max: 20 * MINUTE }), { maxLength: 40 })
    fc.assert(
      fc.property(steps, fc.constantFrom(0, 30, 3600), (pauses, jitter) => {
        let { settled_until } = schedule('catch_up_all')
        let now = CREATED
        let latest = CREATED
        const all: number[] = []
        for (const pause of pauses) {
          now += pause
          latest = Math.max(latest, now)
          const { fire } = dueRuns({ ...schedule('catch_up_all', 0, jitter), settled_until }, minutely, now)
          for (const run of fire) {
            expect(dueAt(schedule('skip', 0, jitter), minutely, run)).toBeLessThanOrEqual(now)
            all.push(run)
            settled_until = run
          }
        }
        const expected: number[] = []
        for (let run = CREATED + MINUTE; run <= latest; run += MINUTE) {
          if (dueAt(schedule('skip', 0, jitter), minutely, run) <= latest) expected.push(run)
        }
        expect(all).toEqual(expected)
      }),
    )
  })
})

describe('jitter', () => {
  const jittered = (schedule_id: string, jitter_seconds: number) => ({ schedule_id, jitter_seconds })

  it('jitter is deterministic, and differs for each run and schedule', () => {
    const delays = (id: string) =>
      Array.from({ length: 50 }, (_, n) => {
        const run = CREATED + (n + 1) * MINUTE
        return dueAt(jittered(id, 60), minutely, run) - run
      })
    expect(delays('s1')).toEqual(delays('s1'))
    expect(delays('s1')).not.toEqual(delays('s2'))
    expect(new Set(delays('s1')).size).toBeGreaterThan(40)
  })

  it('jitter delays by less than its limit, and runs keep their order', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.integer({ min: 1, max: 86_400 }), fc.nat(1000), (id, seconds, n) => {
        const run = CREATED + (n + 1) * MINUTE
        const due = dueAt(jittered(id, seconds), minutely, run)
        expect(due).toBeGreaterThanOrEqual(run)
        expect(due).toBeLessThan(run + seconds * 1000)
        expect(due).toBeLessThan(run + MINUTE)
      }),
    )
  })

  it('jitter is distributed over the whole range', () => {
    const delays = Array.from({ length: 1000 }, (_, n) => {
      const run = CREATED + (n + 1) * MINUTE
      return (dueAt(jittered('s1', 60), minutely, run) - run) / MINUTE
    })
    const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length
    expect(mean).toBeGreaterThan(0.4)
    expect(mean).toBeLessThan(0.6)
    expect(Math.max(...delays)).toBeGreaterThan(0.9)
    expect(Math.min(...delays)).toBeLessThan(0.1)
  })

  it('zero jitter does not delay', () => {
    expect(dueAt(jittered('s1', 0), minutely, CREATED + MINUTE)).toBe(CREATED + MINUTE)
  })
})

describe('stale schedules', () => {
  it('a schedule is stale when a run is overdue by more than two intervals', () => {
    const run = CREATED + MINUTE
    expect(staleAfter(minutely, run)).toBe(run + 2 * MINUTE)
  })

  it('with uneven intervals, the interval after the run counts', () => {
    const workdays = timetableOf({ mode: 'cron', cron_expr: '0 9 * * 1-5', timezone: 'UTC' }, CREATED)
    const friday = Date.UTC(2026, 0, 2, 9)
    expect(staleAfter(workdays, friday)).toBe(friday + 6 * 24 * 60 * MINUTE)
  })
})
