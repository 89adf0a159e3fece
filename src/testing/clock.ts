/** A clock that stands still until it is told to go on. */
export class TestClock {
  #now: number

  constructor(start: Date) {
    if (Number.isNaN(start.getTime())) throw new TypeError('start: is not a date')
    this.#now = start.getTime()
  }

  /** Milliseconds since the epoch. */
  get now(): number {
    return this.#now
  }

  /** It never goes back. */
  moveTo(time: number): void {
    this.#now = Math.max(this.#now, Math.ceil(time))
  }
}
