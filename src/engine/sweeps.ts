import { Fault } from '../core/errors.ts'
import type { Settings } from '../core/settings.ts'
import type { Store, TaskRef } from '../store/store.ts'

/** Due tasks that are taken on in one go, of each tenant. */
const PER_TENANT = 100

/** Wakes are committed in small groups with pauses, so that a mass expiry leaves room for everybody else. */
const GROUP = 20
const PAUSE_MS = 10

interface Deps {
  readonly store: Pick<Store, 'due'>
  readonly settings: Pick<Settings, 'lease_sweep_interval_seconds'>
  submit(command: { readonly verb: 'wake' } & TaskRef): Promise<unknown>
  report(error: unknown): void
  /** A random number in [0, 1). */
  unit(): number
}

/**
 * Finds tasks whose lease has lapsed, whose time is over or whose delay has ended, and submits a wake for each.
 * Any process may sweep any tenant: a wake that comes twice does nothing the second time.
 */
export class Sweeps {
  readonly #deps: Deps
  #timer: NodeJS.Timeout | undefined
  #running: Promise<number> | undefined
  #stopped = false

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Sweeps again and again, at uneven intervals so that several processes do not fall into step. */
  start(): void {
    if (this.#stopped) return
    const interval = this.#deps.settings.lease_sweep_interval_seconds * 1000
    this.#timer = setTimeout(
      () => {
        this.sweep()
          .catch((error) => this.#deps.report(error))
          .finally(() => this.start())
      },
      interval * (0.8 + 0.4 * this.#deps.unit()),
    )
    this.#timer.unref()
  }

  /** Deals with everything that is due now; returns how many tasks that was. */
  sweep(): Promise<number> {
    this.#running ??= this.#sweepAll().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#running?.catch(() => {})
  }

  async #sweepAll(): Promise<number> {
    // Wakes that can never be made. They stay due, and stand in front of what became due after them.
    const broken = new Map<string, unknown>()
    let count = 0
    for (;;) {
      const found = await this.#deps.store.due(PER_TENANT + broken.size)
      const due = found.filter((task) => !broken.has(nameOf(task)))
      const failures: Failure[] = []
      for (let i = 0; i < due.length && !this.#stopped; i += GROUP) {
        if (i > 0) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
        failures.push(...(await this.#wake(due.slice(i, i + GROUP))))
      }
      for (const { task, error } of failures) {
        // An outage or an overload passes: what it kept from being woken is left to the next sweep.
        if (!(error instanceof Fault) || error.code !== 'INTERNAL_ERROR') throw error
        broken.set(nameOf(task), error)
      }
      count += due.length - failures.length
      if (due.length >= PER_TENANT && !this.#stopped) continue
      if (broken.size > 0) throw broken.values().next().value
      return count
    }
  }

  /** What went wrong. One wake that fails keeps none of the others from being made. */
  async #wake(tasks: readonly TaskRef[]): Promise<Failure[]> {
    const outcomes = await Promise.allSettled(
      tasks.map((task) => this.#deps.submit({ verb: 'wake', ...task })),
    )
    return tasks.flatMap((task, i) => {
      const outcome = outcomes[i]
      return outcome?.status === 'rejected' ? [{ task, error: outcome.reason }] : []
    })
  }
}

interface Failure {
  readonly task: TaskRef
  readonly error: unknown
}

function nameOf({ tenant, task_id }: TaskRef): string {
  return `${tenant} ${task_id}`
}
