import { SLOWER_BY } from '../time.ts'

/** Milliseconds since the epoch. */
export type Clock = () => number

export interface TimeSources {
  /** Milliseconds since the epoch. The clock may be set. */
  wall(): number
  /** Milliseconds since an arbitrary time. It is monotonic, and may stop while the machine is suspended. */
  monotonic(): number
}

const SYSTEM: TimeSources = { wall: () => Date.now(), monotonic: () => performance.now() }

/**
 * The wall clock, and after that was set back the monotonic one, slowed down until the wall clock has caught up. It
 * starts no earlier than `floor`, the last time that was stored.
 */
export function startClock(floor: number, { wall, monotonic }: TimeSources = SYSTEM): Clock {
  let time = floor
  let read = monotonic()
  return () => {
    const passed = monotonic() - read
    read += passed
    time = Math.max(wall(), time + passed * (1 - 1 / SLOWER_BY))
    return Math.floor(time)
  }
}
