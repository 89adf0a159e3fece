import { list, rowsOf, type Shape } from './columns.ts'
import { loads, PARENTS } from './load.ts'
import { DONE, OPEN, PROGRESS, RECEIPT, RELATIONSHIP, TASK_KEY } from './shapes.ts'
import { NOW } from './time.ts'

export const PARENT_KEY = { tenant: 'int', parent: 'bigint' } as const

/** As in `loads`, a LIMIT stands before or within every join, so that only what is returned is looked up. */
export const queries = {
  open_records: recordsOf('tasks', OPEN),
  done_records: recordsOf('tasks_done', DONE),

  open_task: loads.open_tasks,
  done_task: loads.done_tasks,

  questions: loads.questions,

  statuses: `
    SELECT t.task_id, t.status FROM ${rowsOf(TASK_KEY)} JOIN tasks t USING (task_id, tenant)
    UNION ALL
    SELECT t.task_id, t.status FROM ${rowsOf(TASK_KEY)} JOIN tasks_done t USING (task_id, tenant)`,

  scan_all: linesOf('true'),
  scan_owner: linesOf('owner = $4 AND seq > 0'),
  scan_session: linesOf('session_id = $4'),
  scan_open: linesByStatus('tasks'),
  scan_done: linesByStatus('tasks_done'),

  progress: `
    SELECT ${list(PROGRESS)} FROM task_progress WHERE task_id = $2 AND tenant = $1 ORDER BY n LIMIT $3`,

  receipt: `
    SELECT ${list(RECEIPT, 'r.')}, ${PARENTS} FROM receipts r WHERE tenant = $1 AND seq = $2`,

  receipts_at: loads.receipts,

  all_ascending: receiptsAfter('true'),
  all_descending: receiptsBefore('true'),
  to_ascending: receiptsAfter('"to" = $4 AND seq > 0'),
  to_descending: receiptsBefore('"to" = $4 AND seq > 0'),
  task_ascending: receiptsAfter('task_id = $4'),
  task_descending: receiptsBefore('task_id = $4'),

  children: `
    SELECT p.parent, r.seq, r.receipt_type, r."from"
    FROM ${rowsOf(PARENT_KEY)} JOIN receipt_parents p USING (parent, tenant)
    CROSS JOIN LATERAL (
      SELECT seq, receipt_type, "from" FROM receipts WHERE tenant = p.tenant AND seq = p.child LIMIT 1
    ) r
    WHERE r.receipt_type = ANY ($3::text[])
    ORDER BY p.parent, r.seq`,

  obligations: `
    SELECT ${list(RECEIPT, 'r.')}, ${PARENTS}
    FROM (
      SELECT tenant, seq FROM open_obligations
      WHERE tenant = $1 AND principal = $2 AND seq > $3 ORDER BY seq LIMIT $4
    ) o
    JOIN receipts r ON r.tenant = o.tenant AND r.seq = o.seq
    ORDER BY r.seq`,

  relationship: `
    SELECT ${list(RELATIONSHIP)} FROM relationships WHERE tenant = $1 AND principal = $2`,

  counters: `
    SELECT tenant, salt, seq, clock, open_tasks, active_leases, lanes FROM tenants WHERE tenant = $1`,

  holders: `
    SELECT worker_id, (count(*) FILTER (WHERE status = 'leased'))::int AS leased,
      (count(*) FILTER (WHERE status = 'running'))::int AS running, min(wake_at) AS next_expires_at
    FROM tasks WHERE tenant = $1 AND status IN ('leased', 'running') AND seq > 0 GROUP BY worker_id`,

  head_of_line: `
    SELECT s.created_at FROM lanes l
    CROSS JOIN LATERAL (
      SELECT seq FROM tasks
      WHERE tenant = l.tenant AND pool = l.lane AND status = 'queued' AND wake_at IS NULL AND pool > 0
        AND rank >= l.mark
      ORDER BY rank, seq LIMIT 1
    ) t
    CROSS JOIN LATERAL (
      SELECT created_at FROM task_specs WHERE tenant = l.tenant AND seq = t.seq
      -- Keeps the planner from starting with this table.
      OFFSET 0
    ) s
    WHERE l.tenant = $1 AND l.type IS NULL AND l.mark IS NOT NULL`,

  due: `
    SELECT t.tenant, t.task_id FROM tenants n
    CROSS JOIN LATERAL (
      SELECT tenant, task_id FROM tasks
      WHERE tenant = n.tenant AND wake_at <= (SELECT coalesce($2::bigint, ${NOW}))
      ORDER BY wake_at LIMIT $1
    ) t
    WHERE n.open_tasks > 0`,
} as const satisfies Readonly<Record<string, string>>

function recordsOf(table: string, shape: Shape): string {
  return `
    SELECT ${list(shape, 't.')},
      s.owner AS spec_owner, s.type, s.priority, s.session_id, s.labels, s.idempotency_key, s.created_at, s.instance, s.input, s.policy,
      p.n, p.at, p.lease_id AS progress_lease_id, p.progress
    FROM ${rowsOf(TASK_KEY)} JOIN ${table} t USING (task_id, tenant)
    CROSS JOIN LATERAL (SELECT * FROM task_specs WHERE tenant = t.tenant AND seq = t.seq LIMIT 1) s
    LEFT JOIN LATERAL (
      SELECT n, at, lease_id, progress FROM task_progress
      WHERE task_id = t.task_id AND tenant = t.tenant ORDER BY n DESC LIMIT 1
    ) p ON true`
}

function linesOf(condition: string): string {
  return `
    SELECT s.seq, s.task_id, coalesce(t.status, d.status) AS status, s.owner, s.type, s.session_id, s.labels
    FROM (
      SELECT tenant, seq, task_id, owner, type, session_id, labels FROM task_specs
      WHERE tenant = $1 AND seq < $2 AND ${condition} ORDER BY seq DESC LIMIT $3
    ) s
    LEFT JOIN tasks t USING (task_id, tenant)
    LEFT JOIN tasks_done d USING (task_id, tenant)
    ORDER BY s.seq DESC`
}

function linesByStatus(table: string): string {
  return `
    SELECT t.seq, t.task_id, t.status, s.owner, s.type, s.session_id, s.labels
    FROM (
      SELECT tenant, seq, task_id, status FROM ${table}
      WHERE tenant = $1 AND seq < $2 AND status = $4 AND seq > 0 ORDER BY seq DESC LIMIT $3
    ) t
    JOIN task_specs s ON s.tenant = t.tenant AND s.seq = t.seq
    ORDER BY t.seq DESC`
}

function receiptsAfter(condition: string): string {
  return `
    SELECT ${list(RECEIPT, 'r.')}, ${PARENTS} FROM receipts r
    WHERE tenant = $1 AND seq > $2 AND ${condition} ORDER BY seq LIMIT $3`
}

function receiptsBefore(condition: string): string {
  return `
    SELECT ${list(RECEIPT, 'r.')}, ${PARENTS} FROM receipts r
    WHERE tenant = $1 AND seq < $2 AND ${condition} ORDER BY seq DESC LIMIT $3`
}
