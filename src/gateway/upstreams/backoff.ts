import { backoff } from '../../util/backoff.ts'

export interface BackoffSettings {
  readonly first_ms: number
  readonly max_ms: number
  /** A connection that lasted so long was a good one: the next pause is the first again. */
  readonly healthy_ms: number
}

/** Pauses between tries to connect, each twice the one before. */
export class Backoff {
  readonly #settings: BackoffSettings
  #tries = 0

  constructor(settings: BackoffSettings) {
    this.#settings = settings
  }

  /** How long to wait now that a try has failed, or a connection was lost that had lasted so long. */
  next(lastedMs = 0): number {
    const { first_ms, max_ms, healthy_ms } = this.#settings
    if (lastedMs >= healthy_ms) this.#tries = 0
    this.#tries += 1
    return backoff(this.#tries, first_ms, max_ms)
  }
}
