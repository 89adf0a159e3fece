export interface BreakerSettings {
  /** Consecutive failures after which it opens. */
  readonly failures: number
  readonly cooldown_ms: number
}

export type BreakerState = 'closed' | 'open' | 'half_open'

/** A permitted call. Exactly one of these functions must be called. */
export interface Pass {
  succeeded(): void
  failed(): void
  /** The outcome is unknown. */
  dropped(): void
}

/** A circuit breaker. It opens after consecutive failures; after the cooldown a single call probes the upstream. */
export class Breaker {
  readonly #settings: BreakerSettings
  readonly #now: () => number
  #failures = 0
  #openedAt: number | undefined
  #probing = false

  constructor(settings: BreakerSettings, now: () => number = Date.now) {
    this.#settings = settings
    this.#now = now
  }

  get state(): BreakerState {
    if (this.#openedAt === undefined) return 'closed'
    return this.#left(this.#openedAt) > 0 ? 'open' : 'half_open'
  }

  /** The time until the next call is permitted; 0 if one is permitted now. */
  get waitMs(): number {
    if (this.#openedAt === undefined) return 0
    const left = this.#left(this.#openedAt)
    return left > 0 ? left : this.#probing ? this.#settings.cooldown_ms : 0
  }

  /** Undefined if no call is permitted now. */
  enter(): Pass | undefined {
    if (this.waitMs > 0) return undefined
    const isProbe = this.#openedAt !== undefined
    if (isProbe) this.#probing = true
    const end = () => {
      if (isProbe) this.#probing = false
    }
    return {
      succeeded: () => {
        end()
        // Calls that began before it opened say nothing about the current state.
        if (!isProbe && this.#openedAt !== undefined) return
        this.#failures = 0
        this.#openedAt = undefined
      },
      failed: () => {
        end()
        this.#failures += 1
        const opens = isProbe || (this.#openedAt === undefined && this.#failures >= this.#settings.failures)
        if (opens) this.#openedAt = this.#now()
      },
      dropped: end,
    }
  }

  #left(openedAt: number): number {
    return openedAt + this.#settings.cooldown_ms - this.#now()
  }
}
