import { backoff, GateError, pause } from '../client/transport.ts'

const PAUSES = { firstMs: 250, maxMs: 5000 }

/** One pause for all that could not be told, so that they go together again when the server is back. */
export class Outage {
  readonly #closing = new AbortController()
  #failures = 0
  #pause: Promise<void> | undefined

  /** Resolves when it is time to try again: at once if nothing is wrong. */
  async over(): Promise<void> {
    await this.#pause
  }

  began(error: unknown): void {
    if (this.#pause !== undefined) return
    this.#failures++
    const atLeastMs = (error instanceof GateError ? error.retryAfterMs : undefined) ?? 0
    const ms = Math.max(backoff(this.#failures, PAUSES), atLeastMs)
    this.#pause = pause(ms, this.#closing.signal)
      .catch(() => {})
      .finally(() => {
        this.#pause = undefined
      })
  }

  ended(): void {
    this.#failures = 0
  }

  close(): void {
    this.#closing.abort()
  }
}
