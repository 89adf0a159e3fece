import { Fault } from '../core/errors.ts'
import type { TaskRef } from '../store/store.ts'
import type { Engine } from './engine.ts'

/** Due tasks that are taken on in one go, of each tenant. */
const PER_TENANT = 100

/** Wakes are committed in small groups with pauses, so that a mass expiry leaves room for everybody else. */
const GROUP = 20
const PAUSE_MS = 10

/**
 * Finds tasks whose lease has lapsed, whose time is over or whose delay has ended, and submits a wake for each.
 * Any process may sweep any tenant: a wake that comes twice does nothing the second time.
 */
export class Sweeps {
  readonly #engine: Engine
  #timer: NodeJS.Timeout | undefined
  #running: Promise<number> | undefined
  #stopped = false

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Sweeps again and again, at uneven intervals so that several processes do not fall into step. */
  start(): void {
    if (this.#stopped) return
    const interval = this.#engine.settings.lease_sweep_interval_seconds * 1000
    this.#timer = setTimeout(
      () => {
        this.sweep()
          .catch((error) => this.#engine.report(error))
          .finally(() => this.start())
      },
      interval * (0.8 + 0.4 * this.#engine.unit()),
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
      const found = await this.#engine.store.due(PER_TENANT + broken.size)
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
      tasks.map((task) => this.#engine.submit({ verb: 'wake', ...task })),
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
