import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { Engine } from '../../engine/engine.ts'
import { type HistoryPeriod, STEPS, type Step } from '../../store/history.ts'
import { TaskCounter } from './task-counter.ts'

const FLUSH_MS = 5_000
/** Reads write what was counted, but no more often than this. */
const MIN_PAUSE_MS = 1_000
const SWEEP_MS = 3_600_000
const STOP_MS = 3_000
const PER_REMOVAL = 500

const DAY_MS = 24 * STEPS.hour
const RETENTION_MS: Readonly<Record<Step, number>> = { minute: 2 * DAY_MS, hour: 31 * DAY_MS }

/**
 * Counts what becomes of tasks in memory, and adds it to the stored history every few seconds, so that a task costs no
 * write of its own. A write that failed is repeated; should it have succeeded all the same, its tasks count twice.
 */
export class HistoryRecorder {
  readonly #engine: Engine
  readonly #counter = new TaskCounter()
  /** What is not known to be written. */
  #unwritten: { readonly tenant: number; readonly periods: readonly HistoryPeriod[] }[] = []
  #flushing: Promise<void> = Promise.resolve()
  #flushedAt = 0
  #sweptAt = 0
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(engine: Engine) {
    this.#engine = engine
    engine.events.onTask((event) => this.#counter.count(event))
  }

  /** Writes at intervals, and removes what is older than the retention period. */
  start(): void {
    if (this.#isStopped) return
    this.#timer = setTimeout(async () => {
      await this.flush()
      if (Date.now() - this.#sweptAt >= SWEEP_MS) {
        this.#sweptAt = Date.now()
        await this.sweep().catch((error) => this.#engine.report(error))
      }
      this.start()
    }, FLUSH_MS)
    this.#timer.unref()
  }

  /** Writes everything counted so far. Resolves also if that failed: it is then tried again later. */
  flush(): Promise<void> {
    this.#flushedAt = Date.now()
    this.#flushing = this.#flushing.then(() => this.#write()).catch((error) => this.#engine.report(error))
    return this.#flushing
  }

  /** Writes everything counted so far, unless a write has begun within the last second. */
  async refresh(): Promise<void> {
    await (Math.abs(Date.now() - this.#flushedAt) < MIN_PAUSE_MS ? this.#flushing : this.flush())
  }

  /** Removes minutes after two days and hours after a month. Resolves with the number of removed periods. */
  async sweep(): Promise<number> {
    const { store } = this.#engine
    const now = await store.now()
    let removed = 0
    for (const { tenant } of await store.tenants()) {
      for (const step of ['minute', 'hour'] as const) {
        const before = now - RETENTION_MS[step]
        for (let count = PER_REMOVAL; count === PER_REMOVAL && !this.#isStopped; ) {
          count = await store.history.removeBefore(tenant, step, before, PER_REMOVAL)
          removed += count
          await nextTurn()
        }
      }
    }
    return removed
  }

  /** Writes everything, within a few seconds. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    const late = new AbortController()
    await Promise.race([this.flush(), delay(STOP_MS, undefined, { signal: late.signal }).catch(() => {})])
    late.abort()
  }

  async #write(): Promise<void> {
    if (!this.#counter.isEmpty) this.#unwritten.push(...this.#counter.take())
    for (let [first] = this.#unwritten; first !== undefined; [first] = this.#unwritten) {
      await this.#engine.store.history.add(first.tenant, first.periods)
      this.#unwritten.shift()
      // SQLite writes at once. Requests must not wait for the counts of all tenants.
      await nextTurn()
    }
  }
}
