import { receiptId } from '../core/ids.ts'
import type { LedgerAnomaly } from '../features/receipts/ledger-anomaly.ts'
import type { OutboxRow } from '../store/outbox.ts'
import type { Store, TenantRef } from '../store/store.ts'
import { Repeater } from '../util/repeater.ts'
import { type BreakerSettings, CircuitBreaker } from './breaker.ts'
import type { Target } from './canonical.ts'
import type { Delivery, ReceiptGateClient } from './client.ts'
import { fillOutbox } from './fill-outbox.ts'
import { renderReceipt } from './render.ts'
import type { CanonicalReceipt } from './shape.ts'
import { isShrunk, shrunk } from './sizes.ts'
import { SenderTurn } from './turn.ts'

export interface SenderOptions {
  readonly store: Pick<Store, 'outbox' | 'reads' | 'entries' | 'now' | 'shared'>
  readonly tenant: TenantRef
  /** Names this process. */
  readonly holder: string
  readonly client: Pick<ReceiptGateClient, 'submit'>
  readonly target: Target
  readonly retryMs: number
  readonly maxTries: number
  readonly bufferSize: number
  readonly breaker: BreakerSettings | null
  readonly log: SenderLog
  /** Writes a system.anomaly receipt. */
  report(anomaly: LedgerAnomaly): Promise<unknown>
}

interface SenderLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
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
  readonly #options: SenderOptions
  readonly #turn: SenderTurn
  readonly #breaker: CircuitBreaker
  readonly #sweeps: Repeater
  /** No request is made before this time. */
  #pausedUntil = 0

  constructor(options: SenderOptions) {
    this.#options = options
    this.#turn = new SenderTurn(options.store, options.tenant, options.holder)
    this.#breaker = new CircuitBreaker(options.breaker)
    const report = (error: unknown) => options.log.error({ error }, 'sending receipts to ReceiptGate failed')
    const intervalMs = Math.min(INTERVAL_MS, options.retryMs)
    this.#sweeps = new Repeater(intervalMs, (signal) => this.sweep(signal), report)
  }

  /** Sends what is due now, and then at intervals. */
  wake(): void {
    this.#sweeps.wake()
  }

  async stop(): Promise<void> {
    await this.#sweeps.stop(STOP_MS)
  }

  /** Sends all receipts that are due, unless another process does. */
  async sweep(signal: AbortSignal): Promise<void> {
    if (!(await this.#turn.take())) return
    const { store, tenant } = this.#options
    try {
      for (let sent = 0; !signal.aborted && (await this.#turn.take()); sent++) {
        if (sent % PER_FILL === 0) {
          await fillOutbox(store, tenant.tenant, signal)
          await this.#checkBacklog()
        }
        if (!(await this.#sendNext(signal))) return
      }
    } finally {
      await this.#turn.release()
    }
  }

  /** False if no request can be made now. */
  async #sendNext(signal: AbortSignal): Promise<boolean> {
    const { store, tenant, client } = this.#options
    const now = await store.now()
    if (now < this.#pausedUntil || !this.#breaker.permits(now)) return false
    const [row] = await store.outbox.due(tenant.tenant, now, 1)
    if (row === undefined) return false
    const text = row.rendered ?? (await this.#render(row))
    if (text === undefined) return true
    const delivery = await client.submit(receiptId(tenant.salt, row.seq), text, signal)
    if (delivery.kind === 'failed' && signal.aborted) return false
    await this.#record({ ...row, rendered: text }, delivery)
    return true
  }

  /** Renders a receipt and stores its text before it is sent. Undefined if there is nothing to send. */
  async #render({ seq }: OutboxRow): Promise<string | undefined> {
    const { store, tenant, target } = this.#options
    const receipt = await renderReceipt(store.reads, tenant, seq, target)
    if (receipt === undefined) {
      await store.outbox.remove(tenant.tenant, seq)
      return undefined
    }
    const text = JSON.stringify(receipt)
    return (await store.outbox.render(tenant.tenant, seq, text, null)) ? text : undefined
  }

  async #record(row: OutboxRow & { readonly rendered: string }, delivery: Delivery): Promise<void> {
    const { store, tenant, retryMs, log } = this.#options
    const now = await store.now()
    switch (delivery.kind) {
      case 'accepted':
        this.#breaker.succeeded()
        await store.outbox.remove(tenant.tenant, row.seq)
        await this.#turn.ended('receipt_ledger_misconfigured')
        return
      case 'throttled':
        this.#pausedUntil = now + (delivery.retryAfterMs ?? retryMs)
        return
      case 'too_large':
        this.#breaker.succeeded()
        return this.#shrink(row)
      case 'rejected':
        this.#breaker.succeeded()
        return this.#setAside(row, delivery.reason)
      case 'misconfigured':
        this.#pausedUntil = now + retryMs
        log.error({ reason: delivery.reason }, 'ReceiptGate refuses this server; check its key and endpoint')
        if (await this.#turn.begins('receipt_ledger_misconfigured')) {
          const { reason } = delivery
          await this.#options.report({ kind: 'receipt_ledger_misconfigured', details: { reason } })
        }
        return
      case 'failed':
        return this.#failed(row, delivery.reason, now)
    }
  }

  async #failed(row: OutboxRow, reason: string, now: number): Promise<void> {
    const { store, tenant, retryMs, maxTries, log } = this.#options
    // Once several receipts have failed in a row, the failures are not those of this receipt.
    const tries = this.#breaker.isOpen ? row.tries : row.tries + 1
    this.#breaker.failed(now)
    log.warn({ seq: row.seq, tries, reason }, 'ReceiptGate did not accept a receipt; trying again')
    if (tries >= maxTries) return this.#setAside({ ...row, tries }, reason)
    const next_try_at = now + retryMs
    await store.outbox.update(tenant.tenant, row.seq, { state: 'pending', tries, next_try_at, reason: null })
  }

  /** ReceiptGate has not stored a receipt that is too large, so that its text may change. */
  async #shrink(row: OutboxRow & { readonly rendered: string }): Promise<void> {
    const { store, tenant } = this.#options
    const receipt: CanonicalReceipt = JSON.parse(row.rendered)
    if (isShrunk(receipt)) return this.#setAside(row, 'the receipt is too large')
    await store.outbox.render(tenant.tenant, row.seq, JSON.stringify(shrunk(receipt)), row.rendered)
  }

  /** The receipt stays in the outbox, and later receipts of its task wait, until an operator queues it again. */
  async #setAside({ seq, task_id, tries }: OutboxRow, reason: string): Promise<void> {
    const { store, tenant, report, log } = this.#options
    await store.outbox.update(tenant.tenant, seq, { state: 'set_aside', tries, next_try_at: 0, reason })
    const receipt_id = receiptId(tenant.salt, seq)
    log.error({ receipt_id, task_id, reason }, 'a receipt for ReceiptGate was set aside')
    await report({ kind: 'receipt_set_aside', details: { receipt_id, task_id, reason } })
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
