import type { PrincipalKey } from '../../core/principal.ts'
import { isTerminal, type Status } from '../../core/transitions.ts'
import { type LineRow, type TextsRow, taskLine, taskTexts } from '../layout/task-line.ts'
import { DONE_CODES, OPEN_CODES } from '../layout/task-state.ts'
import type { ScanPath, TaskLine, TaskTexts } from '../reads.ts'
import type { Database } from './database.ts'
import { prepareSeqPages } from './ledger.ts'
import { ANY_DONE, ANY_PARKED } from './tasks.ts'

// The length of a column is known without reading its value.
const HEAD = 't.seq, t.owner, t.session_id, t.head, octet_length(t.input) AS input_bytes'
const OPEN = 'l.status AS live_status, l.state, NULL AS done_status, 0 AS outcome_bytes'
const OUTCOME = 'coalesce(octet_length(d.result), 0) + coalesce(octet_length(d.details), 0)'
const DONE = `NULL AS live_status, d.state, d.status AS done_status, ${OUTCOME} AS outcome_bytes`

// CROSS JOIN keeps SQLite from starting with the other table.
const EITHER = `SELECT ${HEAD}, l.status AS live_status, coalesce(l.state, d.state) AS state,
    d.status AS done_status, ${OUTCOME} AS outcome_bytes
  FROM tasks t
  LEFT JOIN tasks_live l ON l.tenant = t.tenant AND l.${ANY_PARKED} AND l.seq = t.seq
  LEFT JOIN tasks_done d ON d.tenant = t.tenant AND d.${ANY_DONE} AND d.seq = t.seq`
const openBy = (index: string, condition: string) => `SELECT ${HEAD}, ${OPEN} FROM tasks_live l ${index}
  CROSS JOIN tasks t ON t.tenant = l.tenant AND t.seq = l.seq
  WHERE l.tenant = ? AND ${condition} AND l.seq < ? ORDER BY l.seq DESC LIMIT ?`

export const LINE = `${EITHER} WHERE t.tenant = ? AND t.seq = ?`

export const SCANS = {
  all: `${EITHER} WHERE t.tenant = ? AND t.seq < ? ORDER BY t.seq DESC LIMIT ?`,
  session: `${EITHER.replace('FROM tasks t', 'FROM tasks t INDEXED BY tasks_session')}
    WHERE t.tenant = ? AND t.session_id = ? AND t.seq < ? ORDER BY t.seq DESC LIMIT ?`,
  // Those that are held at present are passed over; there are as many as workers have leases.
  queued: openBy('', `l.parked = 0 AND l.status = ${OPEN_CODES.queued}`),
  // All leases are looked at.
  leased: openBy('INDEXED BY tasks_leased', `l.status <= 2 AND l.status = ${OPEN_CODES.leased}`),
  running: openBy('INDEXED BY tasks_leased', `l.status <= 2 AND l.status = ${OPEN_CODES.running}`),
  pending_approval: openBy('', 'l.parked = 1'),
  input_required: openBy('', 'l.parked = 2'),
  done: `SELECT ${HEAD}, ${DONE} FROM tasks_done d
    CROSS JOIN tasks t ON t.tenant = d.tenant AND t.seq = d.seq
    WHERE d.tenant = ? AND d.status = ? AND d.seq < ? ORDER BY d.seq DESC LIMIT ?`,
} as const

/** Finds the narrow row of a task. */
export function prepareLine(database: Database): (tenant: number, seq: number) => TaskLine | undefined {
  const select = database.prepare(LINE)
  return (tenant, seq) => {
    const row = select.get(tenant, seq)
    return row === undefined ? undefined : taskLine(row as LineRow)
  }
}

export const TEXTS = `SELECT t.seq, t.input, d.details FROM tasks t
  LEFT JOIN tasks_done d ON d.tenant = t.tenant AND d.${ANY_DONE} AND d.seq = t.seq
  WHERE t.tenant = ? AND t.seq = ?`

/** Finds the long texts of a task. */
export function prepareTexts(database: Database): (tenant: number, seq: number) => TaskTexts | undefined {
  const select = database.prepare(TEXTS)
  return (tenant, seq) => {
    const row = select.get(tenant, seq)
    return row === undefined ? undefined : taskTexts(row as TextsRow)
  }
}

/** Walks narrow rows, newest first. */
export function prepareScan(
  database: Database,
): (tenant: number, path: ScanPath, before: number, limit: number) => Iterable<TaskLine> {
  const all = database.prepare(SCANS.all)
  const session = database.prepare(SCANS.session)
  const done = database.prepare(SCANS.done)
  const open = {
    queued: database.prepare(SCANS.queued),
    leased: database.prepare(SCANS.leased),
    running: database.prepare(SCANS.running),
    pending_approval: database.prepare(SCANS.pending_approval),
    input_required: database.prepare(SCANS.input_required),
  }
  const line = prepareLine(database)
  const ownedBy = prepareSeqPages(database, 'owned_tasks')

  function* byOwner(tenant: number, owner: PrincipalKey, before: number, limit: number): Generator<TaskLine> {
    for (const seq of ownedBy(tenant, owner, before, 'descending', limit)) {
      const found = line(tenant, seq)
      if (found !== undefined) yield found
    }
  }
  const byStatus = (tenant: number, status: Status, before: number, limit: number) =>
    isTerminal(status)
      ? done.iterate(tenant, DONE_CODES[status], before, limit)
      : open[status].iterate(tenant, before, limit)

  return (tenant, path, before, limit) => {
    switch (path.by) {
      case 'all':
        return decoded(all.iterate(tenant, before, limit))
      case 'owner':
        return byOwner(tenant, path.owner, before, limit)
      case 'session':
        return decoded(session.iterate(tenant, path.session_id, before, limit))
      case 'status':
        return decoded(byStatus(tenant, path.status, before, limit))
    }
  }
}

function* decoded(rows: Iterable<unknown>): Generator<TaskLine> {
  for (const row of rows) yield taskLine(row as LineRow)
}
