import type { PrincipalKey } from '../core/principal.ts'
import { type Database, openWriter, rollBack } from '../store/sqlite/database.ts'
import type { MisfirePolicy, Timing } from './plan/plan.ts'
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

/** The part of a schedule that moves on. */
export type Settlement = Pick<
  Schedule,
  'settled_until' | 'next_run_at' | 'due_at' | 'last_run_at' | 'last_status'
>

/** The schedules of one scheduler, in a file of its own. Several processes may share the file. */
export interface ScheduleStore {
  /** Keeps a schedule, unless there is one of that id. */
  add(schedule: Schedule): void
  get(scheduleId: string): Schedule | undefined
  /** Those of an owner, in the order of their ids, from above `after`. */
  list(owner: PrincipalKey, after: string, limit: number): Schedule[]
  count(owner: PrincipalKey): number
  /** The ids of the enabled ones whose time has come, the longest overdue first. */
  due(now: number): string[]
  /** When the next one after `now` is due; null if there is none. */
  nextDueAt(now: number): number | null
  /** A run was dealt with. What another process has settled meanwhile stays. */
  settle(scheduleId: string, settlement: Settlement): void
  /** A try failed; the run stays due. */
  note(scheduleId: string, lastStatus: string): void
  noteStale(scheduleId: string, runAt: number): void
  pause(scheduleId: string): void
  /** Goes on from `settled_until`, if it was paused. */
  resume(scheduleId: string, from: Pick<Schedule, 'settled_until' | 'next_run_at' | 'due_at'>): void
  remove(scheduleId: string): void
  close(): void
}

export async function openScheduleStore(path: string): Promise<ScheduleStore> {
  const database = await openWriter(path)
  try {
    migrate(database)
    return prepare(database)
  } catch (error) {
    database.close()
    throw error
  }
}

/** Two processes that open a new file at once take turns. */
function migrate(database: Database): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    const { user_version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
    if (user_version > VERSION) {
      throw new Error(
        `its schema is number ${user_version}, and this version of AsyncGate knows only ${VERSION}`,
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
  readonly misfire_policy: MisfirePolicy
  readonly task_template: string
}

const COLUMNS = [
  'schedule_id',
  'name',
  'owner',
  'principal_ai',
  'receipt_id',
  'created_at',
  'mode',
  'interval_seconds',
  'cron_expr',
  'timezone',
  'task_template',
  'misfire_policy',
  'jitter_seconds',
  'status',
  'settled_until',
  'next_run_at',
  'due_at',
  'last_run_at',
  'last_status',
  'stale_run_at',
] as const satisfies readonly (keyof Row)[]

const ENABLED = "status = 'enabled' AND due_at IS NOT NULL"

function prepare(database: Database): ScheduleStore {
  const insert = database.prepare(
    `INSERT INTO schedules (${COLUMNS}) VALUES (${COLUMNS.map(() => '?')}) ON CONFLICT DO NOTHING`,
  )
  const get = database.prepare(`SELECT ${COLUMNS} FROM schedules WHERE schedule_id = ?`)
  const list = database.prepare(
    `SELECT ${COLUMNS} FROM schedules WHERE owner = ? AND schedule_id > ? ORDER BY schedule_id LIMIT ?`,
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
  /** What an agent was told lasts. That a run was fired may be forgotten with the power: it is fired again, in vain. */
  const lasting = (write: () => unknown) => {
    database.exec('PRAGMA synchronous = FULL')
    try {
      write()
    } finally {
      database.exec('PRAGMA synchronous = NORMAL')
    }
  }
  database.exec('PRAGMA synchronous = NORMAL')

  return {
    add(schedule) {
      const row = rowOf(schedule)
      lasting(() => insert.run(...COLUMNS.map((column) => row[column])))
    },
    get(scheduleId) {
      const row = get.get(scheduleId) as Row | undefined
      return row && scheduleOf(row)
    },
    list: (owner, after, limit) => (list.all(owner, after, limit) as Row[]).map(scheduleOf),
    count: (owner) => (count.get(owner) as { readonly n: number }).n,
    due: (now) => (due.all(now) as { readonly schedule_id: string }[]).map((row) => row.schedule_id),
    nextDueAt: (now) => (nextDue.get(now) as { readonly at: number | null }).at,
    settle(scheduleId, { settled_until, next_run_at, due_at, last_run_at, last_status }) {
      settle.run(settled_until, next_run_at, due_at, last_run_at, last_status, scheduleId, settled_until)
    },
    note: (scheduleId, lastStatus) => void note.run(lastStatus, scheduleId),
    noteStale: (scheduleId, runAt) => void noteStale.run(runAt, scheduleId),
    pause: (scheduleId) => lasting(() => pause.run(scheduleId)),
    resume: (scheduleId, { settled_until, next_run_at, due_at }) =>
      lasting(() => resume.run(settled_until, next_run_at, due_at, scheduleId)),
    remove: (scheduleId) => lasting(() => remove.run(scheduleId)),
    close: () => void database.close(),
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
