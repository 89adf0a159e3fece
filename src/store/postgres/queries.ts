import { isTerminal, STATUSES, type Status } from '../../core/transitions.ts'
import { QUESTION_BYTES } from '../reads.ts'
import { list, rowsOf, type Shape } from './columns.ts'
import { loads, PARENTS } from './load.ts'
import { DONE, LANE, OPEN, PROGRESS, RECEIPT, RELATIONSHIP, TASK_KEY } from './shapes.ts'
import { NOW } from './time.ts'

export const PARENT_KEY = { tenant: 'int', parent: 'bigint' } as const

/** A receipt without its body. The length of a column is known without reading its value. */
const RECEIPT_LINE = 'r.seq, r.receipt_type, r."to", r.task_id, r.lease_id, octet_length(r.body) AS bytes'

const WHOLE_RECEIPT = `${list(RECEIPT, 'r.')}, ${PARENTS}`

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

  open_lines: linesFrom('tasks'),
  done_lines: linesFrom('tasks_done'),

  scan_all: linesOf('true'),
  scan_owner: linesOf('owner = $4 AND seq > 0'),
  scan_session: linesOf('session_id = $4'),
  scan_open: linesByStatus('tasks'),
  scan_done: linesByStatus('tasks_done'),

  status_counts: STATUSES.map(countOf).join(' UNION ALL '),

  progress: `
    SELECT ${list(PROGRESS)} FROM task_progress WHERE task_id = $2 AND tenant = $1 AND n > $3
    ORDER BY n LIMIT $4`,

  receipt: `
    SELECT ${list(RECEIPT, 'r.')}, ${PARENTS} FROM receipts r WHERE tenant = $1 AND seq = $2`,

  receipts_at: loads.receipts,

  all_ascending: receiptsAfter(WHOLE_RECEIPT, 'true'),
  all_descending: receiptsBefore(WHOLE_RECEIPT, 'true'),
  to_ascending: receiptsAfter(WHOLE_RECEIPT, '"to" = $4 AND seq > 0'),
  to_descending: receiptsBefore(WHOLE_RECEIPT, '"to" = $4 AND seq > 0'),
  task_ascending: receiptsAfter(WHOLE_RECEIPT, 'task_id = $4'),
  task_descending: receiptsBefore(WHOLE_RECEIPT, 'task_id = $4'),

  all_lines_ascending: receiptsAfter(RECEIPT_LINE, 'true'),
  all_lines_descending: receiptsBefore(RECEIPT_LINE, 'true'),
  to_lines_ascending: receiptsAfter(RECEIPT_LINE, '"to" = $4 AND seq > 0'),
  to_lines_descending: receiptsBefore(RECEIPT_LINE, '"to" = $4 AND seq > 0'),
  task_lines_ascending: receiptsAfter(RECEIPT_LINE, 'task_id = $4'),
  task_lines_descending: receiptsBefore(RECEIPT_LINE, 'task_id = $4'),

  children: `
    SELECT p.parent, r.seq, r.receipt_type, r."from"
    FROM ${rowsOf(PARENT_KEY)} JOIN receipt_parents p USING (parent, tenant)
    CROSS JOIN LATERAL (
      SELECT seq, receipt_type, "from" FROM receipts WHERE tenant = p.tenant AND seq = p.child LIMIT 1
    ) r
    WHERE r.receipt_type = ANY ($3::text[])
    ORDER BY p.parent, r.seq`,

  obligations: obligationsAfter(WHOLE_RECEIPT),
  obligation_lines: obligationsAfter(RECEIPT_LINE),

  relationship: `
    SELECT ${list(RELATIONSHIP)} FROM relationships WHERE tenant = $1 AND principal = $2`,

  counters: `
    SELECT tenant, salt, seq, clock, open_tasks, active_leases, lanes, lanes_version FROM tenants WHERE tenant = $1`,

  task_lease: `
    SELECT s.task_id, coalesce(t.status, d.status) AS status, coalesce(t.lease_id, d.lease_id) AS lease_id,
      coalesce(t.holder, d.holder) AS holder, coalesce(t.worker_id, d.worker_id) AS worker_id
    FROM (SELECT tenant, task_id FROM task_specs WHERE tenant = $1 AND seq = $2 LIMIT 1) s
    LEFT JOIN tasks t USING (task_id, tenant)
    LEFT JOIN tasks_done d USING (task_id, tenant)`,

  had_lease: `
    SELECT 1 AS found FROM (
      SELECT lease_id FROM receipts WHERE tenant = $1 AND task_id = $2 ORDER BY seq DESC LIMIT $3
    ) r
    WHERE r.lease_id = $4 LIMIT 1`,

  leases_of: `
    SELECT task_id, lease_id, lane FROM tasks
    WHERE tenant = $1 AND status IN ('leased', 'running') AND seq > 0
      AND holder = $2 AND worker_id = $3 AND instance_id IS DISTINCT FROM $4
    LIMIT $5`,

  holders: `
    SELECT worker_id, (count(*) FILTER (WHERE status = 'leased'))::int AS leased,
      (count(*) FILTER (WHERE status = 'running'))::int AS running, min(wake_at) AS next_expires_at
    FROM tasks WHERE tenant = $1 AND status IN ('leased', 'running') AND seq > 0 GROUP BY worker_id`,

  changed_lanes: `
    SELECT ${list(LANE)} FROM lanes WHERE tenant = $1 AND version > $2 ORDER BY lane`,

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
      (SELECT tenant, task_id FROM tasks
      WHERE tenant = n.tenant AND wake_at <= (SELECT coalesce($2::bigint, ${NOW}))
      ORDER BY wake_at LIMIT $1)
      UNION ALL
      (SELECT tenant, task_id FROM tasks
      WHERE tenant = n.tenant AND deadline_at <= (SELECT coalesce($2::bigint, ${NOW})) AND wake_at IS NULL
      ORDER BY deadline_at LIMIT $1)
    ) t
    WHERE n.open_tasks > 0`,

  next_wake: `
    SELECT wake_at - coalesce($2::bigint, ${NOW}) AS ms FROM tasks
    WHERE tenant = $1 AND wake_at IS NOT NULL ORDER BY wake_at LIMIT 1`,
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
    SELECT s.seq, s.task_id, coalesce(t.status, d.status) AS status, s.owner, s.type, s.session_id, s.labels,
      coalesce(t.principal_ai, d.principal_ai) AS principal_ai,
      s.bytes + coalesce(${lengthOf('t', false)}, ${lengthOf('d', true)}) AS bytes
    FROM (
      SELECT tenant, seq, task_id, owner, type, session_id, labels, octet_length(input) AS bytes FROM task_specs
      WHERE tenant = $1 AND seq < $2 AND ${condition} ORDER BY seq DESC LIMIT $3
    ) s
    LEFT JOIN tasks t USING (task_id, tenant)
    LEFT JOIN tasks_done d USING (task_id, tenant)
    ORDER BY s.seq DESC`
}

