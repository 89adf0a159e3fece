import type { PrincipalKey } from '../core/principal.ts'
import { type Database, openWriter, rollBack } from '../store/sqlite/database.ts'
import type { Timing } from './plan/timetable.ts'
import type { Schedule } from './schedule.ts'

const VERSION = 1

const SCHEMA = `
CREATE TABLE schedules (
  schedule_id      TEXT    PRIMARY KEY,
  name             TEXT    NOT NULL,
  owner            TEXT    NOT NULL,
  principal_ai     TEXT    NOT NULL,
  receipt_id       TEXT    NOT NULL,
  created_at       INTEGER NOT NULL,
  mode             TEXT    NOT NULL CHECK (mode IN ('interval', 'cron')),
  interval_seconds INTEGER,
  cron_expr        TEXT,
  timezone         TEXT    NOT NULL,
  task_template    TEXT    NOT NULL,
  misfire_policy   TEXT    NOT NULL CHECK (misfire_policy IN ('skip', 'catch_up_one', 'catch_up_all')),
  jitter_seconds   INTEGER NOT NULL,
  status           TEXT    NOT NULL CHECK (status IN ('enabled', 'paused')),
  settled_until    INTEGER NOT NULL,
  next_run_at      INTEGER,
  due_at           INTEGER,
  last_run_at      INTEGER,
  last_status      TEXT,
  stale_run_at     INTEGER,
  CHECK ((mode = 'interval') = (interval_seconds IS NOT NULL)),
  CHECK ((mode = 'cron') = (cron_expr IS NOT NULL)),
  CHECK ((next_run_at IS NULL) = (due_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX schedules_due ON schedules (due_at) WHERE status = 'enabled' AND due_at IS NOT NULL;
CREATE INDEX schedules_owner ON schedules (owner, schedule_id);
`

export type Settlement = Pick<
  Schedule,
  'settled_until' | 'next_run_at' | 'due_at' | 'last_run_at' | 'last_status'
>

type Eventually<T> = T | Promise<T>
type NextRun = Pick<Schedule, 'settled_until' | 'next_run_at' | 'due_at'>

/** The schedules of a scheduler. Several processes may share them. */
export interface ScheduleStore {
  /** Stores a schedule, unless one with this id exists. */
  add(schedule: Schedule): Eventually<void>
  get(scheduleId: string): Eventually<Schedule | undefined>
  /** The schedules of an owner with an id above `after`, in the order of their ids. */
  list(owner: PrincipalKey, after: string, limit: number): Eventually<Schedule[]>
  count(owner: PrincipalKey): Eventually<number>
  /** The ids of due schedules, the longest overdue first. */
  due(now: number): Eventually<string[]>
  /** When the next schedule after `now` is due; null if there is none, or not within the next second. */
  nextDueAt(now: number): Eventually<number | null>
  /** Records a run. Later settlements of other processes are not overwritten. */
  settle(id: string, settlement: Settlement): Eventually<void>
  /** Records a failed attempt; the run stays due. */
  note(scheduleId: string, lastStatus: string): Eventually<void>
  noteStale(scheduleId: string, runAt: number): Eventually<void>
  pause(scheduleId: string): Eventually<void>
  /** Resumes a paused schedule from `settled_until`. */
  resume(id: string, from: NextRun): Eventually<void>
  remove(scheduleId: string): Eventually<void>
  close(): void
}

/** The schedules in an SQLite file. */
export type FileScheduleStore = ReturnType<typeof prepare>

export async function openScheduleStore(path: string): Promise<FileScheduleStore> {
  const database = await openWriter(path)
  try {
    migrate(database)
    return prepare(database)
  } catch (error) {
    database.close()
    throw error
  }
}

/** The write lock serializes processes that open a new file concurrently. */
function migrate(database: Database): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    const { user_version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
    if (user_version > VERSION) {
      throw new Error(
        `its schema version is ${user_version}, and this version of AsyncGate supports only ${VERSION}`,
      )
    }
    if (user_version === 0) {
      database.exec(SCHEMA)
      database.exec(`PRAGMA user_version = ${VERSION}`)
    }
    database.exec('COMMIT')
  } catch (error) {
    rollBack(database)
    throw error
  }
}

interface Row extends Omit<Schedule, 'timing' | 'task_template'> {
  readonly mode: Timing['mode']
  readonly interval_seconds: number | null
  readonly cron_expr: string | null
  readonly timezone: string
  readonly task_template: string
}

const ENABLED = "status = 'enabled' AND due_at IS NOT NULL"

