import type { CancelReports } from './cancel-reports.ts'
import type { HeldLease } from './lease.ts'
import type { Leases } from './leases.ts'
import type { WorkerLog } from './log.ts'
import type { Metrics, TaskEnd } from './metrics.ts'
import type { Reporter } from './reporter.ts'
import type { Runner } from './runner.ts'

/** So much that telling the server of quick work does not keep the next from being claimed. */
const MAX_REPORTS_PER_HAND = 3

/** What the worker has in hand, from the lease to the answer of the server to its end. */
export class Work {
  readonly #concurrency: number
  readonly #leases: Leases
  readonly #runner: Runner
  readonly #reporter: Reporter
  readonly #cancelReports: CancelReports
  readonly #log: WorkerLog
  readonly #metrics: Metrics
  readonly #running = new Set<HeldLease>()
  #reporting = 0
  readonly #waiting: { readonly isSo: () => boolean; resolve(): void }[] = []

  constructor(
    concurrency: number,
    parts: {
      leases: Leases
      runner: Runner
      reporter: Reporter
      cancelReports: CancelReports
      log: WorkerLog
      metrics: Metrics
    },
  ) {
    this.#concurrency = concurrency
    this.#leases = parts.leases
    this.#runner = parts.runner
    this.#reporter = parts.reporter
    this.#cancelReports = parts.cancelReports
    this.#log = parts.log
    this.#metrics = parts.metrics
  }

  get running(): number {
    return this.#running.size
  }

  /** How many handlers more may begin. Results that pile up keep new work out. */
  get free(): number {
    return this.#reporting > MAX_REPORTS_PER_HAND * this.#concurrency
      ? 0
      : this.#concurrency - this.#running.size
  }

  begin(lease: HeldLease): void {
    this.#leases.add(lease)
    this.#running.add(lease)
    this.#carryOut(lease).catch((error: unknown) => {
      this.#log.of(lease).error({ error }, 'a task got lost in the worker; its lease will lapse')
      this.#running.delete(lease)
      this.#ended(lease, 'lost')
      this.#changed()
    })
  }

  /** Resolves when a handler more may begin. */
  hasFree(): Promise<void> {
    return this.#until(() => this.free > 0)
  }

  /** Resolves when nothing is in hand. */
  isDone(): Promise<void> {
    return this.#until(() => this.#running.size === 0 && this.#reporting === 0)
  }

  /** Tells the handlers that the worker stops. */
  abort(): void {
    for (const lease of this.#running) lease.abort('shutdown')
  }

  /** Gives back what still runs. What its handlers do from now on is of no consequence. */
  async giveBack(): Promise<void> {
    const leases = [...this.#running]
    this.#running.clear()
    await Promise.all(leases.map((lease) => this.#giveBack(lease)))
    this.#changed()
  }

  async #giveBack(lease: HeldLease): Promise<void> {
    const { lost } = lease
    let end: TaskEnd = 'lost'
    try {
      if (lost === undefined) {
        await this.#reporter.giveBack(lease)
        end = 'released'
      } else if (lost === 'canceled') end = 'canceled'
    } catch (error) {
      this.#log.of(lease).warn({ error }, 'a task could not be given back; its lease will lapse')
    }
    this.#ended(lease, end)
  }

  async #carryOut(lease: HeldLease): Promise<void> {
    const outcome = await this.#runner.run(lease)
    if (!this.#running.delete(lease)) return
    this.#reporting++
    this.#changed()
    try {
      const end = await this.#reporter.report(lease, outcome)
      if (end === 'canceled') this.#cancelReports.stopped(lease)
      this.#ended(lease, end)
    } finally {
      this.#reporting--
      this.#changed()
    }
  }

  #ended(lease: HeldLease, end: TaskEnd): void {
    this.#leases.remove(lease)
    this.#metrics.ended(lease.offer.type, end)
    if (this.#log.isVerbose) this.#log.of(lease).debug({ end }, 'the task has ended')
  }

  #until(isSo: () => boolean): Promise<void> {
    if (isSo()) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ isSo, resolve }))
  }

  #changed(): void {
    for (let i = this.#waiting.length - 1; i >= 0; i--) {
      const waiter = this.#waiting[i]
      if (waiter?.isSo()) {
        this.#waiting.splice(i, 1)
        waiter.resolve()
      }
    }
  }
}
