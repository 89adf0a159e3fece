import { isTerminal, STATUSES, type Status } from '../../core/transitions.ts'
import { DONE_CODES, OPEN_CODES } from '../layout/task-state.ts'
import { list, rowsOf } from './columns.ts'
import { loads } from './load.ts'
import { CHILD, LANE, LIVE_STATE, PROGRESS, RELATIONSHIP, SEGMENT, SEQ_KEY, TASK } from './shapes.ts'
import { NOW } from './time.ts'

export const PARENT_KEY = { tenant: 'int', parent: 'bigint' } as const

/** The length of a column is known without reading its value. */
const HEAD = 's.seq, s.owner, s.session_id, s.head, octet_length(s.input) AS input_bytes'
const OUTCOME_BYTES = 'coalesce(octet_length(d.result), 0) + coalesce(octet_length(d.details), 0)'

const LIVE_OF = (task: string) => `(
  SELECT * FROM tasks_live WHERE tenant = ${task}.tenant AND parked IN (0, 1, 2) AND seq = ${task}.seq LIMIT 1
)`
const DONE_OF = (task: string) => `(
  SELECT * FROM tasks_done WHERE tenant = ${task}.tenant AND status IN (1, 2, 3) AND seq = ${task}.seq LIMIT 1
)`
const TASK_OF = (task: string) => `(
  SELECT * FROM tasks WHERE tenant = ${task}.tenant AND seq = ${task}.seq LIMIT 1
)`

/** Which live rows have a status. Of the queued ones those held are passed over; all leases are looked at. */
const FITS = {
  queued: `parked = 0 AND status = ${OPEN_CODES.queued}`,
  leased: `status <= 2 AND status = ${OPEN_CODES.leased}`,
  running: `status <= 2 AND status = ${OPEN_CODES.running}`,
  pending_approval: 'parked = 1',
  input_required: 'parked = 2',
} as const

/** As in `loads`, a LIMIT stands before or within every join, so that only what is returned is looked up. */
export const queries = {
  live_tasks: loads.live_tasks,
  done_tasks: loads.done_tasks,

  specs: `
    SELECT ${list(TASK, 's.')} FROM ${rowsOf(SEQ_KEY)} CROSS JOIN LATERAL ${TASK_OF('x')} s`,

  task_texts: `
    SELECT s.seq, s.input, d.details FROM ${rowsOf(SEQ_KEY)}
    CROSS JOIN LATERAL ${TASK_OF('x')} s
    LEFT JOIN LATERAL ${DONE_OF('x')} d ON true`,

  latest_progress: `
    SELECT p.* FROM ${rowsOf({ task_id: 'uuid', tenant: 'int' })}
    CROSS JOIN LATERAL (
      SELECT ${list(PROGRESS)} FROM task_progress WHERE task_id = x.task_id AND tenant = x.tenant
      ORDER BY n DESC LIMIT 1
    ) p`,

  questions: loads.questions,

  lines: linesOf(`SELECT t.* FROM ${rowsOf(SEQ_KEY)} CROSS JOIN LATERAL ${TASK_OF('x')} t`),

  scan_all: linesOf('SELECT * FROM tasks WHERE tenant = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3'),
  scan_session: linesOf(
    'SELECT * FROM tasks WHERE tenant = $1 AND seq < $2 AND session_id = $4 ORDER BY seq DESC LIMIT $3',
  ),
  scan_queued: liveLines(FITS.queued),
  scan_leased: liveLines(FITS.leased),
  scan_running: liveLines(FITS.running),
  scan_pending_approval: liveLines(FITS.pending_approval),
  scan_input_required: liveLines(FITS.input_required),
  scan_done: `
    SELECT ${HEAD}, NULL::smallint AS live_status, d.status AS done_status, d.state, d.outcome_bytes
    FROM (
      SELECT tenant, seq, status, state, ${OUTCOME_BYTES} AS outcome_bytes FROM tasks_done d
      WHERE tenant = $1 AND seq < $2 AND status = $4 ORDER BY seq DESC LIMIT $3
    ) d
    CROSS JOIN LATERAL ${TASK_OF('d')} s
    ORDER BY s.seq DESC`,

  owned_descending: listsBefore('owned_tasks'),
  addressed_ascending: listsAfter('addressed_receipts'),
  addressed_descending: listsBefore('addressed_receipts'),

  status_counts: STATUSES.map(countOf).join(' UNION ALL '),

  progress: `
    SELECT ${list(PROGRESS)} FROM task_progress WHERE task_id = $2 AND tenant = $1 AND n > $3
    ORDER BY n LIMIT $4`,

  segments_at: loads.segments,
  segments_ascending: `
    SELECT ${list(SEGMENT)} FROM ledger
    WHERE tenant = $1 AND first >= coalesce(
      (SELECT first FROM ledger WHERE tenant = $1 AND first <= $2 ORDER BY first DESC LIMIT 1), 0)
    ORDER BY first LIMIT $3`,
  segments_descending: `
    SELECT ${list(SEGMENT)} FROM ledger WHERE tenant = $1 AND first < $2 ORDER BY first DESC LIMIT $3`,

  task_receipts_ascending: `
    SELECT seq FROM task_receipts WHERE task_id = $2 AND tenant = $1 AND seq > $3 ORDER BY seq LIMIT $4`,
  task_receipts_descending: `
    SELECT seq FROM task_receipts WHERE task_id = $2 AND tenant = $1 AND seq < $3 ORDER BY seq DESC LIMIT $4`,

  children: `
    SELECT ${list(CHILD, 'c.')} FROM ${rowsOf(PARENT_KEY)}
    JOIN receipt_children c ON c.parent = x.parent AND c.tenant = x.tenant
    WHERE c.receipt_type = ANY ($3::text[])`,

  owed: `
    (SELECT seq FROM tasks_live WHERE tenant = $1 AND owner = $2 AND seq > $3 AND seq > 0 ORDER BY seq LIMIT $4)
    UNION ALL
    (SELECT seq FROM open_obligations WHERE tenant = $1 AND principal = $2 AND seq > $3 ORDER BY seq LIMIT $4)`,

  relationship: `
    SELECT ${list(RELATIONSHIP)} FROM relationships WHERE tenant = $1 AND principal = $2`,

  counters: `
    SELECT tenant, salt, seq, clock, open_tasks, active_leases, ended_tasks, receipt_bytes, lanes, lanes_version
    FROM tenants WHERE tenant = $1`,

  leases: `
    SELECT ${list(LIVE_STATE)} FROM tasks_live WHERE tenant = $1 AND status <= 2`,

  changed_lanes: `
    SELECT ${list(LANE)} FROM lanes WHERE tenant = $1 AND version > $2 ORDER BY lane`,

  head_of_line: `
    SELECT s.created_at FROM lanes l
    CROSS JOIN LATERAL (
      SELECT tenant, seq FROM tasks_live
      WHERE tenant = l.tenant AND pool = l.lane AND status = 3 AND wake_at IS NULL AND pool > 0
        AND rank >= l.mark
      ORDER BY rank, seq LIMIT 1
    ) t
    CROSS JOIN LATERAL ${TASK_OF('t')} s
    WHERE l.tenant = $1 AND l.type IS NULL AND l.mark IS NOT NULL`,

  due: `
    SELECT ${list(LIVE_STATE, 't.')} FROM tenants n
    CROSS JOIN LATERAL (
      (SELECT * FROM tasks_live
      WHERE tenant = n.tenant AND wake_at <= (SELECT coalesce($2::bigint, ${NOW})) AND status <= 2
      ORDER BY wake_at LIMIT $1)
      UNION ALL
      (SELECT * FROM tasks_live
      WHERE tenant = n.tenant AND wake_at <= (SELECT coalesce($2::bigint, ${NOW})) AND status > 2
        AND wake_at IS NOT NULL
      ORDER BY wake_at LIMIT $1)
      UNION ALL
      (SELECT * FROM tasks_live
      WHERE tenant = n.tenant AND deadline_at <= (SELECT coalesce($2::bigint, ${NOW})) AND wake_at IS NULL
      ORDER BY deadline_at LIMIT $1)
    ) t
    WHERE n.open_tasks > 0`,

  unsettled: `
    SELECT u.tenant, u.task_id FROM tenants n
    CROSS JOIN LATERAL (
      SELECT tenant, task_id FROM unsettled_tasks WHERE tenant = n.tenant ORDER BY seq LIMIT $1
    ) u
    WHERE n.open_tasks > 0`,

  next_wake: `
    SELECT min(wake_at) - coalesce($2::bigint, ${NOW}) AS ms FROM (
      (SELECT wake_at FROM tasks_live WHERE tenant = $1 AND status <= 2 ORDER BY wake_at LIMIT 1)
      UNION ALL
      (SELECT wake_at FROM tasks_live WHERE tenant = $1 AND status > 2 AND wake_at IS NOT NULL
      ORDER BY wake_at LIMIT 1)
    ) t
    HAVING count(*) > 0`,
} as const satisfies Readonly<Record<string, string>>

