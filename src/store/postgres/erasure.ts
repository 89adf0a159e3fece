import type { Erasure } from '../erasure.ts'
import { erasureOn } from '../layout/erasure.ts'
import type { Segment } from '../layout/segments.ts'
import { arrayOf } from './arrays.ts'
import { readTenant, writeTenant } from './borrow.ts'
import { list } from './columns.ts'
import { type Pooled, run, type Value } from './database.ts'
import { SEGMENT } from './shapes.ts'

export const erasureQueries = {
  next_segments: `
    SELECT ${list(SEGMENT)} FROM ledger WHERE tenant = $1 AND first > $2 ORDER BY first LIMIT $3`,
  replace_segments: `
    WITH replaced AS (
      UPDATE ledger l SET receipts = x.after
      FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[]) AS x (first, before, after, bytes)
      WHERE l.tenant = $1 AND l.first = x.first AND l.receipts = x.before RETURNING l.first, x.bytes
    ), counted AS (
      UPDATE tenants SET receipt_bytes = greatest(0, receipt_bytes - (SELECT coalesce(sum(bytes), 0) FROM replaced))
      WHERE tenant = $1
    )
    SELECT bytes FROM replaced`,
  erase_task: `UPDATE tasks SET head = $3, input = $4 WHERE tenant = $1 AND seq = $2`,
  erase_done: `
    UPDATE tasks_done SET result = $3, details = $4 WHERE tenant = $1 AND status IN (1, 2, 3) AND seq = $2`,
  erase_questions: `
    UPDATE questions SET request = CASE kind WHEN 'approval' THEN $3 ELSE $4 END,
      answer = CASE WHEN answer IS NULL THEN NULL ELSE $5 END, content_hash = NULL
    WHERE task_id = $2 AND tenant = $1`,
  remove_progress: `DELETE FROM task_progress WHERE task_id = $2 AND tenant = $1`,
  remove_logs: `DELETE FROM task_logs WHERE task_id = $2 AND tenant = $1`,
  remove_relationship: `DELETE FROM relationships WHERE tenant = $1 AND principal = $2`,
} as const

function statement(name: keyof typeof erasureQueries) {
  return { name, text: erasureQueries[name] }
}

export function postgresErasure(pooled: Pooled): Erasure {
  const write = (name: keyof typeof erasureQueries, tenant: number, ...values: Value[]) =>
    writeTenant(pooled, tenant, (client) =>
      run<{ bytes: number }>(client, statement(name), [tenant, ...values]),
    )
  return erasureOn({
    segments: (tenant, after, limit) =>
      readTenant(pooled, tenant, (client) =>
        run<Segment>(client, statement('next_segments'), [tenant, after, limit]),
      ),
    async replace(tenant, changes) {
      const replaced = await write(
        'replace_segments',
        tenant,
        arrayOf(
          'bigint',
          changes.map(({ first }) => first),
        ),
        arrayOf(
          'text',
          changes.map(({ before }) => before),
        ),
        arrayOf(
          'text',
          changes.map(({ after }) => after),
        ),
        arrayOf(
          'bigint',
          changes.map(({ bytes }) => bytes),
        ),
      )
      return replaced.map(({ bytes }) => bytes)
    },
    async task({ tenant, seq, task_id, head, input, result, details, approval, question, answer }) {
      await write('erase_task', tenant, seq, head, input)
      await write('erase_done', tenant, seq, result, details)
      await write('erase_questions', tenant, task_id, approval, question, answer)
      await write('remove_progress', tenant, task_id)
      await write('remove_logs', tenant, task_id)
    },
    async relationship(tenant, principal) {
      await write('remove_relationship', tenant, principal)
    },
  })
}
