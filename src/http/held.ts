import type { ServerResponse } from 'node:http'

/** Requests that wait for an event. They end when their client disconnects or the server stops. */
export class Held {
  readonly #waiting = new Set<AbortController>()
  #stopped = false

  get count(): number {
    return this.#waiting.size
  }

  /** Aborted when the client disconnects or the server stops. */
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
