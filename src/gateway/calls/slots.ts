import { setTimeout as pause } from 'node:timers/promises'
import type { Semaphore } from '../../util/semaphore.ts'

interface SlotsDeps<Call> {
  /** The maximum number of concurrent calls. */
  limit(): number
  /** Limits the calls of all sessions together. */
  readonly permits: Semaphore
  /** Leases the next call, if there is one. */
  claim(): Promise<Call | undefined>
  /** Executes the call and reports its outcome. Never rejects. */
  make(call: Call): Promise<void>
  report(error: unknown): void
}

/** The pause after a claim failed, for example because the database is unavailable. */
const RETRY_MS = 1000

/**
 * The slots of a session: each executes one call after the other. Slots claim calls when they are woken and as long as
 * they find calls; an idle slot costs nothing.
 */
export class Slots<Call> {
  readonly #deps: SlotsDeps<Call>
  readonly #stopping = new AbortController()
  /** The number of calls that should be queued. A claim that finds nothing corrects it. */
  #expected = 0
  /** Whether there may be calls that no wake-up announced. */
  #mayBeMore = false
  #wakes = 0
  /** At most one slot waits for a permit, so that sessions take turns. */
  #isWaiting = false
  #claiming = 0
  #making = 0
  #idle: (() => void)[] = []

  constructor(deps: SlotsDeps<Call>) {
    this.#deps = deps
  }

  get running(): number {
    return this.#making
  }

  get isIdle(): boolean {
    return this.#making + this.#claiming === 0
  }

  /** `count` calls have become ready. */
  wake(count = 1): void {
    this.#expected += count
    this.#wakes += 1
    this.fill()
  }

  /** There may be calls: one slot claims, and another one for each call that is found. */
  look(): void {
    this.#mayBeMore = true
    this.#wakes += 1
    this.fill()
  }

  /** Starts as many slots as are free and useful. */
  fill(): void {
    if (this.#isWaiting || !this.#needsSlot()) return
    this.#isWaiting = true
    void this.#deps.permits
      .acquire(this.#stopping.signal)
      .then((release) => {
        this.#isWaiting = false
        if (this.#needsSlot()) void this.#work(release)
        else release()
        this.fill()
      })
      // Only a stop rejects.
      .catch(() => {})
  }

  /** Claims no more calls. Resolves when the running calls have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    if (!this.isIdle) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  #needsSlot(): boolean {
    const wanted = this.#expected + (this.#mayBeMore ? 1 : 0)
    const isFree = this.#making + this.#claiming < this.#deps.limit()
    return !this.#stopping.signal.aborted && wanted > this.#claiming && isFree
  }

  async #work(release: () => void): Promise<void> {
    this.#claiming += 1
    const call = await this.#claim()
    this.#claiming -= 1
    if (call !== undefined) {
      this.#expected = Math.max(0, this.#expected - 1)
      this.#making += 1
      this.fill()
      await this.#deps.make(call)
      this.#making -= 1
    }
    release()
    this.fill()
    if (this.isIdle) for (const resolve of this.#idle.splice(0)) resolve()
  }

  async #claim(): Promise<Call | undefined> {
    const wakes = this.#wakes
    try {
      const call = await this.#deps.claim()
      // Calls that were announced during the claim may still be queued.
      if (call === undefined && wakes === this.#wakes) {
        this.#expected = 0
        this.#mayBeMore = false
      }
      return call
    } catch (error) {
      this.#deps.report(error)
      await pause(RETRY_MS, undefined, { ref: false })
      return undefined
    }
  }
}
