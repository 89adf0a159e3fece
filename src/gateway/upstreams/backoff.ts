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
    const pause = Math.min(first_ms * 2 ** this.#tries, max_ms)
    this.#tries = Math.min(this.#tries + 1, 32)
    return pause
  }
}
