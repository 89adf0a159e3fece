import { type BucketState, type Standing, takeCalls } from '../../core/rate-limit.ts'
import type { Bucket, Buckets } from './port.ts'

/** Full buckets are removed when there are more than this; if none is full, the oldest one. */
const MAX_BUCKETS = 100_000

/** Time that never goes back, in whole milliseconds. */
export function monotonicNow(): number {
  return Math.floor(performance.timeOrigin + performance.now())
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
    const taken = buckets.map(({ name, limit }) => takeCalls(this.#states.get(name), limit, now, cost))
    if (cost === 0) return taken.map(({ standing }) => standing)
    if (!taken.every(({ standing }) => standing.isAllowed)) {
      // The buckets that allow the call keep what they have.
      return taken.map(({ standing }, i) =>
        standing.isAllowed ? this.#read(buckets[i], now, standing) : standing,
      )
    }
    taken.forEach(({ state }, i) => {
      const name = buckets[i]?.name
      if (name !== undefined) this.#states.set(name, state)
    })
    if (this.#states.size > this.#max) this.#clean(now)
    return taken.map(({ standing }) => standing)
  }

  #read(bucket: Bucket | undefined, now: number, otherwise: Standing): Standing {
    if (bucket === undefined) return otherwise
    return takeCalls(this.#states.get(bucket.name), bucket.limit, now, 0).standing
  }

  #clean(now: number): void {
    for (const [name, { ms }] of this.#states) if (ms < now) this.#states.delete(name)
    for (const name of this.#states.keys()) {
      if (this.#states.size <= this.#max) return
      this.#states.delete(name)
    }
  }
}
