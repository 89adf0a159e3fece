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
    let count = 0
    for (;;) {
      const due = await this.#engine.store.due(PER_TENANT)
      const errors: unknown[] = []
      for (let i = 0; i < due.length && !this.#stopped; i += GROUP) {
        if (i > 0) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
        errors.push(...(await this.#wake(due.slice(i, i + GROUP))))
      }
      // What failed is still due, and left to the next sweep.
      if (errors.length > 0) throw errors[0]
      count += due.length
      if (due.length < PER_TENANT || this.#stopped) return count
    }
  }

  /** What went wrong. One wake that fails keeps none of the others from being made. */
  async #wake(tasks: readonly TaskRef[]): Promise<unknown[]> {
    const outcomes = await Promise.allSettled(
      tasks.map((task) => this.#engine.submit({ verb: 'wake', ...task })),
    )
    return outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  }
}
