import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type BucketState,
  MAX_CALLS,
  MAX_WINDOW_SECONDS,
  type RateLimit,
  takeCalls,
} from '../../src/core/rate-limit.ts'

const START = Date.UTC(2026, 0, 1)

/** A bucket with a clock that only advances on request. */
class Bucket {
  now = START
  readonly #limit: RateLimit
  #state: BucketState | undefined

  constructor(calls: number, window_seconds: number) {
    this.#limit = { calls, window_seconds }
  }

  take(cost = 1) {
    const { state, standing } = takeCalls(this.#state, this.#limit, this.now, cost)
    this.#state = state
    return standing
  }

  /** How many calls are allowed in a row. */
  drain(): number {
    let count = 0
    while (this.take().isAllowed) count++
    return count
  }
}

describe('takeCalls', () => {
  it('allows exactly the limit at once, then refuses with the time of the next call', () => {
    const bucket = new Bucket(100, 60)
    expect(bucket.drain()).toBe(100)
    expect(bucket.take()).toEqual({ isAllowed: false, remaining: 0, full_ms: 60_000, retry_ms: 600 })
    bucket.now += 599
    expect(bucket.take().isAllowed).toBe(false)
    bucket.now += 1
    expect(bucket.drain()).toBe(1)
  })

  it('counts down and is full again after the window', () => {
    const bucket = new Bucket(5, 10)
    expect([1, 2, 3].map(() => bucket.take().remaining)).toEqual([4, 3, 2])
    expect(bucket.take(0)).toMatchObject({ remaining: 2, full_ms: 6000 })
    bucket.now += 6000
    expect(bucket.take(0)).toMatchObject({ remaining: 5, full_ms: 0 })
    expect(bucket.drain()).toBe(5)
  })

  it('reading changes nothing, also in an empty bucket', () => {
    const bucket = new Bucket(1, 60)
    bucket.take()
    expect([bucket.take(0), bucket.take(0)]).toEqual([
      { isAllowed: true, remaining: 0, full_ms: 60_000, retry_ms: 0 },
      { isAllowed: true, remaining: 0, full_ms: 60_000, retry_ms: 0 },
    ])
  })

  it('a limit whose interval is no whole number of milliseconds does not drift', () => {
    const bucket = new Bucket(7, 1)
    bucket.drain()
    let allowed = 0
    for (let second = 0; second < 10_000; second++) {
      bucket.now += 1000
      allowed += bucket.drain()
    }
    expect(allowed).toBe(70_000)
  })

  it('the largest limit is exact: a call takes its share, and the share comes back', () => {
    const bucket = new Bucket(MAX_CALLS, MAX_WINDOW_SECONDS)
    expect(bucket.take(MAX_CALLS - 1).remaining).toBe(1)
    expect(bucket.take().remaining).toBe(0)
    expect(bucket.take().isAllowed).toBe(false)
    bucket.now += 1
    // 100 million calls in 86.4 million milliseconds: one whole call per millisecond, and a part of the next.
    expect(bucket.take(0).remaining).toBe(1)
    bucket.now += MAX_WINDOW_SECONDS * 1000 - 1
    expect(bucket.take(0).remaining).toBe(MAX_CALLS)
  })

  it('a clock that goes back by a lot does not lock the bucket', () => {
    const bucket = new Bucket(2, 60)
    bucket.drain()
    bucket.now -= 3_600_000
    expect(bucket.take().retry_ms).toBeLessThanOrEqual(60_000)
  })

  it('never allows more than the limit plus what has come back since', () => {
    const step = fc.record({ wait: fc.nat(5000), cost: fc.integer({ min: 1, max: 5 }) })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1000 }),
        fc.integer({ min: 1, max: 100 }),
        fc.array(step, { maxLength: 200 }),
        (calls, window, steps) => {
          const bucket = new Bucket(calls, window)
          let allowed = 0
          for (const { wait, cost } of steps) {
            bucket.now += wait
            const { isAllowed, retry_ms, remaining } = bucket.take(cost)
            if (isAllowed) allowed += cost
            else if (cost <= calls) expect(retry_ms).toBeGreaterThan(0)
            expect(remaining).toBeLessThanOrEqual(calls)
          }
          const back = ((bucket.now - START) * calls) / (window * 1000)
          expect(allowed).toBeLessThanOrEqual(calls + back)
        },
      ),
    )
  })
})
