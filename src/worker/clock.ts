/** A clock that nobody sets: only differences of its times mean something. */
export const now = (): number => performance.now()

/** Runs it when everything that ends in this moment has ended, and before anything else happens. */
export const soon: (run: () => void) => void =
  typeof setImmediate === 'function' ? setImmediate : (run) => setTimeout(run, 0)

/** Timers count in 32 bits. */
const LONGEST_MS = 2 ** 31 - 1

export function timerMs(ms: number): number {
  return Math.min(Math.max(ms, 0), LONGEST_MS)
}

/**
 * Tells how late it may be that something arrived without having been noticed: a process that was stopped, or a
 * machine that slept, finds an answer in its hands that is older than it looks.
 */
export class Pulse {
  #timer: ReturnType<typeof setInterval> | undefined
  #last = now()
  #before = this.#last

  start(everyMs: number): void {
    this.#before = this.#last = now()
    this.#timer = setInterval(() => {
      this.#before = this.#last
      this.#last = now()
    }, everyMs)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /**
   * What arrives now was not there at this time. One beat back, since the first beat after a sleep may come before
   * what arrived in it is read.
   */
  get absentAt(): number {
    return this.#before
  }
}
