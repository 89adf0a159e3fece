import type { CancelReports } from './cancel-reports.ts'
import type { HeldLease } from './lease.ts'
import type { Leases } from './leases.ts'
import type { WorkerLog } from './log.ts'
import type { Metrics, TaskEnd } from './metrics.ts'
import type { Reporter } from './reporter.ts'
import type { Runner } from './runner.ts'

/** Allows short tasks to be claimed while the outcomes of earlier ones are reported. */
const MAX_REPORTS_PER_HANDLER = 3

interface Deps {
  readonly leases: Leases
  readonly runner: Runner
  readonly reporter: Reporter
  readonly cancelReports: CancelReports
  readonly log: WorkerLog
  readonly metrics: Metrics
}

/** The tasks of the worker, from the claim until the server has accepted the outcome. */
export class Work {
  readonly #concurrency: number
  readonly #deps: Deps
  readonly #running = new Set<HeldLease>()
  #reporting = 0
  readonly #waiting: { readonly isMet: () => boolean; resolve(): void }[] = []

  constructor(concurrency: number, deps: Deps) {
    this.#concurrency = concurrency
    this.#deps = deps
  }

  get running(): number {
    return this.#running.size
  }

  /** How many more handlers may start. None while too many outcomes wait to be reported. */
  get free(): number {
    return this.#reporting > MAX_REPORTS_PER_HANDLER * this.#concurrency
      ? 0
      : this.#concurrency - this.#running.size
  }

  begin(lease: HeldLease): void {
    this.#deps.leases.add(lease)
    this.#running.add(lease)
    this.#process(lease).catch((error: unknown) => {
      this.#deps.log.of(lease).error({ error }, 'a task failed inside the worker; its lease will expire')
      this.#running.delete(lease)
      this.#ended(lease, 'lost')
      this.#changed()
    })
  }

  /** Resolves when another handler may start. */
  hasFree(): Promise<void> {
    return this.#until(() => this.free > 0)
  }

  /** Resolves when there are no tasks left. */
  isDone(): Promise<void> {
    return this.#until(() => this.#running.size === 0 && this.#reporting === 0)
  }

  /** Aborts the signals of all handlers because the worker stops. */
  abort(): void {
    for (const lease of this.#running) lease.abort('shutdown')
  }

  /** Releases all running tasks. What their handlers do from now on is ignored. */
  async releaseAll(): Promise<void> {
    const leases = [...this.#running]
    this.#running.clear()
    await Promise.all(leases.map((lease) => this.#release(lease)))
    this.#changed()
  }

  async #release(lease: HeldLease): Promise<void> {
    const { lost } = lease
    let end: TaskEnd = 'lost'
    try {
      if (lost === undefined) {
        await this.#deps.reporter.release(lease)
        end = 'released'
      } else if (lost === 'canceled') end = 'canceled'
    } catch (error) {
      this.#deps.log.of(lease).warn({ error }, 'a task could not be released; its lease will expire')
    }
    this.#ended(lease, end)
  }

  async #process(lease: HeldLease): Promise<void> {
    const { runner, reporter, cancelReports } = this.#deps
    const outcome = await runner.run(lease)
    if (!this.#running.delete(lease)) return
    this.#reporting++
    this.#changed()
    try {
      const end = await reporter.report(lease, outcome)
      if (end === 'canceled') cancelReports.stopped(lease)
      this.#ended(lease, end)
    } finally {
      this.#reporting--
      this.#changed()
    }
  }

  #ended(lease: HeldLease, end: TaskEnd): void {
    const { leases, metrics, log } = this.#deps
    leases.remove(lease)
    metrics.ended(lease.offer.type, end)
    if (log.isVerbose) log.of(lease).debug({ end }, 'the task has ended')
  }

  #until(isMet: () => boolean): Promise<void> {
    if (isMet()) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push({ isMet, resolve }))
  }

  #changed(): void {
    for (let i = this.#waiting.length - 1; i >= 0; i--) {
      const waiter = this.#waiting[i]
      if (waiter?.isMet()) {
        this.#waiting.splice(i, 1)
        waiter.resolve()
      }
    }
  }
}
