import { backoff } from '../client/backoff.ts'
import { GateError, pauseAfter } from '../client/gate-error.ts'
import { messageOf } from '../util/error-message.ts'
import { Semaphore } from '../util/semaphore.ts'
import { dueRuns, upcoming } from './due.ts'
import type { ScheduleGate } from './gate.ts'
import { staleAfter } from './plan/run.ts'
import { type Timetable, timetableOf } from './plan/timetable.ts'
import type { Schedule } from './schedule.ts'
import type { ScheduleStore } from './store.ts'

/** The longest pause between two checks: the clock may be set, and the machine may be suspended. */
const CHECK_MS = 1000

/** How many schedules fire concurrently. The runs of one schedule fire in sequence. */
const MAX_CONCURRENT = 16

interface SchedulerLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

interface TickerOptions {
  readonly store: ScheduleStore
  readonly gate: ScheduleGate
  readonly log: SchedulerLog
  readonly now?: (() => number) | undefined
}

interface Failure {
  readonly count: number
  readonly retryAt: number
}

/**
 * Fires due runs, and none before it is due. A run is settled only after the server has accepted its task: if the process
 * ends in between, the run is fired again with the same key.
 */
export class Ticker {
  readonly #store: ScheduleStore
  readonly #gate: ScheduleGate
  readonly #log: SchedulerLog
  readonly #now: () => number
  readonly #failures = new Map<string, Failure>()
  readonly #busy = new Map<string, Promise<void>>()
  readonly #permits = new Semaphore(MAX_CONCURRENT)
  #timer: NodeJS.Timeout | undefined
  #state: 'idle' | 'running' | 'stopped' = 'idle'

  constructor({ store, gate, log, now }: TickerOptions) {
    this.#store = store
    this.#gate = gate
    this.#log = log
    this.#now = now ?? Date.now
  }

  start(): void {
    this.#state = 'running'
    this.#check()
  }

  /** Checks now, because the schedules have changed. */
  poke(): void {
    if (this.#state === 'running') this.#check()
  }

  /** Fires nothing more; resolves when the runs that are being fired are recorded. */
  async stop(): Promise<void> {
    this.#state = 'stopped'
    clearTimeout(this.#timer)
    await Promise.all(this.#busy.values())
  }

  /** Fires due runs, except those that wait for a retry; resolves when that is done. */
  async tick(): Promise<void> {
    const now = this.#now()
    const due = new Set(await this.#store.due(now))
    // Paused and deleted schedules are not retried.
    for (const id of this.#failures.keys()) if (!due.has(id)) this.#failures.delete(id)
    for (const id of due) {
      if (this.#busy.has(id) || (this.#failures.get(id)?.retryAt ?? now) > now) continue
      const work = this.#work(id).finally(() => this.#ended(id))
      this.#busy.set(id, work)
    }
    await Promise.all(this.#busy.values())
  }

  /** If the database is locked or full, the next check tries again. */
  #check(): void {
    this.tick().catch((error: unknown) => this.#warn(error))
    void this.#arm()
  }

  async #arm(): Promise<void> {
    const pause = await this.#pause()
    if (this.#state !== 'running') return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#check(), pause)
  }

  /** The time until the next check. */
  async #pause(): Promise<number> {
    const now = this.#now()
    let next = now + CHECK_MS
    for (const [id, { retryAt }] of this.#failures) if (!this.#busy.has(id)) next = Math.min(next, retryAt)
    try {
      next = Math.min(next, (await this.#store.nextDueAt(now)) ?? next)
    } catch (error) {
      this.#warn(error)
    }
    return Math.max(1, next - now)
  }

  #ended(id: string): void {
    this.#busy.delete(id)
    void this.#arm()
  }

  async #work(id: string): Promise<void> {
    const release = await this.#permits.acquire()
    try {
      await this.#fire(id)
      this.#failures.delete(id)
    } catch (error) {
      await this.#failed(id, error)
    } finally {
      release()
    }
  }

  async #fire(id: string): Promise<void> {
    const schedule = await this.#store.get(id)
    const now = this.#now()
    if (schedule?.status !== 'enabled' || schedule.next_run_at === null) return
    const timetable = timetableOf(schedule.timing, schedule.created_at)
    const { fire, skipped } = dueRuns(schedule, timetable, now)
    if (fire.length === 0 || this.#isStopped()) return
    await this.#reportStale(schedule, schedule.next_run_at, timetable, now)
    if (skipped > 0) this.#log.warn({ schedule_id: id, runs: skipped }, 'missed runs are skipped')
    for (const runAt of fire) {
      // The schedule may have been paused or deleted while it catches up.
      if (this.#isStopped() || (await this.#store.get(id))?.status !== 'enabled') return
      const last_status = await this.#gate.fire(schedule, runAt)
      await this.#store.settle(id, {
        ...upcoming(schedule, timetable, runAt),
        last_run_at: runAt,
        last_status,
      })
      this.#log.info({ schedule_id: id, run_at: new Date(runAt).toISOString(), last_status }, 'fired')
    }
  }

  #isStopped(): boolean {
    return this.#state === 'stopped'
  }

  /** Reports each overdue run once. A refusal is final; a transient failure is retried with the run. */
  async #reportStale(schedule: Schedule, runAt: number, timetable: Timetable, now: number): Promise<void> {
    if (schedule.stale_run_at === runAt || now <= staleAfter(timetable, runAt)) return
    try {
      await this.#gate.reportStale(schedule, runAt)
    } catch (error) {
      if (!(error instanceof GateError) || error.retryable) throw error
      this.#log.warn(
        { schedule_id: schedule.schedule_id, code: error.code },
        'the report of an overdue run was refused',
      )
    }
    await this.#store.noteStale(schedule.schedule_id, runAt)
  }

  async #failed(id: string, error: unknown): Promise<void> {
    const count = (this.#failures.get(id)?.count ?? 0) + 1
    this.#failures.set(id, { count, retryAt: this.#now() + pauseAfter(error, backoff(count)) })
    const code = error instanceof GateError ? error.code : 'INTERNAL_ERROR'
    this.#log.warn(
      { schedule_id: id, code, failures: count },
      `a run could not be fired: ${messageOf(error)}`,
    )
    try {
      await this.#store.note(id, code)
    } catch (problem) {
      this.#warn(problem)
    }
  }

  #warn(error: unknown): void {
    this.#log.warn({}, `the schedules cannot be read or written: ${messageOf(error)}`)
  }
}
