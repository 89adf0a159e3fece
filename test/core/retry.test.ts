import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonical } from '../../src/core/json/json.ts'
import { mayRetry } from '../../src/core/lease.ts'
import { backoffMs, isRetried, type RetryPolicy } from '../../src/core/scheduling.ts'
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
  const wait = (base: number, attempt: number, settings = DEFAULT_SETTINGS, retry?: RetryPolicy, unit = 0) =>
    backoffMs(
      {
        attempt: attempt - 1,
        retry_backoff_seconds: base,
        scheduling: retry === undefined ? null : { retry },
      },
      settings,
      { unit: () => unit, hex: () => '' },
    )
  const seconds = (base: number, attempt: number, retry?: RetryPolicy) =>
    wait(base, attempt, DEFAULT_SETTINGS, retry) / 1000

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
    expect(wait(15, 9, { ...DEFAULT_SETTINGS, max_retry_backoff_seconds: 40 })).toBe(40_000)
  })

  test('the backoff is an integer up to the maximum and never decreases', () => {
    fc.assert(
      fc.property(fc.nat(31_536_000), fc.integer({ min: 1, max: 1000 }), (base, attempt) => {
        const pause = wait(base, attempt)
        expect(Number.isSafeInteger(pause)).toBe(true)
        expect(pause).toBeLessThanOrEqual(900_000)
        expect(wait(base, attempt + 1)).toBeGreaterThanOrEqual(pause)
      }),
    )
  })

  test('a policy has its own factor and maximum', () => {
    expect([1, 2, 3].map((attempt) => seconds(1, attempt, { factor: 3 }))).toEqual([1, 3, 9])
    expect([1, 2, 3].map((attempt) => seconds(5, attempt, { factor: 1 }))).toEqual([5, 5, 5])
    expect(seconds(1000, 4, { max_backoff_seconds: 2000 })).toBe(2000)
  })

  test('jitter shortens a pause by at most its share', () => {
    expect(wait(10, 1, DEFAULT_SETTINGS, { jitter: 0.5 }, 0)).toBe(10_000)
    expect(wait(10, 1, DEFAULT_SETTINGS, { jitter: 0.5 }, 0.5)).toBe(7_500)
    expect(wait(10, 1, DEFAULT_SETTINGS, { jitter: 1 }, 0.9)).toBe(1_000)
  })
})

describe('isRetried', () => {
  const error = canonical({ code: 'E_BUSY', name: 'BusyError', message: 'busy' })
  const retried = (retry: RetryPolicy, failure = error) => isRetried({ scheduling: { retry } }, failure)

  test('without a list every error is retried', () => {
    expect(isRetried({ scheduling: null }, error)).toBe(true)
    expect(retried({ factor: 2 })).toBe(true)
  })

  test('only the listed codes and names are retried', () => {
    expect(retried({ only: ['E_BUSY'] })).toBe(true)
    expect(retried({ only: ['BusyError'] })).toBe(true)
    expect(retried({ only: ['E_OTHER'] })).toBe(false)
    expect(retried({ only: ['E_BUSY'] }, canonical('busy'))).toBe(false)
  })

  test('an excepted code or name is not retried', () => {
    expect(retried({ except: ['BusyError'] })).toBe(false)
    expect(retried({ only: ['E_BUSY'], except: ['BusyError'] })).toBe(false)
    expect(retried({ except: ['E_OTHER'] })).toBe(true)
  })
})
