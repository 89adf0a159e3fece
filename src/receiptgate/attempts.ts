import { receiptId } from '../core/ids.ts'
import type { LedgerAnomaly } from '../features/receipts/ledger-anomaly.ts'
import type { OutboxRow } from '../store/outbox.ts'
import type { Store, TenantRef } from '../store/store.ts'
import { type BreakerSettings, CircuitBreaker } from './breaker.ts'
import type { Target } from './canonical.ts'
import type { Delivery, ReceiptGateClient } from './client.ts'
import { renderReceipt } from './render.ts'
import type { CanonicalReceipt } from './shape.ts'
import { isShrunk, shrunk } from './sizes.ts'

export interface AttemptOptions {
  readonly store: Pick<Store, 'outbox' | 'reads' | 'now'>
  readonly tenant: TenantRef
  readonly client: Pick<ReceiptGateClient, 'submit'>
  readonly target: Target
  readonly retryMs: number
  readonly maxTries: number
  readonly breaker: BreakerSettings | null
  readonly log: SenderLog
  /** Writes a system.anomaly receipt. */
  report(anomaly: LedgerAnomaly): Promise<unknown>
}

export interface SenderLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Remembers which anomalies were reported and are not over. */
export interface ReportedAnomalies {
  begins(anomaly: LedgerAnomaly['kind']): Promise<boolean>
  ended(anomaly: LedgerAnomaly['kind']): Promise<void>
}

/** What an attempt to send a receipt led to. After `again` its row has changed or was removed. */
export type Attempt = 'accepted' | 'again' | 'set_aside' | 'unavailable' | 'aborted'

type Rendered = OutboxRow & { readonly rendered: string }

/** Attempts to send receipts, from the background or for a waiting caller. Both share what is known about ReceiptGate. */
export class Attempts {
  readonly #options: AttemptOptions
  readonly #anomalies: ReportedAnomalies
  readonly #breaker: CircuitBreaker
  /** No request is made before this time. */
  #pausedUntil = 0

  constructor(options: AttemptOptions, anomalies: ReportedAnomalies) {
    this.#options = options
    this.#anomalies = anomalies
    this.#breaker = new CircuitBreaker(options.breaker)
  }

  /** How long no request can be made, in ms; 0 if one can be made now. */
  async unavailableMs(): Promise<number> {
    const now = await this.#options.store.now()
    return Math.max(0, this.#pausedUntil - now, this.#breaker.waitMs(now))
  }

  /** Sends a receipt and records what became of it. */
  async send(row: OutboxRow, signal: AbortSignal): Promise<Attempt> {
    const { tenant, client } = this.#options
    const text = row.rendered ?? (await this.#render(row))
    if (text === undefined) return 'again'
    const delivery = await client.submit(receiptId(tenant.salt, row.seq), text, signal)
    if (delivery.kind === 'failed' && signal.aborted) return 'aborted'
    return this.#record({ ...row, rendered: text }, delivery)
  }

  /** Records the outcome of another request than one that sends a receipt. */
  async observed(delivery: Delivery): Promise<void> {
    const now = await this.#options.store.now()
    if (delivery.kind === 'failed') this.#breaker.failed(now)
    else if (delivery.kind === 'throttled') this.#pause(now, delivery.retryAfterMs)
    else if (delivery.kind === 'misconfigured') await this.#misconfigured(delivery.reason, now)
    else this.#breaker.succeeded()
  }

  /**
   * Renders a receipt and stores its text before it is sent. Undefined if it has no counterpart, and then its row is
   * removed, or if its row has changed meanwhile.
   */
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

  async #record(row: Rendered, delivery: Delivery): Promise<Attempt> {
    const { store, tenant } = this.#options
    const now = await store.now()
    switch (delivery.kind) {
      case 'accepted':
        this.#breaker.succeeded()
        await store.outbox.remove(tenant.tenant, row.seq)
        await this.#anomalies.ended('receipt_ledger_misconfigured')
        return 'accepted'
      case 'throttled':
        this.#pause(now, delivery.retryAfterMs)
        return 'unavailable'
      case 'too_large':
        this.#breaker.succeeded()
        return this.#shrink(row)
      case 'rejected':
        this.#breaker.succeeded()
        return this.#setAside(row, delivery.reason)
      case 'misconfigured':
        await this.#misconfigured(delivery.reason, now)
        return 'unavailable'
      case 'failed':
        return this.#failed(row, delivery.reason, now)
    }
  }

  #pause(now: number, ms: number = this.#options.retryMs): void {
    this.#pausedUntil = now + ms
  }

  async #misconfigured(reason: string, now: number): Promise<void> {
    const { log, report } = this.#options
    this.#pause(now)
    log.error({ reason }, 'ReceiptGate refuses this server; check its key and endpoint')
    if (await this.#anomalies.begins('receipt_ledger_misconfigured')) {
      await report({ kind: 'receipt_ledger_misconfigured', details: { reason } })
    }
  }

  async #failed(row: OutboxRow, reason: string, now: number): Promise<Attempt> {
    const { store, tenant, retryMs, maxTries, log } = this.#options
    // Once several receipts have failed in a row, the failures are not those of this receipt.
    const tries = this.#breaker.isOpen ? row.tries : row.tries + 1
    this.#breaker.failed(now)
    log.warn({ seq: row.seq, tries, reason }, 'ReceiptGate did not accept a receipt; trying again')
    if (tries >= maxTries) return this.#setAside({ ...row, tries }, reason)
    const next_try_at = now + retryMs
    await store.outbox.update(tenant.tenant, row.seq, { state: 'pending', tries, next_try_at, reason: null })
    return 'unavailable'
  }

  /** ReceiptGate has not stored a receipt that is too large, so that its text may change. */
  async #shrink(row: Rendered): Promise<Attempt> {
    const { store, tenant } = this.#options
    const receipt: CanonicalReceipt = JSON.parse(row.rendered)
    if (isShrunk(receipt)) return this.#setAside(row, 'the receipt is too large')
    await store.outbox.render(tenant.tenant, row.seq, JSON.stringify(shrunk(receipt)), row.rendered)
    return 'again'
  }

  /** The receipt stays in the outbox, and later receipts of its task wait, until an operator queues it again. */
  async #setAside({ seq, task_id, tries }: OutboxRow, reason: string): Promise<Attempt> {
    const { store, tenant, report, log } = this.#options
    await store.outbox.update(tenant.tenant, seq, { state: 'set_aside', tries, next_try_at: 0, reason })
    const receipt_id = receiptId(tenant.salt, seq)
    log.error({ receipt_id, task_id, reason }, 'a receipt for ReceiptGate was set aside')
    await report({ kind: 'receipt_set_aside', details: { receipt_id, task_id, reason } })
    return 'set_aside'
  }
}