/** Narrow rows of the tasks that `tasks` selects. */
function linesOf(tasks: string): string {
  return `
    SELECT ${HEAD}, l.status AS live_status, d.status AS done_status, coalesce(l.state, d.state) AS state,
      ${OUTCOME_BYTES} AS outcome_bytes
    FROM (${tasks}) s
    LEFT JOIN LATERAL ${LIVE_OF('s')} l ON true
    LEFT JOIN LATERAL ${DONE_OF('s')} d ON true
    ORDER BY s.seq DESC`
}

function liveLines(condition: string): string {
  return `
    SELECT ${HEAD}, l.status AS live_status, NULL::smallint AS done_status, l.state, 0 AS outcome_bytes
    FROM (
      SELECT tenant, seq, status, state FROM tasks_live
      WHERE tenant = $1 AND seq < $2 AND ${condition} ORDER BY seq DESC LIMIT $3
    ) l
    CROSS JOIN LATERAL ${TASK_OF('l')} s
    ORDER BY s.seq DESC`
}

function listsAfter(table: string): string {
  return `
    SELECT first, seqs FROM ${table}
    WHERE tenant = $1 AND principal = $2 AND first >= coalesce(
      (SELECT first FROM ${table} WHERE tenant = $1 AND principal = $2 AND first <= $3
      ORDER BY first DESC LIMIT 1), 0)
    ORDER BY first LIMIT $4`
}

function listsBefore(table: string): string {
  return `
    SELECT first, seqs FROM ${table}
    WHERE tenant = $1 AND principal = $2 AND first < $3 ORDER BY first DESC LIMIT $4`
}

function countOf(status: Status): string {
  const [table, condition] = isTerminal(status)
    ? ['tasks_done', `status = ${DONE_CODES[status]}`]
    : ['tasks_live', FITS[status]]
  return `
    SELECT '${status}' AS status, count(*)::int AS count FROM (
      SELECT 1 FROM ${table} WHERE tenant = $1 AND ${condition} LIMIT $2
    ) t`
}
