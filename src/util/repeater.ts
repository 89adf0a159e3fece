/** Runs a function repeatedly, one run at a time. */
export class Repeater {
  readonly #intervalMs: number
  readonly #run: (signal: AbortSignal) => Promise<unknown>
  readonly #report: (error: unknown) => void
  readonly #stopping = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #again = false

  constructor(
    intervalMs: number,
    run: (signal: AbortSignal) => Promise<unknown>,
    report: (error: unknown) => void,
  ) {
    this.#intervalMs = intervalMs
    this.#run = run
    this.#report = report
  }

  /** Runs now, and then at intervals with jitter, so that several processes do not run in step. */
  wake(): void {
    if (this.#stopping.signal.aborted) return
    if (this.#running !== undefined) {
      this.#again = true
      return
    }
    clearTimeout(this.#timer)
    this.#running = this.#run(this.#stopping.signal)
      .catch(this.#report)
      .then(() => {
        this.#running = undefined
        if (this.#again) {
          this.#again = false
          this.wake()
        } else if (!this.#stopping.signal.aborted) {
          this.#timer = setTimeout(() => this.wake(), this.#intervalMs * (0.8 + 0.4 * Math.random()))
          this.#timer.unref()
        }
      })
  }

  /** Resolves when the current run has ended, at the latest after `patienceMs`. */
  async stop(patienceMs: number): Promise<void> {
    this.#stopping.abort()
    clearTimeout(this.#timer)
    if (this.#running === undefined) return
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, patienceMs)
    })
    await Promise.race([this.#running, late])
    clearTimeout(timer)
  }
}
