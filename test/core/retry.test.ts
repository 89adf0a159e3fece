import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { backoffMs, mayRetry } from '../../src/core/lease.ts'
import { DEFAULT_SETTINGS } from '../../src/core/settings.ts'

describe('mayRetry', () => {
  test.each([
    { attempt: 0, max_attempts: 1, allowed: false },
    { attempt: 0, max_attempts: 2, allowed: true },
    { attempt: 1, max_attempts: 2, allowed: false },
    { attempt: 1, max_attempts: 3, allowed: true },
    { attempt: 2, max_attempts: 3, allowed: false },
    { attempt: 5, max_attempts: 3, allowed: false },
  ])(
    'a retry after $attempt failures of $max_attempts attempts is allowed: $allowed',
    ({ attempt, max_attempts, allowed }) => {
      expect(mayRetry({ attempt, max_attempts }, true)).toBe(allowed)
    },
  )

  test('a failure that is not retryable is never retried', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), (attempt, max_attempts) => {
        expect(mayRetry({ attempt, max_attempts }, false)).toBe(false)
      }),
    )
  })

  test('a task runs exactly max_attempts times', () => {
    for (const max_attempts of [1, 2, 3, 10]) {
      let attempt = 0
      let runs = 1
      for (; mayRetry({ attempt, max_attempts }, true); runs++) attempt++
      expect(runs).toBe(max_attempts)
    }
  })
})

describe('backoffMs', () => {
  const seconds = (base: number, attempt: number) => backoffMs(base, attempt, DEFAULT_SETTINGS) / 1000

  test('the backoff doubles from the base to the maximum', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) => seconds(15, attempt))
    expect(waits).toEqual([15, 30, 60, 120, 240, 480, 900, 900])
  })

  test('a base above the maximum gives the maximum', () => {
    expect(seconds(3600, 1)).toBe(900)
  })

  test('a base of 0 gives no backoff', () => {
    expect(seconds(0, 1)).toBe(0)
    expect(seconds(0, 1000)).toBe(0)
  })

  test('the maximum comes from the settings', () => {
    expect(backoffMs(15, 9, { ...DEFAULT_SETTINGS, max_retry_backoff_seconds: 40 })).toBe(40_000)
  })

  test('the backoff is an integer up to the maximum and never decreases', () => {
    fc.assert(
      fc.property(fc.nat(31_536_000), fc.integer({ min: 1, max: 1000 }), (base, attempt) => {
        const wait = backoffMs(base, attempt, DEFAULT_SETTINGS)
        expect(Number.isSafeInteger(wait)).toBe(true)
        expect(wait).toBeLessThanOrEqual(900_000)
        expect(backoffMs(base, attempt + 1, DEFAULT_SETTINGS)).toBeGreaterThanOrEqual(wait)
      }),
    )
  })
})
