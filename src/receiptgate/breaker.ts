export interface BreakerSettings {
  /** Consecutive failures after which it opens. */
  readonly failures: number
  /** How long it stays open. */
  readonly openMs: number
  /** Calls that are tried after that. */
  readonly probes: number
  /** Successes among them that close it. */
  readonly successes: number
}

/** A circuit breaker for calls that are made one at a time. Times are those of the caller. */
export class CircuitBreaker {
  readonly #settings: BreakerSettings | null
  #failures = 0
  #openedAt: number | undefined
  #successes = 0
  #misses = 0

  /** Without settings it never opens. */
  constructor(settings: BreakerSettings | null) {
    this.#settings = settings
  }

  /** Whether it has opened and not closed again since. */
  get isOpen(): boolean {
    return this.#openedAt !== undefined
  }

  /** Whether a call may be made now. */
  permits(now: number): boolean {
    return this.waitMs(now) === 0
  }

  /** How long no call may be made, in ms. */
  waitMs(now: number): number {
    if (this.#settings === null || this.#openedAt === undefined) return 0
    return Math.max(0, this.#openedAt + this.#settings.openMs - now)
  }

  succeeded(): void {
    this.#failures = 0
    if (this.#settings === null || this.#openedAt === undefined) return
    this.#successes += 1
    if (this.#successes >= this.#settings.successes) this.#openedAt = undefined
  }

  failed(now: number): void {
    if (this.#settings === null) return
    this.#failures += 1
    if (this.#openedAt === undefined) {
      if (this.#failures >= this.#settings.failures) this.#open(now)
      return
    }
    // It stays half open while the remaining calls can still close it.
    this.#misses += 1
    if (this.#misses > this.#settings.probes - this.#settings.successes) this.#open(now)
  }

  #open(now: number): void {
    this.#openedAt = now
    this.#successes = 0
    this.#misses = 0
  }
}
