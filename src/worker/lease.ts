import type { Offer, RenewLeaseInput } from '../client/operations.ts'
import type { LeaseKey } from './calls.ts'
import { now } from './clock.ts'
import { wholeSeconds } from './duration.ts'
import { TaskAborted } from './errors.ts'
import type { TaskDefinition } from './task.ts'

/**
 * A server allows only so many renewals of a lease, 10 by default. With this many left they are made to last: each
 * asks for twice the time that the work has taken so far, and they come at two thirds of the lease.
 */
const FEW_RENEWALS = 7

/** `ctx.signal`: its reason says why the work is to stop. */
export interface TaskSignal extends AbortSignal {
  readonly reason: TaskAborted
}

/** A task in the hands of this worker. Times are those of its own clock. */
export class HeldLease {
  readonly offer: Offer
  readonly key: LeaseKey
  readonly definition: TaskDefinition
  /** Made when it is asked for: most short tasks never do. */
  #controller: AbortController | undefined
  #aborted: TaskAborted | undefined
  readonly #grantedAt: number
  #lost: 'canceled' | 'lease_lost' | undefined
  /** How long a renewal is to make it. */
  #lengthMs: number
  endsAt = 0
  renewAt = 0
  /** Undefined until the server has said. */
  #renewalsLeft: number | undefined
  /** Under way; there is never more than one, since a late one could shorten the lease. */
  renewal: Promise<void> | undefined
  /** Whether the server may have been told how it ended. */
  told = false

  constructor(offer: Offer, key: LeaseKey, definition: TaskDefinition, grantedAt: number) {
    this.offer = offer
    this.key = key
    this.definition = definition
    this.#grantedAt = grantedAt
    this.#lengthMs = (definition.leaseSeconds ?? 0) * 1000 || offer.expires_in_ms
    this.#lasts(grantedAt, offer.expires_in_ms)
  }

  get signal(): TaskSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  /** Why the handler was told to stop; undefined if it was not. */
  get aborted(): TaskAborted | undefined {
    return this.#aborted
  }

  /** Why it is no longer this worker's; undefined while it is. */
  get lost(): 'canceled' | 'lease_lost' | undefined {
    if (this.#lost === undefined && now() >= this.endsAt) return 'lease_lost'
    return this.#lost
  }

  /** Whether the lease is shorter than this task needs. */
  get isShort(): boolean {
    return this.#lengthMs > this.offer.expires_in_ms
  }

  get renewInput(): RenewLeaseInput {
    const { worker_id, task_id, lease_id } = this.key
    const time = now()
    const sparing = this.#hasFew ? 2 * (time - this.#grantedAt) : 0
    // A renewal counts from now: it must not take away what is left.
    const ms = Math.max(this.#lengthMs, sparing, this.endsAt - time)
    return { worker_id, task_id, lease_id, extend_by_seconds: wholeSeconds(ms) }
  }

  /** From now on renewals make it at least this long. */
  lengthen(ms: number): void {
    this.#lengthMs = Math.max(this.#lengthMs, ms)
  }

  renewed(sentAt: number, expiresInMs: number, renewalsLeft: number): void {
    this.#renewalsLeft = renewalsLeft
    this.#lasts(sentAt, expiresInMs)
    // One more would be refused, and put down against the task.
    if (renewalsLeft === 0) this.renewAt = Number.POSITIVE_INFINITY
  }

  /** Asks for a renewal before its time, if there are enough to spare one. */
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

  #lasts(since: number, expiresInMs: number): void {
    this.endsAt = since + expiresInMs
    this.renewAt = since + (expiresInMs * (this.#hasFew ? 2 : 1)) / 3
  }
}
