import type { Offer, RenewLeaseInput } from '../client/operations.ts'
import type { LeaseKey } from './calls.ts'
import { TaskAborted, type TaskSignal } from './errors.ts'
import type { TaskDefinition } from './task.ts'
import { now, wholeSeconds } from './timing.ts'

/**
 * The server limits the renewals of a lease, to 10 by default. From this number of renewals left, each one asks for twice
 * the time that the task has taken so far, and is sent after two thirds of the lease.
 */
const FEW_RENEWALS = 7

/** The lease of a task that this worker runs. Times are readings of the local monotonic clock. */
export class HeldLease {
  readonly offer: Offer
  readonly key: LeaseKey
  readonly definition: TaskDefinition
  /** Created on first use: most short tasks never use their signal. */
  #controller: AbortController | undefined
  #aborted: TaskAborted | undefined
  readonly #grantedAt: number
  #lost: 'canceled' | 'lease_lost' | undefined
  /** The length that renewals ask for. */
  #lengthMs: number
  endsAt = 0
  renewAt = 0
  /** Undefined before the first renewal. */
  #renewalsLeft: number | undefined
  /** The pending renewal. There is at most one, because a late one could shorten the lease. */
  renewal: Promise<void> | undefined
  /** Whether the server may have received the outcome of the task. */
  mayBeReported = false

  constructor(offer: Offer, key: LeaseKey, definition: TaskDefinition, grantedAt: number) {
    this.offer = offer
    this.key = key
    this.definition = definition
    this.#grantedAt = grantedAt
    this.#lengthMs = (definition.leaseSeconds ?? 0) * 1000 || offer.expires_in_ms
    this.#setExpiry(grantedAt, offer.expires_in_ms)
  }

  get signal(): TaskSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  /** Why the signal of the handler was aborted; undefined if it was not. */
  get aborted(): TaskAborted | undefined {
    return this.#aborted
  }

  /** Why this worker no longer holds the lease; undefined while it does. */
  get lost(): 'canceled' | 'lease_lost' | undefined {
    if (this.#lost === undefined && now() >= this.endsAt) return 'lease_lost'
    return this.#lost
  }

  /** Whether the offered lease is shorter than the task definition asks for. */
  get isShort(): boolean {
    return this.#lengthMs > this.offer.expires_in_ms
  }

  get renewInput(): RenewLeaseInput {
    const { worker_id, task_id, lease_id } = this.key
    const time = now()
    const frugal = this.#hasFew ? 2 * (time - this.#grantedAt) : 0
    // A renewal counts from now and must not shorten the lease.
    const ms = Math.max(this.#lengthMs, frugal, this.endsAt - time)
    return { worker_id, task_id, lease_id, extend_by_seconds: wholeSeconds(ms) }
  }

  /** Later renewals ask for at least this length. */
  lengthen(ms: number): void {
    this.#lengthMs = Math.max(this.#lengthMs, ms)
  }

  renewed(sentAt: number, expiresInMs: number, renewalsLeft: number): void {
    this.#renewalsLeft = renewalsLeft
    this.#setExpiry(sentAt, expiresInMs)
    // The server would refuse another renewal and count it against the task.
    if (renewalsLeft === 0) this.renewAt = Number.POSITIVE_INFINITY
  }

  /** Renews at the next opportunity, unless few renewals are left. */
  renewNow(): void {
    if (!this.#hasFew) this.renewAt = now()
  }

  lose(kind: 'canceled' | 'lease_lost'): void {
    this.#lost ??= kind
    this.abort(kind)
  }

  abort(kind: TaskAborted['kind']): void {
    if (this.#aborted !== undefined) return
    this.#aborted = new TaskAborted(kind)
    this.#controller?.abort(this.#aborted)
  }

  get #hasFew(): boolean {
    return this.#renewalsLeft !== undefined && this.#renewalsLeft <= FEW_RENEWALS
  }

  #setExpiry(since: number, expiresInMs: number): void {
    this.endsAt = since + expiresInMs
    this.renewAt = since + (expiresInMs * (this.#hasFew ? 2 : 1)) / 3
  }
}
