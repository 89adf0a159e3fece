import { GateError } from '../client/transport.ts'
import type { Calls } from './calls.ts'
import type { HeldLease } from './lease.ts'
import { isGone, type Leases } from './leases.ts'
import type { WorkerLog } from './log.ts'

/** What a handler tells of its progress: `percent` (0 to 100) and `message` are shown to whoever waits. */
export type Progress = {
  readonly percent?: number
  readonly message?: string
} & Readonly<Record<string, unknown>>

export interface ProgressOptions {
  /** Worth the attention of the owner: the report goes to its inbox, and no later report replaces it. */
  readonly milestone?: boolean
}

interface Report {
  readonly progress: object
  readonly isMilestone: boolean
}

/** Milestones that wait to be sent. A handler that marks everything as one must not fill the memory. */
const MAX_MILESTONES = 100

/** Between two reports of a task. What is reported meanwhile is kept: milestones, and the latest of the others. */
const EVERY_MS = 250

/** After a report that was not answered. */
const AGAIN_MS = 2000

/**
 * The progress of one task: one request at a time, milestones in order, of the rest the latest wins. No error ever
 * reaches the handler.
 */
export class ProgressReports {
  readonly #lease: HeldLease
  readonly #leases: Leases
  readonly #calls: Calls
  readonly #log: WorkerLog
  readonly #milestones: Report[] = []
  /** Newer than every milestone that waits. */
  #latest: Report | undefined
  #isBusy = false
  #isClosed = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(lease: HeldLease, leases: Leases, calls: Calls, log: WorkerLog) {
    this.#lease = lease
    this.#leases = leases
    this.#calls = calls
    this.#log = log
  }

  report(progress: object, isMilestone: boolean): void {
    if (typeof progress !== 'object' || progress === null || Array.isArray(progress)) {
      this.#log.of(this.#lease).warn({}, 'progress is not an object, and is not reported')
      return
    }
    const report = { progress, isMilestone }
    if (isMilestone) this.#keep(report)
    else this.#latest = report
    if (!this.#isBusy) this.#send()
  }

  /** The task has ended: what was not sent is of no use any more. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #keep(milestone: Report): void {
    if (this.#milestones.length === MAX_MILESTONES) {
      this.#log.of(this.#lease).warn({}, 'too many milestones wait to be sent, and this one is dropped')
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
    const wasTaken = await this.#deliver(report)
    if (this.#isClosed) return
    if (!wasTaken) this.#putBack(report)
    this.#timer = setTimeout(() => this.#send(), wasTaken ? EVERY_MS : AGAIN_MS)
  }

  /** To be sent again, unless something newer makes it unnecessary. */
  #putBack(report: Report): void {
    if (report.isMilestone) this.#milestones.unshift(report)
    else if (this.#milestones.length === 0) this.#latest ??= report
  }

  /** Whether there is nothing more to do about it. */
  async #deliver({ progress, isMilestone }: Report): Promise<boolean> {
    try {
      await this.#calls.progress(this.#lease.key, progress, isMilestone)
      return true
    } catch (error) {
      // The end of the task may have overtaken it.
      if (this.#isClosed) return true
      this.#log.of(this.#lease).warn({ error }, 'progress could not be reported')
      if (!(error instanceof GateError)) return true
      if (isGone(error)) this.#leases.refused(this.#lease, error.details)
      return !error.retryable
    }
  }
}
