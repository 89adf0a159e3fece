import { Fault } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import { GATE } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { type Plan, planInput } from '../../scheduler/plan/plan.ts'
import { staleAfter } from '../../scheduler/plan/run.ts'
import { type Timetable, timetableOf } from '../../scheduler/plan/timetable.ts'
import type { Entry } from '../../store/entries.ts'
import type { Child, TaskRecord } from '../../store/reads.ts'
import { text } from '../input.ts'
import { payloadOf } from '../questions/view.ts'
import { inputOf } from '../tasks/task-input.ts'

export const scheduleId = text(64).describe('Id of the schedule: the id of the task that asked for it')

/** The type of the tasks that ask for a schedule. */
const CREATE_TYPE = 'schedule.create'

/** What the ledger has recorded about a schedule. */
export interface RecordedSchedule {
  /** The task that asked for it. */
  readonly asking: TaskRecord
  /** Its schedule.created receipt. */
  readonly opening: Child | undefined
}

/** The request and its receipt never change, so they can be read before a commit. */
export async function recordedSchedule(
  engine: Engine,
  tenant: number,
  schedule_id: string,
  absent: Fault = new Fault('SCHEDULE_NOT_FOUND', { schedule_id }),
): Promise<RecordedSchedule> {
  const { reads } = engine.store
  const asking = isUuid(schedule_id) ? await engine.reading(() => reads.task(tenant, schedule_id)) : undefined
  if (asking === undefined) throw absent
  const [opening] = await engine.reading(() =>
    reads.children(tenant, [asking.task.seq], ['schedule.created']),
  )
  return { asking, opening }
}

/** The plan that the owner asked for, as stored; undefined if the task asked for something else. */
export function planOf({ spec, questions }: TaskRecord): Plan | undefined {
  if (spec.type !== CREATE_TYPE) return undefined
  return planInput.safeParse(payloadOf(inputOf(spec.input), questions)).data
}

const KIND = 'schedule_watch'
const SWEEP_MS = 30_000

/** Entries of one tenant that are processed in one sweep. */
const PER_SWEEP = 1000

/** Concurrent writers retry; more attempts than this would indicate an endless loop. */
const TRIES = 5

/** What the server expects of the scheduler of a schedule. */
export interface Watched {
  /** Time of the next run; null if there is none. */
  readonly next_run_at: number | null
  readonly is_paused: boolean
  /** Error code of the last refused run; null if it succeeded. */
  readonly failure: string | null
  /** The newest run that has created a task; absent if none has. */
  readonly last_run_at?: number
}

type Change = (before: Watched | undefined) => Watched

/** Expects the first run after a time, unless a later run is expected already. */
export function expectRunAfter(engine: Engine, asking: TaskRecord, after: number): Promise<void> {
  return change(engine, asking, (before, timetable) => {
    const next = timetable.next(after)
    const isKnown = before?.next_run_at !== null && (before?.next_run_at ?? 0) >= (next ?? Infinity)
    if (before !== undefined && (isKnown || before.is_paused)) return before
    return { ...before, next_run_at: next, is_paused: false, failure: null }
  })
}

/** A run has created its task. */
export async function noteRun(engine: Engine, asking: TaskRecord, runAt: number): Promise<void> {
  await expectRunAfter(engine, asking, runAt)
  await change(engine, asking, (before, timetable) => {
    const watched = before ?? { next_run_at: timetable.next(runAt), is_paused: false, failure: null }
    return (watched.last_run_at ?? 0) >= runAt ? watched : { ...watched, last_run_at: runAt, failure: null }
  })
}

/** The watched schedules with an id above `after`, sorted by id. */
export async function watchedSchedules(
  engine: Engine,
  tenant: number,
  after: string,
  limit: number,
): Promise<{ readonly schedule_id: string; readonly watched: Watched }[]> {
  const entries = await engine.reading(() => engine.store.entries.list(tenant, KIND, after, limit))
  return entries.map((entry) => ({ schedule_id: entry.name, watched: watchedIn(entry) }))
}

/** Undefined if the schedule was deleted, or has a format that only its scheduler knows. */
export async function watchedSchedule(
  engine: Engine,
  tenant: number,
  schedule_id: string,
): Promise<Watched | undefined> {
  const entry = await engine.reading(() => engine.store.entries.get(tenant, KIND, schedule_id))
  return entry && watchedIn(entry)
}

/** Runs during a pause are not overdue: the schedule resumes with the first run after `now`. */
export function setPaused(
  engine: Engine,
  asking: TaskRecord,
  is_paused: boolean,
  now: number,
): Promise<void> {
  return change(engine, asking, (before, timetable) => ({
    ...before,
    next_run_at: timetable.next(now),
    is_paused,
    failure: null,
  }))
}

export function noteFailure(engine: Engine, asking: TaskRecord, failure: string): Promise<void> {
  return change(engine, asking, (before, timetable) => ({
    ...before,
    next_run_at: before?.next_run_at ?? timetable.next(asking.spec.created_at),
    is_paused: before?.is_paused ?? false,
    failure,
  }))
}

export async function forgetSchedule(engine: Engine, tenant: number, schedule_id: string): Promise<void> {
  await engine.writing((entries) => entries.remove(tenant, KIND, schedule_id))
}

async function change(
  engine: Engine,
  asking: TaskRecord,
  make: (before: Watched | undefined, timetable: Timetable) => Watched,
): Promise<void> {
  const plan = planOf(asking)
  // The schedule has another format: only its scheduler knows the times.
  if (plan === undefined) return
  const timetable = timetableOf(plan.timing, asking.spec.created_at)
  const { tenant, task_id: name } = asking.task
  await rewrite(engine, tenant, name, timetable, (before) => make(before, timetable))
}

async function rewrite(engine: Engine, tenant: number, name: string, timetable: Timetable, make: Change) {
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

/** Notifies owners of runs that are overdue by more than two intervals, even if no scheduler is running. */
export class ScheduleWatch {
  readonly #engine: Engine
  #timer: NodeJS.Timeout | undefined
  #running: Promise<unknown> = Promise.resolve()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#running = this.sweep().catch((error) => this.#engine.report(error))
    }, SWEEP_MS)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  /** Resolves with the number of overdue schedules. */
  async sweep(): Promise<number> {
    const { store, knownTenants } = this.#engine
    const now = await store.now()
    let overdue = 0
    for (const { tenant } of knownTenants) {
      for (const entry of await store.entries.due(tenant, KIND, now, PER_SWEEP)) {
        // An entry that fails stays due and does not block the others.
        await this.#notify(entry).catch((error) => this.#engine.report(error))
        overdue++
      }
    }
    return overdue
  }

  async #notify(entry: Entry): Promise<void> {
    const { tenant, name } = entry
    const { next_run_at, failure } = watchedIn(entry)
    try {
      if (next_run_at !== null) await this.#report(tenant, name, next_run_at, failure)
    } catch (error) {
      if (!(error instanceof Fault && error.code === 'SCHEDULE_NOT_FOUND')) throw error
      return forgetSchedule(this.#engine, tenant, name)
    }
    // The owner is notified once; the next run makes the entry due again.
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
