import type { RenewManyAnswer } from '../client/operations.ts'
import { GateError } from '../client/transport.ts'
import { type Calls, isError } from './calls.ts'
import type { CancelReports } from './cancel-reports.ts'
import { now, timerMs } from './clock.ts'
import type { HeldLease } from './lease.ts'
import type { WorkerLog } from './log.ts'
import type { Metrics } from './metrics.ts'

const MAX_ITEMS = 1000

/** Renewals that are due within this time go together. */
const TOGETHER_MS = 1000

/** After a renewal that was not answered: soon, so that several tries fit into what is left of a lease. */
const AGAIN_MS = { least: 100, most: 5000 }

/** The lease is another's by now, or there is no such task any more. */
const GONE: ReadonlySet<string> = new Set(['LEASE_INVALID_OR_EXPIRED', 'TASK_NOT_FOUND'])

/** The lease stays as it is and ends in its time. */
const NO_MORE: ReadonlySet<string> = new Set(['LEASE_RENEWAL_LIMIT_EXCEEDED', 'LEASE_LIFETIME_EXCEEDED'])

type RenewalResult = RenewManyAnswer['results'][number]

/** All leases of the worker, kept alive by one timer and by requests for many leases at once. */
export class Leases {
  readonly #calls: Calls
  readonly #cancelReports: CancelReports
  readonly #log: WorkerLog
  readonly #metrics: Metrics
  readonly #held = new Map<string, HeldLease>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #timerAt = Number.POSITIVE_INFINITY

  constructor(calls: Calls, cancelReports: CancelReports, log: WorkerLog, metrics: Metrics) {
    this.#calls = calls
    this.#cancelReports = cancelReports
    this.#log = log
    this.#metrics = metrics
  }

  get size(): number {
    return this.#held.size
  }

  [Symbol.iterator](): IterableIterator<HeldLease> {
    return this.#held.values()
  }

  add(lease: HeldLease): void {
    this.#held.set(lease.key.lease_id, lease)
    this.#wakeAt(Math.min(lease.renewAt, lease.endsAt))
  }

  /** It has ended, or is no longer this worker's. */
  remove(lease: HeldLease): void {
    this.#held.delete(lease.key.lease_id)
    if (this.#held.size === 0) this.#sleep()
  }

  /** A task was canceled; heard before any renewal could tell. */
  canceled(taskId: string, fence: number): void {
    for (const lease of this.#held.values()) {
      if (lease.key.task_id === taskId && lease.offer.fence === fence) this.#lose(lease, 'canceled')
    }
  }

  /** The server says that the lease is no longer this worker's. */
  refused(lease: HeldLease, details: unknown): void {
    // If the end has been told, the answer to that is the one that counts.
    if (lease.told) lease.renewAt = Number.POSITIVE_INFINITY
    else this.#lose(lease, isCanceled(details) ? 'canceled' : 'lease_lost')
  }

  /** Something may have passed unheard: a renewal tells which leases still stand. */
  check(): void {
    for (const lease of this.#held.values()) lease.renewNow()
    this.#wakeAt(now())
  }

  /** Makes a lease this long, from now. Tells whether it is. */
  async extend(lease: HeldLease, ms: number): Promise<boolean> {
    lease.lengthen(ms)
    const until = now() + ms
    await lease.renewal
    if (lease.lost !== undefined) return false
    if (lease.endsAt >= until) return true
    await this.#renew([lease])
    return lease.lost === undefined && lease.endsAt >= until
  }

  /** Nothing is renewed any more. */
  close(): void {
    this.#held.clear()
    this.#sleep()
  }

  #wakeAt(time: number): void {
    if (time >= this.#timerAt) return
    clearTimeout(this.#timer)
    this.#timerAt = time
    this.#timer = setTimeout(() => this.#keep(), timerMs(time - now()))
  }

  #sleep(): void {
    clearTimeout(this.#timer)
    this.#timerAt = Number.POSITIVE_INFINITY
  }

  /** Gives up what has lapsed, renews what is due, and sleeps until the next. */
  #keep(): void {
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
      if (lease.renewAt - together(lease, time) <= time) due.push(lease)
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
      const results = await this.#calls.renewMany(leases.map((lease) => lease.renewInput))
      this.#metrics.renewed(leases.length)
      leases.forEach((lease, i) => {
        this.#learn(lease, sentAt, results[i])
      })
    } catch (error) {
      this.#metrics.renewalFailed()
      this.#log.warn({ error, leases: leases.length }, 'leases could not be renewed; trying again')
      const atLeastMs = (error instanceof GateError ? error.retryAfterMs : undefined) ?? 0
      for (const lease of leases) lease.renewAt = now() + Math.max(pauseOf(lease), atLeastMs)
    }
  }

  #learn(lease: HeldLease, sentAt: number, result: RenewalResult | undefined): void {
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
    lease.renewAt = isFinal ? Number.POSITIVE_INFINITY : now() + pauseOf(lease)
    const text = isFinal
      ? 'the lease cannot be renewed any more'
      : 'a lease could not be renewed; trying again'
    this.#log.of(lease).warn({ code, ends_in_ms: Math.round(lease.endsAt - now()) }, text)
  }

  #lose(lease: HeldLease, kind: 'canceled' | 'lease_lost'): void {
    lease.lose(kind)
    this.remove(lease)
    if (kind === 'canceled') this.#cancelReports.heard(lease)
    this.#log.of(lease).info({}, kind === 'canceled' ? 'the task was canceled' : 'the lease is lost')
  }
}

/** A short lease has no time to give away. */
function together(lease: HeldLease, time: number): number {
  return Math.min(TOGETHER_MS, (lease.endsAt - time) / 30)
}

function pauseOf(lease: HeldLease): number {
  const left = lease.endsAt - now()
  return Math.min(Math.max(left / 10, AGAIN_MS.least), AGAIN_MS.most)
}

/** Whether an error means that the lease is over. */
export function isGone({ code }: { readonly code: string }): boolean {
  return GONE.has(code)
}

/** Whether the details of a refused lease say that its task was canceled. */
export function isCanceled(details: unknown): boolean {
  return (
    typeof details === 'object' &&
    details !== null &&
    'task_status' in details &&
    details.task_status === 'canceled'
  )
}
