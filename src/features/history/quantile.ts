import { DURATION_BOUNDS } from '../../store/history.ts'

/**
 * The duration in milliseconds that a part of the counted ones does not exceed; null if nothing was counted. It is
 * interpolated within the range in which it lies. Of the last range only the lower bound is known.
 */
export function quantile(ranges: readonly number[], part: number): number | null {
  const total = ranges.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let rest = part * total
  for (const [i, count] of ranges.entries()) {
    const low = DURATION_BOUNDS[i - 1] ?? 0
    if (rest <= count && count > 0) return low + ((DURATION_BOUNDS[i] ?? low) - low) * (rest / count)
    rest -= count
  }
  return DURATION_BOUNDS.at(-1) ?? null
}
