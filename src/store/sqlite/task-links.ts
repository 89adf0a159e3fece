import type { TaskLink, Unsettled } from '../../core/flow.ts'
import { type Changes, type Loaded, MAX_LINKS, type TaskRef } from '../store.ts'
import type { Database } from './database.ts'

export const LINKS = `SELECT tenant, seq, task_id, n, effect FROM task_links
  WHERE tenant = ? AND seq = ? ORDER BY task_id, n LIMIT ?`
export const UNSETTLED = 'SELECT tenant, task_id FROM unsettled_tasks WHERE tenant = ? ORDER BY seq LIMIT ?'

export function prepareLinkLookup(
  database: Database,
): (tenant: number, seq: number) => Loaded['links'][number] {
  const select = database.prepare(LINKS)
  return (tenant, seq) => {
    const rows = select.all(tenant, seq, MAX_LINKS + 1) as TaskLink[]
    return { tenant, seq, links: rows.slice(0, MAX_LINKS), more: rows.length > MAX_LINKS }
  }
}

/** Finds ended tasks whose links have not all been followed. */
export function prepareUnsettledLookup(database: Database): (tenant: number, limit: number) => TaskRef[] {
  const select = database.prepare(UNSETTLED)
  return (tenant, limit) => select.all(tenant, limit) as TaskRef[]
}

export function prepareLinkWrites(database: Database): (changes: Changes) => void {
  const link = database.prepare(
    'INSERT INTO task_links (tenant, seq, task_id, n, effect) VALUES (?, ?, ?, ?, ?)',
  )
  const unlink = database.prepare(
    'DELETE FROM task_links WHERE tenant = ? AND seq = ? AND task_id = ? AND n = ?',
  )
  const addChild = database.prepare(
    'INSERT INTO child_tasks (tenant, parent, seq, task_id) VALUES (?, ?, ?, ?)',
  )
  const count = database.prepare(
    `INSERT INTO child_counts (tenant, parent, total, succeeded, failed, canceled) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET total = total + excluded.total, succeeded = succeeded + excluded.succeeded,
       failed = failed + excluded.failed, canceled = canceled + excluded.canceled`,
  )
  const unsettle = database.prepare('INSERT INTO unsettled_tasks (tenant, seq, task_id) VALUES (?, ?, ?)')
  const settle = database.prepare('DELETE FROM unsettled_tasks WHERE tenant = ? AND seq = ?')
  return (changes) => {
    for (const { tenant, seq, task_id, n, effect } of changes.linked)
      link.run(tenant, seq, task_id, n, effect)
    for (const { tenant, seq, task_id, n } of changes.followed) unlink.run(tenant, seq, task_id, n)
    for (const { tenant, parent, seq, task_id } of changes.child_tasks)
      addChild.run(tenant, parent, seq, task_id)
    for (const row of changes.child_counts) {
      const { tenant, parent, total, succeeded, failed, canceled } = row
      count.run(tenant, parent, total, succeeded, failed, canceled)
    }
    for (const { tenant, seq, task_id } of changes.unsettled) unsettle.run(tenant, seq, task_id)
    for (const { tenant, seq } of changes.settled satisfies readonly Unsettled[]) settle.run(tenant, seq)
  }
}
