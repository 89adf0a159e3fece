import type { DoneTask } from '../../core/task.ts'
import type { TerminalStatus } from '../../core/transitions.ts'
import type { EndedTask, Retention, ScheduledTask } from '../retention.ts'
import { archiveList, archiveNamed, archiveTotals, archiveWith, replaceArchive } from './archive-rows.ts'
import { archive } from './archiving.ts'
import { collect, strays } from './collecting.ts'
import { Outdated, one, type Runner, type Work } from './steps.ts'
import { DONE_CODES, type DoneRow, decodeDone } from './task-state.ts'

type Row = DoneRow & Pick<EndedTask, 'expires_at' | 'cleared_at'>

const COLUMNS = 'tenant, seq, status, state, result, details, expires_at, cleared_at'
const DUE = 'FROM tasks_done WHERE tenant = ? AND expires_at <= ? AND expires_at IS NOT NULL'

export const RETENTION_STATEMENTS = {
  due: `SELECT ${COLUMNS} ${DUE} ORDER BY expires_at LIMIT ?`,
  due_counts: `SELECT cleared_at IS NULL AS whole, count(*) AS count
    FROM (SELECT cleared_at ${DUE} LIMIT ?) AS d GROUP BY cleared_at IS NULL`,
  ended: `SELECT ${COLUMNS} FROM tasks_done WHERE tenant = ? AND status = ? AND seq > ? ORDER BY seq LIMIT ?`,
  schedule: 'UPDATE tasks_done SET expires_at = ? WHERE tenant = ? AND status = ? AND seq = ?',
  cleared: 'UPDATE tasks_done SET cleared_at = ?, expires_at = ? WHERE tenant = ? AND status = ? AND seq = ?',
} as const

export function retentionOn({ read, change }: Runner): Retention {
  return {
    due: (tenant, now, limit) => read(tenant, () => due(tenant, now, limit)),
    dueCounts: (tenant, now, limit) => read(tenant, () => dueCounts(tenant, now, limit)),
    ended: (tenant, status, after, limit) => read(tenant, () => ended(tenant, status, after, limit)),
    schedule: (tenant, times) => change(tenant, schedule(tenant, times)),
    cleared: async ({ task }, now, next) => {
      await change(task.tenant, one(RETENTION_STATEMENTS.cleared, now, next, ...keyOf(task)))
    },
    collect: (tenant, tasks) => read(tenant, () => collect(tenant, tasks)),
    strays: (tenant, after, before, limit) => read(tenant, () => strays(tenant, after, before, limit)),
    archive: (tenant, collected, file, now) =>
      change(tenant, archive(tenant, collected, file, now)).catch((error: unknown) => {
        if (isOutdated(error)) return false
        throw error
      }),
    archiveWith: (tenant, seq) => read(tenant, () => archiveWith(tenant, seq)),
    archives: (tenant, from, order, limit) => read(tenant, () => archiveList(order, tenant, from, limit)),
    archiveFiles: (tenant, after, limit) => read(tenant, () => archiveList('files', tenant, after, limit)),
    archiveTotals: (tenant) => read(tenant, () => archiveTotals(tenant)),
    isArchive: async (tenant, file) => (await read(tenant, () => archiveNamed(tenant, file))) !== undefined,
    replaceArchive: (tenant, file, by) => change(tenant, replaceArchive(tenant, file, by)),
  }
}

function* due(tenant: number, now: number, limit: number): Work<EndedTask[]> {
  return (yield* one<Row>(RETENTION_STATEMENTS.due, tenant, now, limit)).map(endedTask)
}

function* dueCounts(tenant: number, now: number, limit: number): Work<{ clear: number; archive: number }> {
  type Count = { readonly whole: boolean | number; readonly count: number | string }
  const rows = yield* one<Count>(RETENTION_STATEMENTS.due_counts, tenant, now, limit)
  const of = (isWhole: boolean) => Number(rows.find(({ whole }) => Boolean(whole) === isWhole)?.count ?? 0)
  return { clear: of(true), archive: of(false) }
}

function* ended(tenant: number, status: TerminalStatus, after: number, limit: number): Work<EndedTask[]> {
  const values = [tenant, DONE_CODES[status], after, limit]
  return (yield* one<Row>(RETENTION_STATEMENTS.ended, ...values)).map(endedTask)
}

function* schedule(tenant: number, times: readonly ScheduledTask[]): Work<void> {
  yield times.map(({ task, at }) => ({
    sql: RETENTION_STATEMENTS.schedule,
    values: [at, tenant, DONE_CODES[task.status], task.seq],
  }))
}

function keyOf({ tenant, status, seq }: DoneTask) {
  return [tenant, DONE_CODES[status], seq] as const
}

function endedTask(row: Row): EndedTask {
  return { ...decodeDone(row), state: row.state, expires_at: row.expires_at, cleared_at: row.cleared_at }
}

/** The stores report every error as a StoreError with its cause. */
function isOutdated(error: unknown): boolean {
  return error instanceof Outdated || (error instanceof Error && error.cause instanceof Outdated)
}
