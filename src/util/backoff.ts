/** The pause before the nth retry: `first`, twice that, four times that and so on, at most `max`. */
export function backoff(nth: number, first: number, max = Number.POSITIVE_INFINITY): number {
  return Math.min(first * 2 ** Math.min(nth - 1, 30), max)
}
