import type pg from 'pg'
import type { OutboxCounts, OutboxRow, OutboxRows } from '../outbox.ts'
import { arrayOf } from './arrays.ts'
import { readTenant, writeTenant } from './borrow.ts'
import { type Pooled, run, type Value } from './database.ts'

const COLUMNS = 'seq, task_id, rendered, state, tries, next_try_at, reason'

export const outboxQueries = {
  outbox_cursor: `SELECT seq FROM receipt_outbox_cursors WHERE tenant = $1`,
  outbox_new_cursor: `
    INSERT INTO receipt_outbox_cursors (tenant, seq) VALUES ($1, 0) ON CONFLICT DO NOTHING`,
  outbox_advance: `
    WITH moved AS (
      UPDATE receipt_outbox_cursors SET seq = $3 WHERE tenant = $1 AND seq = $2 RETURNING tenant),
    added AS (
      INSERT INTO receipt_outbox (tenant, seq, task_id, state, tries, next_try_at)
      SELECT moved.tenant, x.seq, x.task_id, 'pending', 0, 0
      FROM moved, unnest($4::bigint[], $5::uuid[]) AS x (seq, task_id))
    SELECT tenant FROM moved`,
  outbox_due: `
    SELECT ${COLUMNS} FROM receipt_outbox o
    WHERE tenant = $1 AND state = 'pending' AND next_try_at <= $2 AND NOT EXISTS (
      SELECT FROM receipt_outbox e WHERE e.tenant = $1 AND e.task_id = o.task_id AND e.seq < o.seq)
    ORDER BY seq LIMIT $3`,
  outbox_set_aside: `
    SELECT ${COLUMNS} FROM receipt_outbox
    WHERE tenant = $1 AND state = 'set_aside' AND seq > $2 ORDER BY seq LIMIT $3`,
  outbox_of_task: `SELECT ${COLUMNS} FROM receipt_outbox WHERE tenant = $1 AND task_id = $2 ORDER BY seq`,
  outbox_render: `
    UPDATE receipt_outbox SET rendered = $3
    WHERE tenant = $1 AND seq = $2 AND rendered IS NOT DISTINCT FROM $4 RETURNING seq`,
  outbox_update: `
    UPDATE receipt_outbox SET state = $3, tries = $4, next_try_at = $5, reason = $6
    WHERE tenant = $1 AND seq = $2`,
  outbox_remove: `DELETE FROM receipt_outbox WHERE tenant = $1 AND seq = $2`,
  outbox_requeue: `
    UPDATE receipt_outbox SET state = 'pending', tries = 0, next_try_at = 0, reason = NULL,
      rendered = CASE WHEN $2::boolean THEN NULL ELSE rendered END
    WHERE tenant = $1 AND state = 'set_aside' RETURNING seq`,
  outbox_count: `
    SELECT count(*)::int AS count FROM (
      SELECT FROM receipt_outbox WHERE tenant = $1 AND state = $2 LIMIT $3) o`,
} as const

export function outboxOn(pooled: Pooled): OutboxRows {
  const sending =
    (using: typeof readTenant) =>
    <Row extends pg.QueryResultRow>(name: keyof typeof outboxQueries, tenant: number, ...values: Value[]) =>
      using(pooled, tenant, (client) =>
        run<Row>(client, { name, text: outboxQueries[name] }, [tenant, ...values]),
      )
  const ask = sending(readTenant)
  const change = sending(writeTenant)
  const countOf = async (tenant: number, state: OutboxRow['state'], limit: number) => {
    const [row] = await ask<{ count: number }>('outbox_count', tenant, state, limit)
    return row?.count ?? 0
  }
  return {
    async cursor(tenant) {
      const [row] = await ask<{ seq: number }>('outbox_cursor', tenant)
      return row?.seq ?? 0
    },
    async advance(tenant, from, to, added) {
      if (from === 0) await change('outbox_new_cursor', tenant)
      const seqs = arrayOf(
        'bigint',
        added.map(({ seq }) => seq),
      )
      const tasks = arrayOf(
        'uuid',
        added.map(({ task_id }) => task_id),
      )
      return (await change('outbox_advance', tenant, from, to, seqs, tasks)).length > 0
    },
    due: (tenant, now, limit) => ask<OutboxRow>('outbox_due', tenant, now, limit),
    setAside: (tenant, after, limit) => ask<OutboxRow>('outbox_set_aside', tenant, after, limit),
    ofTask: (tenant, taskId) => ask<OutboxRow>('outbox_of_task', tenant, taskId),
    render: async (tenant, seq, rendered, expected) =>
      (await change('outbox_render', tenant, seq, rendered, expected)).length > 0,
    async update(tenant, seq, { state, tries, next_try_at, reason }) {
      await change('outbox_update', tenant, seq, state, tries, next_try_at, reason)
    },
    async remove(tenant, seq) {
      await change('outbox_remove', tenant, seq)
    },
    requeue: async (tenant, dropsTexts) =>
      (await change('outbox_requeue', tenant, String(dropsTexts))).length,
    async counts(tenant, limit): Promise<OutboxCounts> {
      const [pending, set_aside] = await Promise.all([
        countOf(tenant, 'pending', limit),
        countOf(tenant, 'set_aside', limit),
      ])
      return { pending, set_aside }
    },
  }
}
