import { GateError } from '../transport.ts'
import type { Calls } from './calls.ts'
import type { HeldLease } from './lease.ts'
import { isGone, type Leases } from './leases.ts'
import type { WorkerLog } from './log.ts'

/** What a handler tells of its progress: `percent` (0 to 100) and `message` are shown to whoever waits. */
export type Progress = {
  readonly percent?: number
  readonly message?: string
} & Readonly<Record<string, unknown>>

/** Between two reports of a task. What is reported meanwhile is kept, and only the latest is sent. */
const EVERY_MS = 250

/** After a report that was not answered. */
const AGAIN_MS = 2000

/** The progress of one task: one request at a time, the latest wins, and nothing of it ever reaches the handler. */
export class ProgressReports {
  readonly #lease: HeldLease
  readonly #leases: Leases
  readonly #calls: Calls
  readonly #log: WorkerLog
  #latest: object | undefined
  #isBusy = false
  #isClosed = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(lease: HeldLease, leases: Leases, calls: Calls, log: WorkerLog) {
    this.#lease = lease
    this.#leases = leases
    this.#calls = calls
    this.#log = log
  }

  report(progress: object): void {
    if (typeof progress !== 'object' || progress === null || Array.isArray(progress)) {
      this.#log.of(this.#lease).warn({}, 'progress is not an object, and is not reported')
      return
    }
    this.#latest = progress
    if (!this.#isBusy) this.#send()
  }

  /** The task has ended: what was not sent is of no use any more. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  async #send(): Promise<void> {
    const progress = this.#latest
    this.#latest = undefined
    this.#isBusy = progress !== undefined && !this.#isClosed && this.#lease.lost === undefined
    if (!this.#isBusy || progress === undefined) return
    const wasTaken = await this.#deliver(progress)
    if (this.#isClosed) return
    if (!wasTaken) this.#latest ??= progress
    this.#timer = setTimeout(() => this.#send(), wasTaken ? EVERY_MS : AGAIN_MS)
  }

  /** Whether there is nothing more to do about it. */
  async #deliver(progress: object): Promise<boolean> {
    try {
      await this.#calls.progress(this.#lease.key, progress)
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