function prepare(database: Database) {
  const find = database.prepare('SELECT * FROM schedules WHERE schedule_id = ?')
  const list = database.prepare(
    'SELECT * FROM schedules WHERE owner = ? AND schedule_id > ? ORDER BY schedule_id LIMIT ?',
  )
  const count = database.prepare('SELECT count(*) AS n FROM schedules WHERE owner = ?')
  const due = database.prepare(
    `SELECT schedule_id FROM schedules WHERE ${ENABLED} AND due_at <= ? ORDER BY due_at`,
  )
  const nextDue = database.prepare(`SELECT min(due_at) AS at FROM schedules WHERE ${ENABLED} AND due_at > ?`)
  const settle = database.prepare(
    `UPDATE schedules SET settled_until = ?, next_run_at = ?, due_at = ?, last_run_at = ?, last_status = ?
     WHERE schedule_id = ? AND settled_until < ?`,
  )
  const note = database.prepare('UPDATE schedules SET last_status = ? WHERE schedule_id = ?')
  const noteStale = database.prepare('UPDATE schedules SET stale_run_at = ? WHERE schedule_id = ?')
  const pause = database.prepare("UPDATE schedules SET status = 'paused' WHERE schedule_id = ?")
  const resume = database.prepare(
    `UPDATE schedules SET status = 'enabled', settled_until = ?, next_run_at = ?, due_at = ?
     WHERE schedule_id = ? AND status = 'paused'`,
  )
  const remove = database.prepare('DELETE FROM schedules WHERE schedule_id = ?')
  /** Changes that an agent requested are synced. A fired run that is lost in a power failure is fired again as a duplicate. */
  const synced = (write: () => unknown) => {
    database.exec('PRAGMA synchronous = FULL')
    try {
      write()
    } finally {
      database.exec('PRAGMA synchronous = NORMAL')
    }
  }
  database.exec('PRAGMA synchronous = NORMAL')

  return {
    add(schedule: Schedule): void {
      const row = Object.entries(rowOf(schedule))
      const columns = row.map(([column]) => column)
      const sql = `INSERT INTO schedules (${columns}) VALUES (${columns.map(() => '?')}) ON CONFLICT DO NOTHING`
      synced(() => database.prepare(sql).run(...row.map(([, value]) => value)))
    },
    get(scheduleId: string): Schedule | undefined {
      const row = find.get(scheduleId) as Row | undefined
      return row && scheduleOf(row)
    },
    list: (owner: PrincipalKey, after: string, limit: number): Schedule[] =>
      (list.all(owner, after, limit) as Row[]).map(scheduleOf),
    count: (owner: PrincipalKey): number => (count.get(owner) as { readonly n: number }).n,
    due: (now: number): string[] =>
      (due.all(now) as { readonly schedule_id: string }[]).map((row) => row.schedule_id),
    nextDueAt: (now: number): number | null => (nextDue.get(now) as { readonly at: number | null }).at,
    settle(id: string, { settled_until, next_run_at, due_at, last_run_at, last_status }: Settlement): void {
      settle.run(settled_until, next_run_at, due_at, last_run_at, last_status, id, settled_until)
    },
    note: (scheduleId: string, lastStatus: string): void => void note.run(lastStatus, scheduleId),
    noteStale: (scheduleId: string, runAt: number): void => void noteStale.run(runAt, scheduleId),
    pause: (scheduleId: string): void => synced(() => pause.run(scheduleId)),
    resume(id: string, from: Pick<Schedule, 'settled_until' | 'next_run_at' | 'due_at'>): void {
      synced(() => resume.run(from.settled_until, from.next_run_at, from.due_at, id))
    },
    remove: (scheduleId: string): void => synced(() => remove.run(scheduleId)),
    close: (): void => void database.close(),
  }
}

function rowOf(schedule: Schedule): Row {
  const { timing, task_template, ...rest } = schedule
  return {
    interval_seconds: null,
    cron_expr: null,
    ...rest,
    ...timing,
    task_template: JSON.stringify(task_template),
  }
}

function scheduleOf(row: Row): Schedule {
  const { mode, interval_seconds, cron_expr, timezone, task_template, ...rest } = row
  return {
    ...rest,
    timing: timingOf(row.schedule_id, mode === 'interval' ? interval_seconds : cron_expr, timezone),
    task_template: JSON.parse(task_template),
  }
}

function timingOf(scheduleId: string, value: number | string | null, timezone: string): Timing {
  if (value === null) throw new Error(`schedule ${scheduleId} has no timing`)
  return typeof value === 'number'
    ? { mode: 'interval', interval_seconds: value, timezone }
    : { mode: 'cron', cron_expr: value, timezone }
}
