import { asksForAttention } from '../../dist/core/inbox.js'
import { CHANGING_COLUMNS, DONE_COLUMNS, doneRow, OPEN_COLUMNS, openRow } from '../../dist/store/rows.js'
import { openWriter, type Value } from '../../dist/store/sqlite/database.js'
import { RECEIPT_COLUMNS, SPEC_COLUMNS } from '../../dist/store/sqlite/lookup.js'
import { floorBatches } from './floor.ts'
import type { Sample } from './sample.ts'

/**
 * Writes the rows of the engine directly: prepared statements, one transaction per batch, without load rounds,
 * decisions or callers.
 */
export async function floorSqlite(
  path: string,
  sample: Sample,
  lifecycles: number,
  seconds: number,
): Promise<number> {
  const database = await openWriter(path)
  const insert = (table: string, columns: readonly string[]) =>
    database.prepare(`INSERT INTO ${table} (${columns}) VALUES (${columns.map(() => '?')})`)
  const insertTask = insert('tasks', OPEN_COLUMNS)
  const insertSpec = insert('task_specs', SPEC_COLUMNS)
  const insertReceipt = insert('receipts', RECEIPT_COLUMNS)
  const insertParent = insert('receipt_parents', ['tenant', 'child', 'parent'])
  const insertItem = insert('inbox', ['tenant', 'principal', 'seq', 'created_at'])
  const insertObligation = insert('open_obligations', ['tenant', 'principal', 'seq', 'task_id'])
  const deleteObligation = database.prepare(
    'DELETE FROM open_obligations WHERE tenant = ? AND principal = ? AND seq = ?',
  )
  const claimTask = database.prepare(
    `UPDATE tasks SET ${CHANGING_COLUMNS.map((column) => `${column} = ?`)} WHERE task_id = ? AND tenant = ?`,
  )
  const deleteTask = database.prepare('DELETE FROM tasks WHERE task_id = ? AND tenant = ?')
  const insertDone = insert('tasks_done', DONE_COLUMNS)
  const updateTenant = database.prepare('UPDATE tenants SET seq = ?, committed_at = ? WHERE tenant = 1')
  database.exec(`INSERT INTO tenants (tenant, name, salt) VALUES (1, 'default', 's')`)

  const task = values(openRow(sample.created.task), OPEN_COLUMNS)
  const spec = values(sample.created.spec, SPEC_COLUMNS)
  const held = values(openRow(sample.claimed.task), CHANGING_COLUMNS)
  const done = values(doneRow(sample.completed.task), DONE_COLUMNS)
  const { principal } = sample.created.obligation

  let count = 0
  const start = performance.now()
  for (const batch of floorBatches(sample, lifecycles)) {
    if (performance.now() - start > seconds * 1000) break
    database.exec('BEGIN IMMEDIATE')
    for (const { task_id, seq } of batch.created) {
      task[OPEN_COLUMNS.indexOf('task_id')] = task_id
      task[OPEN_COLUMNS.indexOf('seq')] = seq
      task[OPEN_COLUMNS.indexOf('rank')] = seq
      insertTask.run(...task)
      spec[SPEC_COLUMNS.indexOf('task_id')] = task_id
      spec[SPEC_COLUMNS.indexOf('seq')] = seq
      insertSpec.run(...spec)
      insertObligation.run(1, principal, seq, task_id)
    }
    for (const { task_id } of batch.claimed) claimTask.run(...held, task_id, 1)
    for (const { task_id, seq } of batch.completed) {
      deleteTask.run(task_id, 1)
      done[DONE_COLUMNS.indexOf('task_id')] = task_id
      done[DONE_COLUMNS.indexOf('seq')] = seq
      insertDone.run(...done)
      deleteObligation.run(1, principal, seq)
    }
    for (const { receipts } of [...batch.created, ...batch.claimed, ...batch.completed]) {
      for (const r of receipts) {
        insertReceipt.run(
          1,
          r.seq,
          r.receipt_type,
          r.created_at,
          r.from,
          r.to,
          r.task_id,
          r.lease_id,
          r.schedule_id,
          r.body,
          r.hash,
          r.instance,
        )
        for (const parent of r.parents) insertParent.run(1, r.seq, parent)
        if (asksForAttention(r.receipt_type)) insertItem.run(1, r.to, r.seq, r.created_at)
      }
    }
    updateTenant.run(batch.lastSeq, Date.now())
    database.exec('COMMIT')
    count += batch.completed.length
  }
  const rate = count / ((performance.now() - start) / 1000)
  database.close()
  return rate
}

function values<Row extends object>(row: Row, columns: readonly (keyof Row)[]): Value[] {
  return columns.map((column) => {
    const value: unknown = row[column]
    if (typeof value === 'boolean') return Number(value)
    return typeof value === 'string' || typeof value === 'number' ? value : null
  })
}
