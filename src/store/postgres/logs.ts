import pg from 'pg'
import { isUuid } from '../../core/ids.ts'
import type { LogLine, Logs } from '../entries.ts'
import { readTenant, writeTenant } from './borrow.ts'
import { list, parameters, rowsOf } from './columns.ts'
import { type Pooled, run } from './database.ts'
import { LOG_LINE } from './shapes.ts'

const UNIQUE_VIOLATION = '23505'

export const logQueries = {
  last_log: `
    SELECT ${list(LOG_LINE)} FROM task_logs WHERE task_id = $2 AND tenant = $1 ORDER BY n DESC LIMIT 1`,
  logs: `
    SELECT ${list(LOG_LINE)} FROM task_logs WHERE task_id = $2 AND tenant = $1 AND n > $3 ORDER BY n LIMIT $4`,
  insert_logs: `
    INSERT INTO task_logs (${list(LOG_LINE)}) SELECT * FROM ${rowsOf(LOG_LINE)}`,
} as const

export function logsOn(pooled: Pooled): Logs {
  const read = (name: 'last_log' | 'logs', tenant: number, ...values: (string | number)[]) =>
    readTenant(pooled, tenant, (client) =>
      run<LogLine>(client, { name, text: logQueries[name] }, [tenant, ...values]),
    )
  return {
    last: async (tenant, taskId) =>
      isUuid(taskId) ? (await read('last_log', tenant, taskId))[0] : undefined,
    list: async (tenant, taskId, after, limit) =>
      isUuid(taskId) ? read('logs', tenant, taskId, after, limit) : [],
    async add(lines) {
      const [first] = lines
      if (first === undefined) return true
      const statement = { name: 'insert_logs', text: logQueries.insert_logs }
      return writeTenant(pooled, first.tenant, (client) =>
        run(client, statement, parameters(LOG_LINE, lines)).then(() => true, unlessTaken),
      )
    },
  }
}

function unlessTaken(error: unknown): false {
  if (error instanceof pg.DatabaseError && error.code === UNIQUE_VIOLATION) return false
  throw error
}
