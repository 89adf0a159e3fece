/** The maximum delay of a timer. A longer one is set again. */
const MAX_TIMER_MS = 2 ** 31 - 1

interface Entry {
  readonly at: number
  readonly lane: number
}

/** Calls one callback when calls of a lane become ready, with a single timer. */
export class Due {
  readonly #onDue: (lane: number, count: number) => void
  /** Sorted by time. */
  readonly #entries: Entry[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(onDue: (lane: number, count: number) => void) {
    this.#onDue = onDue
  }

  get size(): number {
    return this.#entries.length
  }

  add(lane: number, inMs: number): void {
    // The clock of the store has a resolution of one millisecond.
    const entry = { at: performance.now() + inMs + 1, lane }
    const later = this.#entries.findIndex(({ at }) => at > entry.at)
    this.#entries.splice(later < 0 ? this.#entries.length : later, 0, entry)
    this.#plan()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#entries.length = 0
  }

  #plan(): void {
    clearTimeout(this.#timer)
    const [first] = this.#entries
    if (first === undefined) return
    const inMs = Math.max(0, Math.min(MAX_TIMER_MS, first.at - performance.now()))
    this.#timer = setTimeout(() => this.#tell(), inMs).unref()
  }

  #tell(): void {
    const now = performance.now()
    const counts = new Map<number, number>()
    while (this.#entries[0] !== undefined && this.#entries[0].at <= now) {
      const { lane } = this.#entries[0]
      counts.set(lane, (counts.get(lane) ?? 0) + 1)
      this.#entries.shift()
    }
    this.#plan()
    for (const [lane, count] of counts) this.#onDue(lane, count)
  }
}
