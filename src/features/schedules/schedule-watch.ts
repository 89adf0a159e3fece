import { Fault } from '../../core/errors.ts'
import { GATE } from '../../core/principal.ts'
import { staleAfter } from '../../scheduler/plan/run.ts'
import { type Timetable, timetableOf } from '../../scheduler/plan/timetable.ts'
import type { Entry } from '../../store/entries.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { Services } from '../services.ts'
import { planOf, recordedSchedule } from './recorded-schedule.ts'

const KIND = 'schedule_watch'
const LOOK_MS = 30_000

/** Of a tenant, in one go. */
const PER_SWEEP = 1000

/** Writers that meet take turns; more of them at once would be a loop. */
const TRIES = 5

/** What the gate expects of the scheduler that keeps a schedule. */
interface Watched {
  /** The run that comes next; null if there is none. */
  readonly next_run_at: number | null
  readonly is_paused: boolean
  /** Why the gate refused the last attempt to run it. */
  readonly failure: string | null
}

type Change = (before: Watched | undefined) => Watched

/** Expects the first run after a time. A run that was expected later stays expected. */
export function expectRunAfter(engine: Services, asking: TaskRecord, after: number): Promise<void> {
  return change(engine, asking, (before, timetable) => {
    const next = timetable.next(after)
    const isKnown = before?.next_run_at !== null && (before?.next_run_at ?? 0) >= (next ?? Infinity)
    if (before !== undefined && (isKnown || before.is_paused)) return before
    return { next_run_at: next, is_paused: false, failure: null }
  })
}

/** What a paused schedule leaves out was not missed: it goes on with the first run after `now`. */
export function setPaused(
  engine: Services,
  asking: TaskRecord,
  is_paused: boolean,
  now: number,
): Promise<void> {
  return change(engine, asking, (_, timetable) => ({
    next_run_at: timetable.next(now),
    is_paused,
    failure: null,
  }))
}

export function noteFailure(engine: Services, asking: TaskRecord, failure: string): Promise<void> {
  return change(engine, asking, (before, timetable) => ({
    next_run_at: before?.next_run_at ?? timetable.next(asking.spec.created_at),
    is_paused: before?.is_paused ?? false,
    failure,
  }))
}

export async function forgetSchedule(engine: Services, tenant: number, schedule_id: string): Promise<void> {
  await engine.writing((entries) => entries.remove(tenant, KIND, schedule_id))
}

async function change(
  engine: Services,
  asking: TaskRecord,
  make: (before: Watched | undefined, timetable: Timetable) => Watched,
): Promise<void> {
  const plan = planOf(asking)
  // A schedule of another form: nobody but its own scheduler knows its times.
  if (plan === undefined) return
  const timetable = timetableOf(plan.timing, asking.spec.created_at)
  const { tenant, task_id: name } = asking.task
  await rewrite(engine, tenant, name, timetable, (before) => make(before, timetable))
}

async function rewrite(engine: Services, tenant: number, name: string, timetable: Timetable, make: Change) {
  for (let n = 0; n < TRIES; n++) {
    const entry = await engine.reading(() => engine.store.entries.get(tenant, KIND, name))
    const before = entry && watchedIn(entry)
    const after = make(before)
    if (after === before) return
    const value = JSON.stringify(after)
    if (value === entry?.value) return
    const { next_run_at, is_paused } = after
    const due_at = next_run_at === null || is_paused ? null : staleAfter(timetable, next_run_at) + 1
    const draft = { tenant, kind: KIND, name, value, due_at }
    if ((await engine.writing((entries) => entries.put(draft, entry?.version ?? 0))) !== undefined) return
  }
}

function watchedIn({ value }: Entry): Watched {
  return JSON.parse(value)
}

/** Tells owners of runs that are overdue by more than two intervals, also while no scheduler is there to tell. */
export class ScheduleWatch {
  readonly #engine: Services
  #timer: NodeJS.Timeout | undefined
  #running: Promise<unknown> = Promise.resolve()

  constructor(engine: Services) {
    this.#engine = engine
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#running = this.sweep().catch((error) => this.#engine.report(error))
    }, LOOK_MS)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  /** Resolves with how many schedules are overdue. */
  async sweep(): Promise<number> {
    const { store, knownTenants } = this.#engine
    const now = await store.now()
    let overdue = 0
    for (const { tenant } of knownTenants) {
      for (const entry of await store.entries.due(tenant, KIND, now, PER_SWEEP)) {
        // One that fails stays due, and keeps none of the others waiting.
        await this.#tell(entry).catch((error) => this.#engine.report(error))
        overdue++
      }
    }
    return overdue
  }

  async #tell(entry: Entry): Promise<void> {
    const { tenant, name } = entry
    const { next_run_at, failure } = watchedIn(entry)
    try {
      if (next_run_at !== null) await this.#report(tenant, name, next_run_at, failure)
    } catch (error) {
      if (!(error instanceof Fault && error.code === 'SCHEDULE_NOT_FOUND')) throw error
      return forgetSchedule(this.#engine, tenant, name)
    }
    // It is told once; the next run that comes about makes it due again.
    await this.#engine.store.entries.put({ ...entry, due_at: null }, entry.version)
  }

  async #report(tenant: number, schedule_id: string, next_run_at: number, failure: string | null) {
    const { asking, opening } = await recordedSchedule(this.#engine, tenant, schedule_id)
    if (opening === undefined) throw new Fault('SCHEDULE_NOT_FOUND', { schedule_id })
    await this.#engine.submit({
      verb: 'report_stale',
      tenant,
      by: GATE,
      role: 'system',
      schedule_id,
      asked: asking.task.seq,
      created: opening.seq,
      next_run_at,
      reason: failure ?? 'the scheduler did not run',
    })
  }
}
