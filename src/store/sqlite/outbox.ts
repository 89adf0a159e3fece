import type { OutboxCounts, OutboxRow, OutboxRows } from '../outbox.ts'
import { type Change, type Database, inTransaction } from './database.ts'
import { attemptAvailable } from './failure.ts'

const COLUMNS = 'seq, task_id, rendered, state, tries, next_try_at, reason'

export const OUTBOX_DUE = `SELECT ${COLUMNS} FROM receipt_outbox o INDEXED BY receipt_outbox_states
  WHERE tenant = ? AND state = 'pending' AND next_try_at <= ? AND NOT EXISTS (
    SELECT 1 FROM receipt_outbox e INDEXED BY receipt_outbox_tasks
    WHERE e.tenant = o.tenant AND e.task_id = o.task_id AND e.seq < o.seq)
  ORDER BY seq LIMIT ?`

export const OUTBOX_SET_ASIDE = `SELECT ${COLUMNS} FROM receipt_outbox INDEXED BY receipt_outbox_states
  WHERE tenant = ? AND state = 'set_aside' AND seq > ? ORDER BY seq LIMIT ?`

const COUNT = `SELECT count(*) AS count FROM (
  SELECT 1 FROM receipt_outbox INDEXED BY receipt_outbox_states WHERE tenant = ? AND state = ? LIMIT ?)`

export function prepareOutbox(reader: Database, writer: Database, change: Change): OutboxRows {
  const cursor = reader.prepare('SELECT seq FROM receipt_outbox_cursors WHERE tenant = ?')
  const createCursor = writer.prepare(
    'INSERT INTO receipt_outbox_cursors (tenant, seq) VALUES (?, 0) ON CONFLICT DO NOTHING',
  )
  const moveCursor = writer.prepare('UPDATE receipt_outbox_cursors SET seq = ? WHERE tenant = ? AND seq = ?')
  const insert = writer.prepare(
    `INSERT INTO receipt_outbox (tenant, seq, task_id, state, tries, next_try_at) VALUES (?, ?, ?, 'pending', 0, 0)`,
  )
  const due = reader.prepare(OUTBOX_DUE)
  const setAside = reader.prepare(OUTBOX_SET_ASIDE)
  const count = reader.prepare(COUNT)
  const ofTask = reader.prepare(
    `SELECT ${COLUMNS} FROM receipt_outbox WHERE tenant = ? AND task_id = ? ORDER BY seq`,
  )
  const render = writer.prepare(
    'UPDATE receipt_outbox SET rendered = ? WHERE tenant = ? AND seq = ? AND rendered IS ?',
  )
  const update = writer.prepare(
    `UPDATE receipt_outbox SET state = ?, tries = ?, next_try_at = ?, reason = ? WHERE tenant = ? AND seq = ?`,
  )
  const remove = writer.prepare('DELETE FROM receipt_outbox WHERE tenant = ? AND seq = ?')
  const requeue = writer.prepare(
    `UPDATE receipt_outbox SET state = 'pending', tries = 0, next_try_at = 0, reason = NULL,
      rendered = CASE WHEN ? = 1 THEN NULL ELSE rendered END
    WHERE tenant = ? AND state = 'set_aside'`,
  )
  const countOf = (tenant: number, state: OutboxRow['state'], limit: number) =>
    (count.get(tenant, state, limit) as { readonly count: number }).count

  const advance = (tenant: number, from: number, to: number, added: Parameters<OutboxRows['advance']>[3]) => {
    createCursor.run(tenant)
    const isMoved = Number(moveCursor.run(to, tenant, from).changes) > 0
    if (isMoved) for (const { seq, task_id } of added) insert.run(tenant, seq, task_id)
    return isMoved
  }
  return {
    cursor: async (tenant) =>
      attemptAvailable(() => (cursor.get(tenant) as { readonly seq: number } | undefined)?.seq ?? 0),
    advance: async (...values) => change(() => inTransaction(writer, () => advance(...values))),
    due: async (...values) => attemptAvailable(() => due.all(...values) as OutboxRow[]),
    setAside: async (...values) => attemptAvailable(() => setAside.all(...values) as OutboxRow[]),
    ofTask: async (...key) => attemptAvailable(() => ofTask.all(...key) as OutboxRow[]),
    render: async (tenant, seq, rendered, expected) =>
      change(() => Number(render.run(rendered, tenant, seq, expected).changes) > 0),
    update: async (tenant, seq, { state, tries, next_try_at, reason }) => {
      change(() => update.run(state, tries, next_try_at, reason, tenant, seq))
    },
    remove: async (tenant, seq) => {
      change(() => remove.run(tenant, seq))
    },
    requeue: async (tenant, dropsTexts) =>
      change(() => Number(requeue.run(Number(dropsTexts), tenant).changes)),
    counts: async (tenant, limit): Promise<OutboxCounts> =>
      attemptAvailable(() => ({
        pending: countOf(tenant, 'pending', limit),
        set_aside: countOf(tenant, 'set_aside', limit),
      })),
  }
}
