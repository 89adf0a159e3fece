/** The timeout of a call, which does not run while the upstream waits for answers. */
export class CallTimer {
  readonly #controller = new AbortController()
  readonly #outer: AbortSignal | undefined
  #leftMs: number
  #timer: NodeJS.Timeout | undefined
  #startedAt = 0
  #pauses = 0
  #isOver = false

  /** `outer` aborts the call too. */
  constructor(ms: number, outer: AbortSignal | undefined) {
    this.#leftMs = ms
    this.#outer = outer
    if (outer?.aborted) this.#onAbort()
    else outer?.addEventListener('abort', this.#onAbort, { once: true })
    this.#run()
  }

  /** Is aborted when the time is up or the outer signal is aborted. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Whether the time is up. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Each pause needs a resume. */
  pause(): void {
    this.#pauses += 1
    if (this.#pauses > 1) return
    clearTimeout(this.#timer)
    this.#leftMs -= performance.now() - this.#startedAt
  }

  resume(): void {
    this.#pauses -= 1
    if (this.#pauses === 0 && !this.signal.aborted) this.#run()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#outer?.removeEventListener('abort', this.#onAbort)
  }

  #run(): void {
    this.#startedAt = performance.now()
    this.#timer = setTimeout(
      () => {
        this.#isOver = true
        this.#controller.abort(new Error('The call timed out.'))
      },
      Math.max(0, this.#leftMs),
    )
  }

  readonly #onAbort = (): void => this.#controller.abort(this.#outer?.reason)
}
