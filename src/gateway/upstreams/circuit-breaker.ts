export interface BreakerSettings {
  /** Failures in a row after which it opens. */
  readonly failures: number
  /** How long it then stays open. */
  readonly cooldown_ms: number
}

export type BreakerState = 'closed' | 'open' | 'half_open'

/** A call that was let through. Exactly one of these is to be called. */
export interface Pass {
  succeeded(): void
  failed(): void
  /** Nobody knows how it would have ended. */
  dropped(): void
}

/**
 * Spares an upstream that fails again and again the calls that would fail too. After a while a single call is let
 * through: if it succeeds all is well again, if it fails the wait begins anew.
 */
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

  /** How long calls have to wait; 0 if one may be made now. */
  get waitMs(): number {
    if (this.#openedAt === undefined) return 0
    const left = this.#left(this.#openedAt)
    return left > 0 ? left : this.#probing ? this.#settings.cooldown_ms : 0
  }

  /** Undefined if no call may be made now. */
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
        // Calls that began before it opened prove nothing about now.
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
