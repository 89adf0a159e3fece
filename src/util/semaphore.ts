/** A counting semaphore whose waiters get permits in the order in which they asked. */
export class Semaphore {
  readonly #permits: number
  readonly #waiters = new Set<() => void>()
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

  /** Resolves with a function that releases the permit. Rejects with the reason of the signal when that is aborted. */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted()
    // A released permit passes to the first waiter directly, so that no later caller can take it.
    if (this.#held < this.#permits) this.#held += 1
    else await this.#wait(signal)
    let isHeld = true
    return () => {
      if (isHeld) this.#release()
      isHeld = false
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiters.delete(onPermit)
        reject(signal?.reason)
      }
      const onPermit = () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }
      this.#waiters.add(onPermit)
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  #release(): void {
    const [next] = this.#waiters
    if (next === undefined) {
      this.#held -= 1
      return
    }
    this.#waiters.delete(next)
    next()
  }
}
