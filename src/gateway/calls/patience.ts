/** No call waits longer for its upstream. */
const MAX_MS = 3_600_000

/** How long calls have been waiting for upstreams that are not connected, from when they first found them so. */
export class Patience {
  readonly #since = new Map<string, number>()
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  get size(): number {
    return this.#since.size
  }

  /** Whether the call may still wait, given the longest that it may. */
  lasts(taskId: string, maxMs: number): boolean {
    const now = this.#now()
    const since = this.#since.get(taskId)
    if (since !== undefined) return now - since < maxMs
    // A call that was canceled while it waited is not heard of again.
    for (const [id, began] of this.#since) {
      if (now - began < MAX_MS) break
      this.#since.delete(id)
    }
    this.#since.set(taskId, now)
    return maxMs > 0
  }

  /** The call waits no more. */
  end(taskId: string): void {
    this.#since.delete(taskId)
  }
}
