import { setTimeout as pause } from 'node:timers/promises'
import type { Places } from './places.ts'

export interface SlotsParts<Call> {
  /** How many calls may be made at once. */
  limit(): number
  readonly places: Places
  /** Leases the next call, if there is one. */
  claim(): Promise<Call | undefined>
  /** Makes it, and says what came of it. Never rejects. */
  make(call: Call): Promise<void>
  report(error: unknown): void
}

/** While the database does not answer. */
const AGAIN_MS = 1000

/**
 * The slots of a session: each makes one call after the other. They look for work when they are told that there is some,
 * and as long as they find it; in between they cost nothing.
 */
export class Slots<Call> {
  readonly #parts: SlotsParts<Call>
  /** Calls that should be there. An empty look corrects it. */
  #expected = 0
  /** Whether there may be others that nobody has told of. */
  #mayBeMore = false
  #wakes = 0
  #claiming = 0
  #making = 0
  #stopped = false
  #idle: (() => void)[] = []

  constructor(parts: SlotsParts<Call>) {
    this.#parts = parts
  }

  get running(): number {
    return this.#making
  }

  get isIdle(): boolean {
    return this.#making + this.#claiming === 0
  }

  /** So many calls have become ready. */
  wake(count = 1): void {
    this.#expected += count
    this.#wakes += 1
    this.fill()
  }

  /** There may be calls, or none: one slot looks, and for each that is found another. */
  look(): void {
    this.#mayBeMore = true
    this.#wakes += 1
    this.fill()
  }

  /** Looks with as many slots as are free and of use. */
  fill(): void {
    const { places, limit } = this.#parts
    while (!this.#stopped && this.#wanted > this.#claiming && this.#making + this.#claiming < limit()) {
      if (!places.take(this)) return
      this.#claiming += 1
      void this.#work()
    }
  }

  /** Takes no more. Resolves when the calls that are being made have ended. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#parts.places.forget(this)
    if (!this.isIdle) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  get #wanted(): number {
    return this.#expected + (this.#mayBeMore ? 1 : 0)
  }

  async #work(): Promise<void> {
    const call = await this.#claim()
    this.#claiming -= 1
    if (call !== undefined) {
      this.#expected = Math.max(0, this.#expected - 1)
      this.#making += 1
      this.fill()
      await this.#parts.make(call)
      this.#making -= 1
    }
    this.#parts.places.leave()
    this.fill()
    if (this.isIdle) for (const resolve of this.#idle.splice(0)) resolve()
  }

  async #claim(): Promise<Call | undefined> {
    const wakes = this.#wakes
    try {
      const call = await this.#parts.claim()
      // Whatever came since then is not known to be gone.
      if (call === undefined && wakes === this.#wakes) {
        this.#expected = 0
        this.#mayBeMore = false
      }
      return call
    } catch (error) {
      this.#parts.report(error)
      await pause(AGAIN_MS, undefined, { ref: false })
      return undefined
    }
  }
}
