interface Waiter {
  readonly permits: number
  grant(): void
}

/** A counting semaphore whose waiters get permits in the order in which they asked. */
export class Semaphore {
  readonly #permits: number
  readonly #waiters = new Set<Waiter>()
  #held = 0

  constructor(permits: number) {
    this.#permits = permits
  }

  get held(): number {
    return this.#held
  }

  get waiting(): number {
    return this.#waiters.size
  }

  /**
   * Resolves with a function that releases the permits. A caller that asks for more than there are gets all of them.
   * Rejects with the reason of the signal when that is aborted.
   */
  async acquire(signal?: AbortSignal, permits = 1): Promise<() => void> {
    signal?.throwIfAborted()
    const taken = Math.min(permits, this.#permits)
    // Nobody overtakes a waiter, so that one who needs many permits gets them too.
    if (this.#waiters.size === 0 && this.#held + taken <= this.#permits) this.#held += taken
    else await this.#wait(taken, signal)
    let isHeld = true
    return () => {
      if (isHeld) this.#release(taken)
      isHeld = false
    }
  }

  #wait(permits: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiters.delete(waiter)
        reject(signal?.reason)
        this.#grant()
      }
      const waiter = {
        permits,
        grant: () => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        },
      }
      this.#waiters.add(waiter)
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  #release(permits: number): void {
    this.#held -= permits
    this.#grant()
  }

  #grant(): void {
    for (const waiter of this.#waiters) {
      if (this.#held + waiter.permits > this.#permits) return
      this.#held += waiter.permits
      this.#waiters.delete(waiter)
      waiter.grant()
    }
  }
}
