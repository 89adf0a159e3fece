import type { LaneRate } from '../../core/matching.ts'

/** The stored form of a rate. Most lanes have none. */
export function rateText(rate: LaneRate | null): string | null {
  return rate === null ? null : JSON.stringify([rate.limit, rate.seconds, rate.at, rate.started])
}

export function rateOf(text: string | null): LaneRate | null {
  if (text === null) return null
  const [limit, seconds, at, started] = JSON.parse(text)
  return { limit, seconds, at, started }
}
