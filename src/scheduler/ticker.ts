import { backoff, GateError } from '../client/transport.ts'
import { messageOf } from '../util/error-message.ts'
import { dueAt, dueRuns } from './due.ts'
import type { ScheduleGate } from './gate.ts'
import { staleAfter } from './plan/run.ts'
import { type Timetable, timetableOf } from './plan/timetable.ts'
import type { Schedule } from './schedule.ts'
import type { ScheduleStore } from './store.ts'

/** How often to look at the clock at least: it may be set, and the machine may sleep. */
const LOOK_MS = 1000

/** Schedules that are fired at the same time. The runs of one are fired one after the other. */
const LANES = 16

export interface SchedulerLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface TickerOptions {
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
 * Fires what is due, and never before it is. A run is settled only after the gate has taken its task: whatever ends
 * the process in between, the run is fired again under the same key.
 */
export class Ticker {
  readonly #store: ScheduleStore
  readonly #gate: ScheduleGate
  readonly #log: SchedulerLog
  readonly #now: () => number
  readonly #failures = new Map<string, Failure>()
  readonly #busy = new Map<string, Promise<void>>()
  readonly #waiting: (() => void)[] = []
  #lanes = LANES
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
    this.#look()
  }

  /** Looks now: something about the schedules has changed. */
  poke(): void {
    if (this.#state === 'running') this.#look()
  }

  /** Fires nothing more; resolves when what is on its way has arrived and is recorded. */
  async stop(): Promise<void> {
    this.#state = 'stopped'
    clearTimeout(this.#timer)
    await Promise.all(this.#busy.values())
  }

  /** Fires what is due now, except what has failed a moment ago; resolves when that is done. */
  async tick(): Promise<void> {
    const now = this.#now()
    const due = new Set(this.#store.due(now))
    // What was paused or deleted has failed for the last time.
    for (const id of this.#failures.keys()) if (!due.has(id)) this.#failures.delete(id)
    for (const id of due) {
      if (this.#busy.has(id) || (this.#failures.get(id)?.retryAt ?? now) > now) continue
      const work = this.#work(id).finally(() => this.#ended(id))
      this.#busy.set(id, work)
    }
    await Promise.all(this.#busy.values())
  }

  /** A database that is locked or full for a while ends nothing: the next look tries again. */
  #look(): void {
    this.tick().catch((error: unknown) => this.#complain(error))
    this.#arm()
  }

  #arm(): void {
    if (this.#state !== 'running') return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#look(), this.#pause())
  }

  /** How long there is nothing to do. */
  #pause(): number {
    const now = this.#now()
    let next = now + LOOK_MS
    for (const [id, { retryAt }] of this.#failures) if (!this.#busy.has(id)) next = Math.min(next, retryAt)
    try {
      next = Math.min(next, this.#store.nextDueAt(now) ?? next)
    } catch (error) {
      this.#complain(error)
    }
    return Math.max(1, next - now)
  }

  #ended(id: string): void {
    this.#busy.delete(id)
    this.#arm()
  }

  async #work(id: string): Promise<void> {
    await this.#lane()
    try {
      await this.#fire(id)
      this.#failures.delete(id)
    } catch (error) {
      this.#failed(id, error)
    } finally {
      this.#lanes++
      this.#waiting.shift()?.()
    }
  }

  async #lane(): Promise<void> {
    while (this.#lanes === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    this.#lanes--
  }

  async #fire(id: string): Promise<void> {
    const schedule = this.#store.get(id)
    const now = this.#now()
    if (schedule?.status !== 'enabled' || schedule.next_run_at === null) return
    const timetable = timetableOf(schedule.timing, schedule.created_at)
    const { fire, left } = dueRuns(schedule, timetable, now)
    if (fire.length === 0 || this.#isStopped()) return
    await this.#tellStale(schedule, schedule.next_run_at, timetable, now)
    if (left > 0) this.#log.warn({ schedule_id: id, runs: left }, 'missed runs are left out')
    for (const runAt of fire) {
      if (this.#isStopped() || this.#isWithdrawn(id)) return
      const last_status = await this.#gate.fire(schedule, runAt)
      this.#store.settle(id, { ...upcoming(schedule, timetable, runAt), last_run_at: runAt, last_status })
      this.#log.info({ schedule_id: id, run_at: new Date(runAt).toISOString(), last_status }, 'fired')
    }
  }

  #isStopped(): boolean {
    return this.#state === 'stopped'
  }

  /** Somebody may pause or delete a schedule while it makes up for many runs. */
  #isWithdrawn(id: string): boolean {
    return this.#store.get(id)?.status !== 'enabled'
  }

  /** Tells the owner once of each run that hangs. A refusal is final; if nobody answers, so will the next try. */
  async #tellStale(schedule: Schedule, runAt: number, timetable: Timetable, now: number): Promise<void> {
    if (schedule.stale_run_at === runAt || now <= staleAfter(timetable, runAt)) return
    try {
      await this.#gate.reportStale(schedule, runAt)
    } catch (error) {
      if (!(error instanceof GateError) || error.retryable) throw error
      this.#log.warn({ schedule_id: schedule.schedule_id, code: error.code }, 'the anomaly was refused')
    }
    this.#store.noteStale(schedule.schedule_id, runAt)
  }

  #failed(id: string, error: unknown): void {
    const count = (this.#failures.get(id)?.count ?? 0) + 1
    const after = error instanceof GateError ? (error.retryAfterMs ?? 0) : 0
    this.#failures.set(id, { count, retryAt: this.#now() + Math.max(backoff(count), after) })
    const code = error instanceof GateError ? error.code : 'INTERNAL_ERROR'
    this.#log.warn({ schedule_id: id, code, failures: count }, `a run was not taken: ${messageOf(error)}`)
    try {
      this.#store.note(id, code)
    } catch (problem) {
      this.#complain(problem)
    }
  }

  #complain(error: unknown): void {
    this.#log.warn({}, `the schedules cannot be read or written: ${messageOf(error)}`)
  }
}

/** What comes after everything up to `settledUntil` is dealt with. */
export function upcoming(
  schedule: Pick<Schedule, 'schedule_id' | 'jitter_seconds'>,
  timetable: Timetable,
  settledUntil: number,
): Pick<Schedule, 'settled_until' | 'next_run_at' | 'due_at'> {
  const next_run_at = timetable.next(settledUntil)
  const due_at = next_run_at === null ? null : dueAt(schedule, timetable, next_run_at)
  return { settled_until: settledUntil, next_run_at, due_at }
}
