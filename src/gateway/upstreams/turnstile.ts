interface Waiting {
  enter(): void
}

/** Lets so many in at once; the others wait, first come, first served. */
export class Turnstile {
  readonly #places: number
  readonly #queue = new Set<Waiting>()
  #inside = 0

  constructor(places: number) {
    this.#places = places
  }

  get inside(): number {
    return this.#inside
  }

  get waiting(): number {
    return this.#queue.size
  }

  /** Resolves with the way out, which is to be called once. Rejects with the reason of the signal. */
  async enter(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted()
    // Whoever leaves hands his place over, so nobody can slip in before those who wait.
    if (this.#inside < this.#places) this.#inside += 1
    else await this.#wait(signal)
    let isInside = true
    return () => {
      if (isInside) this.#leave()
      isInside = false
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#queue.delete(waiting)
        reject(signal?.reason)
      }
      const waiting: Waiting = {
        enter() {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        },
      }
      this.#queue.add(waiting)
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  #leave(): void {
    const [next] = this.#queue
    if (next === undefined) {
      this.#inside -= 1
      return
    }
    this.#queue.delete(next)
    next.enter()
  }
}
