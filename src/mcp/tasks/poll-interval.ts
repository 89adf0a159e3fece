export const MIN_POLL_MS = 250
export const MAX_POLL_MS = 60_000

/** People take longer. */
const MIN_APPROVAL_POLL_MS = 5_000

/** Up to this rate the interval depends on the age only. Beyond it, the interval grows with the load. */
const EASY_POLLS_PER_SECOND = 500

/**
 * The interval until the next poll: a tenth of the age of the task, so that its end is noticed at most 10 % late, and
 * longer under load.
 */
export function pollInterval(ageMs: number, isPendingApproval: boolean, pollsPerSecond: number): number {
  const least = isPendingApproval ? MIN_APPROVAL_POLL_MS : MIN_POLL_MS
  const load = Math.max(1, pollsPerSecond / EASY_POLLS_PER_SECOND)
  return Math.round(Math.min(MAX_POLL_MS, Math.max(least, ageMs / 10) * load))
}

const SECOND_MS = 1_000

/** Counts polls. */
export class PollMeter {
  #second = 0
  #count = 0
  #before = 0

  note(now: number): void {
    this.#turn(now)
    this.#count++
  }

  /** In the last full second, or in the current one if that is more. */
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
