import { ROUTES } from '../client/operations.ts'
import type { OpenTasks } from './open-tasks.ts'

/**
 * The fetch of a worker whose claims can be ended at any time. A claim that the server held would have to be cut off,
 * and with it a lease that was just given. So the waiting is done here: each try is answered at once.
 */
export class Claims {
  readonly #open: OpenTasks
  #isOver = false

  constructor(open: OpenTasks) {
    this.#open = open
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const isClaim = String(input).endsWith(ROUTES.leaseNext.path)
    return isClaim && typeof init?.body === 'string'
      ? this.#claim(input, init, init.body)
      : fetch(input, init)
  }

  /** Claims that wait are answered with no task. */
  end(): void {
    this.#isOver = true
    this.#open.recheck()
  }

  async #claim(input: string | URL | Request, init: RequestInit, body: string): Promise<Response> {
    const asked = { ...init, body: JSON.stringify({ ...JSON.parse(body), wait_seconds: 0 }) }
    for (;;) {
      const { changes } = this.#open
      const response = await fetch(input, asked)
      const text = await response.text()
      const isEmpty = response.ok && JSON.parse(text).tasks?.length === 0
      if (this.#isOver || !isEmpty) return new Response(text, response)
      await this.#open.until(() => this.#isOver || this.#open.changes !== changes)
    }
  }
}