function linesByStatus(table: 'tasks' | 'tasks_done'): string {
  return `
    SELECT t.seq, t.task_id, t.status, s.owner, s.type, s.session_id, s.labels, t.principal_ai,
      octet_length(s.input) + t.bytes AS bytes
    FROM (
      SELECT tenant, seq, task_id, status, principal_ai, ${lengthOf(table, table === 'tasks_done')} AS bytes
      FROM ${table}
      WHERE tenant = $1 AND seq < $2 AND status = $4 AND seq > 0 ORDER BY seq DESC LIMIT $3
    ) t
    JOIN task_specs s ON s.tenant = t.tenant AND s.seq = t.seq
    ORDER BY t.seq DESC`
}

function countOf(status: Status): string {
  return `
    SELECT '${status}' AS status, count(*)::int AS count FROM (
      SELECT 1 FROM ${isTerminal(status) ? 'tasks_done' : 'tasks'}
      WHERE tenant = $1 AND status = '${status}' AND seq > 0 LIMIT $2
    ) t`
}

function linesFrom(table: 'tasks' | 'tasks_done'): string {
  return `
    SELECT t.seq, t.task_id, t.status, s.owner, s.type, s.session_id, s.labels, t.principal_ai,
      octet_length(s.input) + ${lengthOf('t', table === 'tasks_done')} AS bytes
    FROM ${rowsOf(TASK_KEY)} JOIN ${table} t USING (task_id, tenant)
    CROSS JOIN LATERAL (SELECT * FROM task_specs WHERE tenant = t.tenant AND seq = t.seq LIMIT 1) s`
}

/** About how long the texts of a task are, besides its input. */
function lengthOf(task: string, isDone: boolean): string {
  const outcome = ['result', 'error', 'artifacts', 'delivery_proof']
  const lengths = outcome.map((column) => `coalesce(octet_length(${task}.${column}), 0)`)
  return [`${QUESTION_BYTES} * ${task}.question_count`, ...(isDone ? lengths : [])].join(' + ')
}

function receiptsAfter(columns: string, condition: string): string {
  return `
    SELECT ${columns} FROM receipts r
    WHERE tenant = $1 AND seq > $2 AND ${condition} ORDER BY seq LIMIT $3`
}

function receiptsBefore(columns: string, condition: string): string {
  return `
    SELECT ${columns} FROM receipts r
    WHERE tenant = $1 AND seq < $2 AND ${condition} ORDER BY seq DESC LIMIT $3`
}

function obligationsAfter(columns: string): string {
  return `
    SELECT ${columns}
    FROM (
      SELECT tenant, seq FROM open_obligations
      WHERE tenant = $1 AND principal = $2 AND seq > $3 ORDER BY seq LIMIT $4
    ) o
    JOIN receipts r ON r.tenant = o.tenant AND r.seq = o.seq
    ORDER BY r.seq`
}
