/** Milliseconds since the epoch. */
export type Clock = () => number

/**
 * The wall clock as it was at the start, plus the monotonic time since: a wall clock that is set neither ends nor
 * prolongs a lease. It starts no earlier than `floor`, the last time that was stored.
 */
export function startClock(floor: number): Clock {
  const offset = Math.max(Date.now(), floor) - performance.now()
  // Rounding up keeps the first reading from falling below the floor.
  return () => Math.ceil(offset + performance.now())
}
