import { type BucketState, type Standing, takeCalls } from '../../core/rate-limit.ts'
import type { Bucket, Buckets } from './port.ts'

/** Full buckets are removed when there are more than this; if none is full, the oldest one. */
const MAX_BUCKETS = 100_000

const ORIGIN = performance.timeOrigin

/** Time that never goes back, in whole milliseconds. */
export function monotonicNow(): number {
  return Math.floor(ORIGIN + performance.now())
}

/** Counts the calls of this process. */
export class MemoryBuckets implements Buckets {
  readonly #states = new Map<string, BucketState>()
  readonly #now: () => number
  readonly #max: number

  constructor(now: () => number = monotonicNow, max = MAX_BUCKETS) {
    this.#now = now
    this.#max = max
  }

  get size(): number {
    return this.#states.size
  }

  take(buckets: readonly Bucket[], cost: number): readonly Standing[] {
    const now = this.#now()
    const states: BucketState[] = []
    const standings: Standing[] = []
    let isAllowed = true
    for (const { name, limit } of buckets) {
      const { state, standing } = takeCalls(this.#states.get(name), limit, now, cost)
      states.push(state)
      standings.push(standing)
      isAllowed &&= standing.isAllowed
    }
    if (cost === 0) return standings
    if (!isAllowed) return this.#refused(buckets, standings, now)
    for (let i = 0; i < buckets.length; i++) {
      const name = buckets[i]?.name
      const state = states[i]
      if (name !== undefined && state !== undefined) this.#states.set(name, state)
    }
    if (this.#states.size > this.#max) this.#clean(now)
    return standings
  }

  /** The buckets that would allow the call keep what they have. */
  #refused(buckets: readonly Bucket[], standings: readonly Standing[], now: number): readonly Standing[] {
    return buckets.map(({ name, limit }, i) => {
      const refused = standings[i]
      return refused?.isAllowed === false
        ? refused
        : takeCalls(this.#states.get(name), limit, now, 0).standing
    })
  }

  #clean(now: number): void {
    for (const [name, { ms }] of this.#states) if (ms < now) this.#states.delete(name)
    for (const name of this.#states.keys()) {
      if (this.#states.size <= this.#max) return
      this.#states.delete(name)
    }
  }
}
