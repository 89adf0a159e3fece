import { expect, it } from 'vitest'
import { quantile } from '../../../src/features/history/quantile.ts'
import { DURATION_BOUNDS, rangeOf } from '../../../src/store/history.ts'

function ranges(...durations: number[]): number[] {
  const counts = Array.from({ length: DURATION_BOUNDS.length + 1 }, () => 0)
  for (const ms of durations) counts[rangeOf(ms)] = (counts[rangeOf(ms)] ?? 0) + 1
  return counts
}

it('nothing has no quantile', () => {
  expect(quantile(ranges(), 0.5)).toBeNull()
})

it('a quantile lies in the range of its duration', () => {
  const counts = ranges(...Array.from({ length: 90 }, () => 5), ...Array.from({ length: 10 }, () => 2_000))
  expect(quantile(counts, 0.5)).toBeLessThanOrEqual(10)
  expect(quantile(counts, 0.95)).toBeGreaterThan(1_000)
  expect(quantile(counts, 0.95)).toBeLessThanOrEqual(3_000)
})

it('durations beyond the last bound count as that bound', () => {
  expect(quantile(ranges(10 * 86_400_000), 0.95)).toBe(86_400_000)
})

it('a bound belongs to the range below it', () => {
  expect(rangeOf(10)).toBe(0)
  expect(rangeOf(11)).toBe(1)
  expect(rangeOf(86_400_001)).toBe(DURATION_BOUNDS.length)
})
