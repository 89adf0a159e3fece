import type { Semaphore } from '../../util/semaphore.ts'

/** The permit of a call. It is released while the call waits for answers. */
export class Permit {
  readonly #semaphore: Semaphore
  readonly #signal: AbortSignal | undefined
  #release: (() => void) | undefined
  #pauses = 0
  #isOver = false

  constructor(semaphore: Semaphore, signal: AbortSignal | undefined) {
    this.#semaphore = semaphore
    this.#signal = signal
  }

  async acquire(): Promise<void> {
    const release = await this.#semaphore.acquire(this.#signal)
    // Meanwhile the call may have ended, paused again, or been resumed twice.
    if (this.#isOver || this.#pauses > 0 || this.#release !== undefined) release()
    else this.#release = release
  }

  /** Each pause needs a resume. */
  pause(): void {
    this.#pauses += 1
    if (this.#pauses === 1) this.#free()
  }

  /** The answer is not delayed until there is a permit again: the call is running at the upstream anyway. */
  resume(): void {
    this.#pauses -= 1
    // Only an abort rejects, which ends the call.
    if (this.#pauses === 0 && !this.#isOver) void this.acquire().catch(() => {})
  }

  release(): void {
    this.#isOver = true
    this.#free()
  }

  #free(): void {
    this.#release?.()
    this.#release = undefined
  }
}
