import { HISTORY_COLUMNS, type HistoryRows, historyPeriod, historyValues, stepNumber } from '../history.ts'
import { type Change, type Database, inTransaction } from './database.ts'
import { attemptAvailable } from './failure.ts'

const COUNTS = HISTORY_COLUMNS.join(', ')

export const HISTORY = `SELECT at, ${COUNTS} FROM task_history
  WHERE tenant = ? AND step = ? AND at >= ? AND at < ? ORDER BY at`

export const HISTORY_REMOVAL = `DELETE FROM task_history WHERE tenant = ? AND step = ? AND at IN (
  SELECT at FROM task_history WHERE tenant = ? AND step = ? AND at < ? ORDER BY at LIMIT ?)`

export function prepareHistory(reader: Database, writer: Database, change: Change): HistoryRows {
  const marks = Array.from({ length: HISTORY_COLUMNS.length + 3 }, () => '?').join(', ')
  const sums = HISTORY_COLUMNS.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')
  const add = writer.prepare(
    `INSERT INTO task_history (tenant, step, at, ${COUNTS}) VALUES (${marks})
    ON CONFLICT (tenant, step, at) DO UPDATE SET ${sums}`,
  )
  const read = reader.prepare(HISTORY)
  const remove = writer.prepare(HISTORY_REMOVAL)
  return {
    add: async (tenant, periods) =>
      change(() =>
        inTransaction(writer, () => {
          for (const period of periods) {
            add.run(tenant, stepNumber(period.step), period.at, ...historyValues(period))
          }
        }),
      ),
    read: async (tenant, step, from, before) =>
      attemptAvailable(() => {
        const rows = read.all(tenant, stepNumber(step), from, before) as Record<string, number>[]
        return rows.map((row) => historyPeriod(step, row))
      }),
    removeBefore: async (tenant, step, before, limit) => {
      const number = stepNumber(step)
      return change(() => Number(remove.run(tenant, number, tenant, number, before, limit).changes))
    },
  }
}
