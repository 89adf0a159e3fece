import { pauseAfter } from '../client/gate-error.ts'
import type { RenewManyAnswer } from '../client/operations.ts'
import { type Calls, isError } from './calls.ts'
import type { CancelReports } from './cancel-reports.ts'
import type { HeldLease } from './lease.ts'
import type { WorkerLog } from './log.ts'
import type { Metrics } from './metrics.ts'
import { now, timerMs } from './timing.ts'

const MAX_ITEMS = 1000

/** Renewals that are due within this time share a request. */
const BATCH_MS = 1000

/** The pause after a failed renewal: short, so that several attempts fit into the rest of the lease. */
const RETRY_MS = { min: 100, max: 5000 }

/** The lease has ended, or the task no longer exists. */
const GONE: ReadonlySet<string> = new Set(['LEASE_INVALID_OR_EXPIRED', 'TASK_NOT_FOUND'])

/** The lease keeps its current expiry. */
const NO_MORE: ReadonlySet<string> = new Set(['LEASE_RENEWAL_LIMIT_EXCEEDED', 'LEASE_LIFETIME_EXCEEDED'])

interface Deps {
  readonly calls: Calls
  readonly cancelReports: CancelReports
  readonly log: WorkerLog
  readonly metrics: Metrics
}

type RenewalResult = RenewManyAnswer['results'][number]

/** The leases of the worker, renewed in batches by one timer. */
export class Leases {
  readonly #deps: Deps
  readonly #held = new Map<string, HeldLease>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #timerAt = Number.POSITIVE_INFINITY

  constructor(deps: Deps) {
    this.#deps = deps
  }

  get size(): number {
    return this.#held.size
  }

  add(lease: HeldLease): void {
    this.#held.set(lease.key.lease_id, lease)
    this.#wakeAt(Math.min(lease.renewAt, lease.endsAt))
  }

  remove(lease: HeldLease): void {
    this.#held.delete(lease.key.lease_id)
    if (this.#held.size === 0) this.#sleep()
  }

  /** The event stream reported a canceled task. */
  canceled(taskId: string, fence: number): void {
    for (const lease of this.#held.values()) {
      if (lease.key.task_id === taskId && lease.offer.fence === fence) this.#lose(lease, 'canceled')
    }
  }

  /** The server responded that this worker no longer holds the lease. */
  refused(lease: HeldLease, details: unknown): void {
    // The response to the report of the outcome decides.
    if (lease.mayBeReported) lease.renewAt = Number.POSITIVE_INFINITY
    else this.#lose(lease, isCanceled(details) ? 'canceled' : 'lease_lost')
  }

  /** Renews all leases, because a cancellation may have been missed. */
  check(): void {
    for (const lease of this.#held.values()) lease.renewNow()
    this.#wakeAt(now())
  }

  /** Extends a lease to this length from now. Resolves with whether the server allowed it. */
  async extend(lease: HeldLease, ms: number): Promise<boolean> {
    lease.lengthen(ms)
    const until = now() + ms
    await lease.renewal
    if (lease.lost !== undefined) return false
    if (lease.endsAt >= until) return true
    await this.#renew([lease])
    return lease.lost === undefined && lease.endsAt >= until
  }

  /** Stops all renewals. */
  close(): void {
    this.#held.clear()
    this.#sleep()
  }

  #wakeAt(time: number): void {
    if (time >= this.#timerAt) return
    clearTimeout(this.#timer)
    this.#timerAt = time
    this.#timer = setTimeout(() => this.#renewDue(), timerMs(time - now()))
  }

  #sleep(): void {
    clearTimeout(this.#timer)
    this.#timerAt = Number.POSITIVE_INFINITY
  }

  /** Drops expired leases, renews those that are due and sets the timer for the next. */
  #renewDue(): void {
    const time = now()
    this.#timerAt = Number.POSITIVE_INFINITY
    const due: HeldLease[] = []
    let next = Number.POSITIVE_INFINITY
    for (const lease of this.#held.values()) {
      if (time >= lease.endsAt) {
        this.#lose(lease, 'lease_lost')
        continue
      }
      next = Math.min(next, lease.endsAt)
      if (lease.renewal !== undefined) continue
      if (lease.renewAt - batchMs(lease, time) <= time) due.push(lease)
      else next = Math.min(next, lease.renewAt)
    }
    if (next !== Number.POSITIVE_INFINITY) this.#wakeAt(next)
    for (let i = 0; i < due.length; i += MAX_ITEMS) this.#renew(due.slice(i, i + MAX_ITEMS))
  }

  async #renew(leases: readonly HeldLease[]): Promise<void> {
    const renewal = this.#send(leases)
    for (const lease of leases) lease.renewal = renewal
    await renewal
    for (const lease of leases) {
      lease.renewal = undefined
      if (this.#held.has(lease.key.lease_id)) this.#wakeAt(Math.min(lease.renewAt, lease.endsAt))
    }
  }

  async #send(leases: readonly HeldLease[]): Promise<void> {
    const sentAt = now()
    try {
      const results = await this.#deps.calls.renewMany(leases.map((lease) => lease.renewInput))
      const { counts } = this.#deps.metrics
      counts.renewal_requests++
      counts.renewed += leases.length
      leases.forEach((lease, i) => {
        this.#apply(lease, sentAt, results[i])
      })
    } catch (error) {
      this.#deps.metrics.counts.renewal_errors++
      this.#deps.log.warn({ error, leases: leases.length }, 'leases could not be renewed; trying again')
      for (const lease of leases) lease.renewAt = now() + pauseAfter(error, retryMs(lease))
    }
  }

  #apply(lease: HeldLease, sentAt: number, result: RenewalResult | undefined): void {
    if (result !== undefined && !isError(result)) {
      lease.renewed(sentAt, result.expires_in_ms, result.renewals_left)
      return
    }
    if (result !== undefined && isGone(result)) {
      this.refused(lease, result.details)
      return
    }
    const code = result?.code ?? 'NO_ANSWER'
    const isFinal = NO_MORE.has(code)
    lease.renewAt = isFinal ? Number.POSITIVE_INFINITY : now() + retryMs(lease)
    const text = isFinal ? 'the lease cannot be renewed again' : 'a lease could not be renewed; trying again'
    this.#deps.log.of(lease).warn({ code, ends_in_ms: Math.round(lease.endsAt - now()) }, text)
  }

  #lose(lease: HeldLease, kind: 'canceled' | 'lease_lost'): void {
    lease.lose(kind)
    this.remove(lease)
    if (kind === 'canceled') this.#deps.cancelReports.acknowledged(lease)
    this.#deps.log.of(lease).info({}, kind === 'canceled' ? 'the task was canceled' : 'the lease is lost')
  }
}

/** How early a lease may be renewed to share a request. Short leases are not renewed much earlier. */
function batchMs(lease: HeldLease, time: number): number {
  return Math.min(BATCH_MS, (lease.endsAt - time) / 30)
}

function retryMs(lease: HeldLease): number {
  const left = lease.endsAt - now()
  return Math.min(Math.max(left / 10, RETRY_MS.min), RETRY_MS.max)
}

/** Whether an error means that the lease has ended. */
export function isGone({ code }: { readonly code: string }): boolean {
  return GONE.has(code)
}

/** Whether the details of a refusal say that the task was canceled. */
export function isCanceled(details: unknown): boolean {
  return (
    typeof details === 'object' &&
    details !== null &&
    'task_status' in details &&
    details.task_status === 'canceled'
  )
}
