/** No task is looked at more often than this, nor less. */
export const MIN_POLL_MS = 250
export const MAX_POLL_MS = 60_000

/** A person takes his time. */
const MIN_APPROVAL_POLL_MS = 5_000

/** As many looks in a second are no load; with twice as many, everybody looks half as often. */
const EASY_POLLS_PER_SECOND = 500

/**
 * How long to wait until the next look at a task: a tenth of its age, so that its end is noticed at most a tenth late,
 * and longer the more looks there are.
 */
export function pollInterval(ageMs: number, isPendingApproval: boolean, pollsPerSecond: number): number {
  const least = isPendingApproval ? MIN_APPROVAL_POLL_MS : MIN_POLL_MS
  const load = Math.max(1, pollsPerSecond / EASY_POLLS_PER_SECOND)
  return Math.round(Math.min(MAX_POLL_MS, Math.max(least, ageMs / 10) * load))
}

const SECOND_MS = 1_000

/** Counts looks at tasks. */
export class PollMeter {
  #second = 0
  #count = 0
  #before = 0

  note(now: number): void {
    this.#turn(now)
    this.#count++
  }

  /** In the last full second, or in this one if that is more already. */
  perSecond(now: number): number {
    this.#turn(now)
    return Math.max(this.#count, this.#before)
  }

  #turn(now: number): void {
    const second = Math.floor(now / SECOND_MS)
    if (second === this.#second) return
    this.#before = second === this.#second + 1 ? this.#count : 0
    this.#count = 0
    this.#second = second
  }
}
