import { Fault } from '../core/errors.ts'
import { Semaphore } from '../util/semaphore.ts'

/** Length of the texts that run at a time. About a thousand small tasks: the batch that is being committed, and the next. */
const MAX_OPEN = 256 * 1024

/** However long their texts are, this many requests run at a time. */
const MIN_OPEN_REQUESTS = 4

/** A request that has waited this long runs, so that slow requests of one client do not stop those of others. */
const MAX_WAIT_MS = 2_000

/**
 * Requests with many items. Their items exist as objects from when the text is parsed until the last one is committed,
 * and each garbage collection copies them. So only as many are run at a time as keep the commits full, and the others wait
 * as texts, in the order of their arrival.
 */
export class BulkRequests {
  readonly #open = new Semaphore(MAX_OPEN)
  readonly #maxBytes: number
  readonly #maxWaitMs: number
  #bytes = 0

  /** `maxBytes` limits the length of all texts, of those that wait and of those that run. */
  constructor(maxBytes: number, maxWaitMs = MAX_WAIT_MS) {
    this.#maxBytes = maxBytes
    this.#maxWaitMs = maxWaitMs
  }

  async run<T>(text: string, work: () => Promise<T>): Promise<T> {
    const bytes = text.length
    if (this.#bytes + bytes > this.#maxBytes) throw new Fault('OVERLOADED', { waiting_bytes: this.#bytes })
    this.#bytes += bytes
    const permits = Math.min(bytes, MAX_OPEN / MIN_OPEN_REQUESTS)
    const release = await this.#open.acquire(AbortSignal.timeout(this.#maxWaitMs), permits).catch(() => null)
    try {
      return await work()
    } finally {
      this.#bytes -= bytes
      release?.()
    }
  }
}
