import { GateError } from '../client/gate-error.ts'
import type { Calls } from './calls.ts'
import type { HeldLease } from './lease.ts'
import { isGone, type Leases } from './leases.ts'
import type { WorkerLog } from './log.ts'

interface Report {
  readonly progress: object
  readonly isMilestone: boolean
}

/** The size of the queue of milestones. A handler that marks every report as a milestone must not fill the memory. */
const MAX_MILESTONES = 100

/** The pause between two reports of a task. */
const INTERVAL_MS = 250

/** The pause after a failed report. */
const RETRY_MS = 2000

interface Deps {
  readonly leases: Leases
  readonly calls: Calls
  readonly log: WorkerLog
}

/**
 * Sends the progress of one task, one request at a time: all milestones in order, and the latest of the other reports. No
 * error reaches the handler.
 */
export class ProgressReports {
  readonly #lease: HeldLease
  readonly #deps: Deps
  readonly #milestones: Report[] = []
  /** Newer than every queued milestone. */
  #latest: Report | undefined
  #isBusy = false
  #isClosed = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(lease: HeldLease, deps: Deps) {
    this.#lease = lease
    this.#deps = deps
  }

  report(progress: object, isMilestone: boolean): void {
    if (typeof progress !== 'object' || progress === null || Array.isArray(progress)) {
      this.#warn('progress is not an object and is not reported')
      return
    }
    const report = { progress, isMilestone }
    if (isMilestone) this.#queue(report)
    else this.#latest = report
    if (!this.#isBusy) this.#send()
  }

  /** The task has ended, and unsent reports are dropped. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #queue(milestone: Report): void {
    if (this.#milestones.length === MAX_MILESTONES) {
      this.#warn('a milestone was dropped because too many wait to be sent')
      return
    }
    this.#latest = undefined
    this.#milestones.push(milestone)
  }

  #next(): Report | undefined {
    const milestone = this.#milestones.shift()
    if (milestone !== undefined) return milestone
    const latest = this.#latest
    this.#latest = undefined
    return latest
  }

  async #send(): Promise<void> {
    const report = this.#next()
    this.#isBusy = report !== undefined && !this.#isClosed && this.#lease.lost === undefined
    if (!this.#isBusy || report === undefined) return
    const isDone = await this.#deliver(report)
    if (this.#isClosed) return
    if (!isDone) this.#requeue(report)
    this.#timer = setTimeout(() => this.#send(), isDone ? INTERVAL_MS : RETRY_MS)
  }

  /** Sends the report again, unless a newer one replaces it. */
  #requeue(report: Report): void {
    if (report.isMilestone) this.#milestones.unshift(report)
    else if (this.#milestones.length === 0) this.#latest ??= report
  }

  /** False if the report must be sent again. */
  async #deliver({ progress, isMilestone }: Report): Promise<boolean> {
    try {
      await this.#deps.calls.progress(this.#lease.key, progress, isMilestone)
      return true
    } catch (error) {
      // The task may have ended while the request was pending.
      if (this.#isClosed) return true
      this.#warn('progress could not be reported', { error })
      if (!(error instanceof GateError)) return true
      if (isGone(error)) this.#deps.leases.refused(this.#lease, error.details)
      return !error.retryable
    }
  }

  #warn(message: string, fields = {}): void {
    this.#deps.log.of(this.#lease).warn(fields, message)
  }
}
