import type { ReceiptDelivery, Undelivered } from '../features/receipts/confirmation.ts'
import type { Store } from '../store/store.ts'
import { Semaphore } from '../util/semaphore.ts'
import type { Attempts } from './attempts.ts'

/** Requests for waiting callers at a time. Further ones wait. */
const CONCURRENCY = 8
/** What a caller is asked to wait if it is not known when ReceiptGate responds again. */
const SHORT_MS = 1_000

export interface DirectDeliveryOptions {
  readonly store: Pick<Store, 'outbox'>
  readonly tenant: number
  readonly attempts: Attempts
  /** How long a caller waits. The last request may take its own timeout in addition. */
  readonly waitMs: number
  /** Adds the receipts that were written since the last time to the outbox. */
  fill(signal: AbortSignal): Promise<void>
}

/**
 * Sends the receipts of single tasks while their callers wait, in any process, whichever one sends in the background. No
 * transaction is open meanwhile. If two processes send a receipt, they send the same text, which ReceiptGate recognizes.
 */
export class DirectDelivery implements ReceiptDelivery {
  readonly #options: DirectDeliveryOptions
  readonly #permits = new Semaphore(CONCURRENCY)
  readonly #stopping = new AbortController()
  readonly #tasks = new Map<string, number>()
  #filling: Promise<void> | undefined
  #nextFill: Promise<void> | undefined

  constructor(options: DirectDeliveryOptions) {
    this.#options = options
  }

  /** The number of tasks whose receipts are being sent. */
  get size(): number {
    return this.#tasks.size
  }

  has(taskId: string): boolean {
    return this.#tasks.has(taskId)
  }

  /** How long no receipt can be sent, in ms; 0 if one can be sent now. */
  unavailableMs(): Promise<number> {
    return this.#options.attempts.unavailableMs()
  }

  /** Waiting callers are refused from now on; their receipts are sent later. */
  stop(): void {
    this.#stopping.abort()
  }

  /** Sends the receipts of a task in their order. Undefined once ReceiptGate has all of them. */
  async deliver(taskId: string): Promise<Undelivered | undefined> {
    const patience = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(this.#options.waitMs)])
    this.#tasks.set(taskId, (this.#tasks.get(taskId) ?? 0) + 1)
    let release: (() => void) | undefined
    try {
      await this.#fill()
      release = await this.#permits.acquire(patience)
      return await this.#deliver(taskId, patience)
    } catch (error) {
      if (!patience.aborted) throw error
      return this.#unavailable()
    } finally {
      release?.()
      const others = (this.#tasks.get(taskId) ?? 1) - 1
      if (others === 0) this.#tasks.delete(taskId)
      else this.#tasks.set(taskId, others)
    }
  }

  async #deliver(taskId: string, patience: AbortSignal): Promise<Undelivered | undefined> {
    const { store, tenant, attempts } = this.#options
    for (;;) {
      const [row] = await store.outbox.ofTask(tenant, taskId)
      if (row === undefined) return undefined
      if (row.state === 'set_aside') return { kind: 'set_aside', reason: row.reason }
      if (patience.aborted || (await attempts.unavailableMs()) > 0) return this.#unavailable()
      const attempt = await attempts.send(row, this.#stopping.signal)
      if (attempt === 'unavailable' || attempt === 'aborted') return this.#unavailable()
    }
  }

  async #unavailable(): Promise<Undelivered> {
    return { kind: 'unavailable', retryAfterMs: Math.max(SHORT_MS, await this.unavailableMs()) }
  }

  /** Callers that arrive during a run share the next one, because the running one may have missed their receipts. */
  #fill(): Promise<void> {
    this.#nextFill ??= this.#fillAfter(this.#filling)
    return this.#nextFill
  }

  async #fillAfter(before: Promise<void> | undefined): Promise<void> {
    // A failure of the run before is that of its own callers. Callers of this turn of the event loop share this run.
    await Promise.allSettled([before])
    this.#filling = this.#nextFill
    this.#nextFill = undefined
    await this.#options.fill(this.#stopping.signal)
  }
}
