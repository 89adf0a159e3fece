import { HISTORY_COLUMNS, type HistoryRows, historyPeriod, historyValues, stepNumber } from '../history.ts'
import { readTenant, writeTenant } from './borrow.ts'
import { list, parameters, rowsOf, type Shape } from './columns.ts'
import { type Pooled, run } from './database.ts'

const COUNTS: Shape = Object.fromEntries(HISTORY_COLUMNS.map((name) => [name, 'bigint']))
const STORED: Shape = { tenant: 'int', step: 'int', at: 'bigint', ...COUNTS }
const SUMS = HISTORY_COLUMNS.map((name) => `${name} = h.${name} + excluded.${name}`)

export const historyQueries = {
  add_history: `
    INSERT INTO task_history AS h (${list(STORED)}) SELECT * FROM ${rowsOf(STORED)}
    ON CONFLICT (tenant, step, at) DO UPDATE SET ${SUMS.join(', ')}`,
  history: `
    SELECT at, ${list(COUNTS)} FROM task_history
    WHERE tenant = $1 AND step = $2 AND at >= $3 AND at < $4 ORDER BY at`,
  remove_history: `
    DELETE FROM task_history WHERE tenant = $1 AND step = $2 AND at IN (
      SELECT at FROM task_history WHERE tenant = $1 AND step = $2 AND at < $3 ORDER BY at LIMIT $4) RETURNING at`,
} as const

function statement(name: keyof typeof historyQueries) {
  return { name, text: historyQueries[name] }
}

export function historyOn(pooled: Pooled): HistoryRows {
  return {
    async add(tenant, periods) {
      // Servers add to the same rows. In one order, so that they wait for each other instead of blocking each other.
      const ordered = [...periods].sort((a, b) => stepNumber(a.step) - stepNumber(b.step) || a.at - b.at)
      const rows = ordered.map((period) => {
        const values = historyValues(period)
        const counts = Object.fromEntries(HISTORY_COLUMNS.map((name, i) => [name, values[i] ?? 0]))
        return { tenant, step: stepNumber(period.step), at: period.at, ...counts }
      })
      await writeTenant(pooled, tenant, (client) =>
        run(client, statement('add_history'), parameters(STORED, rows)),
      )
    },
    async read(tenant, step, from, before) {
      const rows = await readTenant(pooled, tenant, (client) =>
        run<Record<string, number>>(client, statement('history'), [tenant, stepNumber(step), from, before]),
      )
      return rows.map((row) => historyPeriod(step, row))
    },
    async removeBefore(tenant, step, before, limit) {
      const removed = await writeTenant(pooled, tenant, (client) =>
        run(client, statement('remove_history'), [tenant, stepNumber(step), before, limit]),
      )
      return removed.length
    },
  }
}
