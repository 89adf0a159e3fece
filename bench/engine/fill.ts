import pg from 'pg'
import { OPEN_COLUMNS } from '../../dist/store/rows.js'
import { openDatabase } from '../../dist/store/sqlite/database.js'
import { RECEIPT_COLUMNS, SPEC_COLUMNS } from '../../dist/store/sqlite/lookup.js'
import type { Database } from './databases.ts'

/** Runs statements against a database that no gate has open. */
async function execute(database: Database, statements: readonly string[]): Promise<void> {
  if (database.name === 'sqlite') {
    const sqlite = await openDatabase(database.address)
    sqlite.exec('PRAGMA synchronous = OFF')
    for (const sql of statements) sqlite.exec(sql)
    sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    sqlite.close()
    return
  }
  const client = new pg.Client({ connectionString: database.address })
  await client.connect()
  for (const sql of statements) await client.query(sql)
  await client.end()
}

/** Numbers 1 to `count` as a table `n(i)`. */
function numbers(database: Database, count: number): string {
  return database.name === 'sqlite'
    ? `(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) SELECT i FROM n) n`
    : `generate_series(1, ${count}) n(i)`
}

function newTaskId(database: Database): string {
  return database.name === 'sqlite'
    ? `printf('018f0000-0000-7000-8000-%012x', t.seq + n.i)`
    : `('018f0000-0000-7000-8000-' || lpad(to_hex(t.seq + n.i), 12, '0'))::uuid`
}

/** Copies an existing task `count` times, each copy with its own id, seq and rank. */
export async function multiplyTask(database: Database, task_id: string, count: number): Promise<void> {
  const change = (column: string) => {
    if (column === 'task_id') return newTaskId(database)
    if (column === 'seq') return 't.seq + n.i'
    return column === 'rank' ? 't.rank + 1000 * n.i' : `t.${column}`
  }
  const copy = (table: string, columns: readonly string[]) =>
    `INSERT INTO ${table} (${columns}) SELECT ${columns.map(change)}
     FROM ${table} t CROSS JOIN ${numbers(database, count)} WHERE t.task_id = '${task_id}' ORDER BY n.i`
  await execute(database, [
    copy('task_specs', SPEC_COLUMNS),
    copy('tasks', OPEN_COLUMNS),
    `UPDATE tenants SET seq = seq + ${count}, open_tasks = open_tasks + ${count}`,
  ])
}

/** Adds closed obligations: pairs of an assignment and a completion that names it. */
export async function addClosedObligations(database: Database, count: number): Promise<void> {
  const copy = (type: string, offset: number) => {
    const value = (column: string) => {
      if (column === 'seq') return `t.seq + 1000 + 2 * n.i + ${offset}`
      return column === 'receipt_type' ? `'${type}'` : `t.${column}`
    }
    return `INSERT INTO receipts (${RECEIPT_COLUMNS}) SELECT ${RECEIPT_COLUMNS.map(value)}
      FROM (SELECT * FROM receipts ORDER BY seq LIMIT 1) t CROSS JOIN ${numbers(database, count)} ORDER BY n.i`
  }
  await execute(database, [
    copy('task.assigned', 0),
    copy('task.completed', 1),
    `INSERT INTO receipt_parents (tenant, child, parent)
     SELECT t.tenant, t.seq + 1000 + 2 * n.i + 1, t.seq + 1000 + 2 * n.i
     FROM (SELECT * FROM receipts ORDER BY seq LIMIT 1) t CROSS JOIN ${numbers(database, count)} ORDER BY n.i`,
    `UPDATE tenants SET seq = seq + ${2 * count + 2000}`,
  ])
}
