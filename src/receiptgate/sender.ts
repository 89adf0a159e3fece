import type { Store } from '../store/store.ts'
import { Repeater } from '../util/repeater.ts'
import { type AttemptOptions, Attempts } from './attempts.ts'
import { forwardedTypes } from './canonical.ts'
import type { Delivery } from './client.ts'
import { DirectDelivery } from './direct-delivery.ts'
import { fillOutbox } from './fill-outbox.ts'
import type { Reconciler } from './reconciler.ts'
import { SenderTurn } from './turn.ts'

export interface SenderOptions extends AttemptOptions {
  readonly store: Pick<Store, 'outbox' | 'reads' | 'entries' | 'now' | 'shared'>
  /** Names this process. */
  readonly holder: string
  readonly bufferSize: number
  /** How long a caller waits for ReceiptGate. */
  readonly waitMs: number
  /** Finds completions in ReceiptGate; undefined if none are looked for. */
  readonly reconciler?: Pick<Reconciler, 'run'> | undefined
}

/** How often to check for receipts of other processes and for retries. */
const INTERVAL_MS = 5_000
/** Receipts that are sent before the outbox is filled again. */
const PER_FILL = 20
/** How long a pending attempt may take when the process stops. */
const STOP_MS = 2_000

/**
 * Sends the receipts of a tenant to ReceiptGate. Each is sent until it is accepted, also after a restart, and always as
 * the same text, so that a repetition is recognized. Receipts of one task are sent in their order.
 */
export class ReceiptSender {
  /** Sends for callers that wait. */
  readonly direct: DirectDelivery
  readonly #options: SenderOptions
  readonly #turn: SenderTurn
  readonly #attempts: Attempts
  readonly #sweeps: Repeater

  constructor(options: SenderOptions) {
    this.#options = options
    const { store, tenant, waitMs } = options
    this.#turn = new SenderTurn(store, tenant, options.holder)
    this.#attempts = new Attempts(options, this.#turn)
    const fill = (signal: AbortSignal) => this.#fill(signal)
    this.direct = new DirectDelivery({
      ...{ store, waitMs, fill, tenant: tenant.tenant, attempts: this.#attempts },
    })
    const report = (error: unknown) => options.log.error({ error }, 'sending receipts to ReceiptGate failed')
    const intervalMs = Math.min(INTERVAL_MS, options.retryMs)
    this.#sweeps = new Repeater(intervalMs, (signal) => this.sweep(signal), report)
  }

  /** Sends what is due now, and then at intervals. */
  wake(): void {
    this.#sweeps.wake()
  }

  async stop(): Promise<void> {
    this.direct.stop()
    await this.#sweeps.stop(STOP_MS)
  }

  /** Sends all receipts that are due, then looks for completions. Another process that does so is not disturbed. */
  async sweep(signal: AbortSignal): Promise<void> {
    if (!(await this.#turn.take())) return
    try {
      await this.#sendAll(signal)
      const permits = async () => (await this.#turn.take()) && (await this.#attempts.unavailableMs()) === 0
      const control = { permits, observed: (delivery: Delivery) => this.#attempts.observed(delivery) }
      if (!signal.aborted) await this.#options.reconciler?.run(control, signal)
    } finally {
      await this.#turn.release()
    }
  }

  async #sendAll(signal: AbortSignal): Promise<void> {
    for (let sent = 0; !signal.aborted && (await this.#turn.take()); sent++) {
      if (sent % PER_FILL === 0) {
        await this.#fill(signal)
        await this.#checkBacklog()
      }
      if (!(await this.#sendNext(signal))) return
    }
  }

  /** False if no request can be made now. */
  async #sendNext(signal: AbortSignal): Promise<boolean> {
    const { store, tenant } = this.#options
    if ((await this.#attempts.unavailableMs()) > 0) return false
    const rows = await store.outbox.due(tenant.tenant, await store.now(), this.direct.size + 1)
    const row = rows.find(({ task_id }) => !this.direct.has(task_id))
    if (row === undefined) return false
    return (await this.#attempts.send(row, signal)) !== 'aborted'
  }

  #fill(signal: AbortSignal): Promise<void> {
    const { store, tenant, target } = this.#options
    return fillOutbox(store, tenant.tenant, forwardedTypes(target), signal)
  }

  async #checkBacklog(): Promise<void> {
    const { store, tenant, bufferSize, report, log } = this.#options
    const { pending } = await store.outbox.counts(tenant.tenant, bufferSize + 1)
    if (pending <= bufferSize) return this.#turn.ended('receipt_backlog')
    if (!(await this.#turn.begins('receipt_backlog'))) return
    log.error({ threshold: bufferSize }, 'too many receipts wait for ReceiptGate')
    await report({ kind: 'receipt_backlog', details: { threshold: bufferSize } })
  }
}
