import { backoff } from '../../util/backoff.ts'

export interface BackoffSettings {
  readonly first_ms: number
  readonly max_ms: number
  /** A connection that lasted this long resets the backoff. */
  readonly healthy_ms: number
}

/** The exponential backoff between attempts to connect. */
export class Backoff {
  readonly #settings: BackoffSettings
  #tries = 0

  constructor(settings: BackoffSettings) {
    this.#settings = settings
  }

  /** The pause after a failed attempt, or after a connection that lasted `lastedMs`. */
  next(lastedMs = 0): number {
    const { first_ms, max_ms, healthy_ms } = this.#settings
    if (lastedMs >= healthy_ms) this.#tries = 0
    this.#tries += 1
    return backoff(this.#tries, first_ms, max_ms)
  }
}
