/** The pause before the nth retry: `first`, `factor` times that, `factor` times that again and so on, at most `max`. */
export function backoff(nth: number, first: number, max = Number.POSITIVE_INFINITY, factor = 2): number {
  return Math.min(first * factor ** Math.min(nth - 1, 30), max)
}
