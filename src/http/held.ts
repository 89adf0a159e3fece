import type { ServerResponse } from 'node:http'

/** The requests that wait for something to happen. They end when their client leaves or the server stops. */
export class Held {
  readonly #waiting = new Set<AbortController>()
  #stopped = false

  get count(): number {
    return this.#waiting.size
  }

  /** Aborted when there is nobody left to answer, or no time. */
  signal(response: ServerResponse): AbortSignal {
    if (this.#stopped || response.destroyed) return AbortSignal.abort()
    const controller = new AbortController()
    this.#waiting.add(controller)
    response.once('close', () => {
      this.#waiting.delete(controller)
      if (!response.writableFinished) controller.abort()
    })
    return controller.signal
  }

  stop(): void {
    this.#stopped = true
    for (const controller of this.#waiting) controller.abort()
  }
}
