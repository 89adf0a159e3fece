import type { UpstreamHealth } from '../../features/upstreams/upstreams.ts'

/** Durations of the newest calls from which the percentiles are computed. */
const MAX_DURATIONS = 500

/** The calls of an upstream since the gate started, over all its connections. Canceled calls do not count. */
export class Traffic {
  #calls = 0
  #errors = 0
  readonly #durations: number[] = []

  /** A call has ended. `isError`: it failed, or the tool reported an error. */
  ended(ms: number, isError: boolean): void {
    this.#durations[this.#calls % MAX_DURATIONS] = ms
    this.#calls += 1
    if (isError) this.#errors += 1
  }

  get view(): UpstreamHealth['traffic'] {
    const sorted = this.#durations.toSorted((a, b) => a - b)
    const percentile = (part: number) => {
      const found = sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)]
      return found === undefined ? null : Math.round(found)
    }
    return {
      calls: this.#calls,
      errors: this.#errors,
      median_ms: percentile(0.5),
      p95_ms: percentile(0.95),
    }
  }
}
