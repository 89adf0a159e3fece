import { Fault } from '../core/errors.ts'
import type { Settings } from '../core/settings.ts'
import type { Store, TaskRef } from '../store/store.ts'

/** Maximum due tasks per tenant and round. */
const PER_TENANT = 100

/** Wakes are committed in small groups with pauses, so that a mass expiry does not delay other commands. */
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
 * Finds tasks whose lease has expired, whose deadline has passed or whose delay has ended, and submits a wake for each.
 * Any process may sweep any tenant: a second wake of a task has no effect.
 */
export class Sweeps {
  readonly #deps: Deps
  #timer: NodeJS.Timeout | undefined
  #running: Promise<number> | undefined
  #stopped = false

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Sweeps periodically, with jitter so that several processes do not sweep at the same time. */
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

  /** Wakes all tasks that are due. Returns their number. */
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
    // Tasks that cannot be woken. They stay due and come before tasks that became due later.
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
        // An outage or an overload is temporary: the next sweep wakes these tasks.
        if (!(error instanceof Fault) || error.code !== 'INTERNAL_ERROR') throw error
        broken.set(nameOf(task), error)
      }
      count += due.length - failures.length
      if (due.length >= PER_TENANT && !this.#stopped) continue
      if (broken.size > 0) throw broken.values().next().value
      return count
    }
  }

  /** Returns the errors. A failed wake does not prevent the others. */
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
