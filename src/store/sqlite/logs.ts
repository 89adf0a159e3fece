import type { LogLine, Logs } from '../entries.ts'
import type { Change, Database } from './database.ts'
import { attemptAvailable, isTaken } from './failure.ts'

const COLUMNS = 'tenant, task_id, n, at, lease_id, level, text, context, total, is_last'

type Row = Omit<LogLine, 'is_last'> & { readonly is_last: number }

export function prepareLogs(reader: Database, writer: Database, change: Change): Logs {
  const last = reader.prepare(
    `SELECT ${COLUMNS} FROM task_logs WHERE task_id = ? AND tenant = ? ORDER BY n DESC LIMIT 1`,
  )
  const list = reader.prepare(
    `SELECT ${COLUMNS} FROM task_logs WHERE task_id = ? AND tenant = ? AND n > ? ORDER BY n LIMIT ?`,
  )
  // One statement, so that all lines are added or none.
  const members = COLUMNS.split(', ').map((name) => `value ->> '${name}'`)
  const insert = writer.prepare(`INSERT INTO task_logs (${COLUMNS}) SELECT ${members} FROM json_each(?)`)
  return {
    last: async (tenant, taskId) => {
      const row = attemptAvailable(() => last.get(taskId, tenant) as Row | undefined)
      return row && lineOf(row)
    },
    list: async (tenant, taskId, after, limit) =>
      attemptAvailable(() => list.all(taskId, tenant, after, limit) as Row[]).map(lineOf),
    add: async (lines) =>
      change(() => {
        try {
          insert.run(JSON.stringify(lines.map((line) => ({ ...line, is_last: Number(line.is_last) }))))
          return true
        } catch (error) {
          if (isTaken(error)) return false
          throw error
        }
      }),
  }
}

function lineOf(row: Row): LogLine {
  return { ...row, is_last: row.is_last === 1 }
}
