import type { Relationship } from '../../core/command.ts'
import type { ProgressEntry } from '../../core/task.ts'
import { isTerminal, STATUSES, type Status } from '../../core/transitions.ts'
import type { Tenant } from '../../core/world.ts'
import {
  type Child,
  type HeldLease,
  type Holder,
  type LedgerReads,
  QUESTION_BYTES,
  type ReceiptLine,
  type ReceiptPath,
  type ScanPath,
  type StatusCounts,
  type TaskLease,
  type TaskLine,
  type TaskRecord,
} from '../reads.ts'
import type { Database, Statement, Value } from './database.ts'
import { attemptAvailable } from './failure.ts'
import {
  prepareLaneLookup,
  prepareParents,
  prepareReceiptLookup,
  prepareSpecLookup,
  prepareTaskLookup,
  RECEIPT_COLUMNS,
  type ReceiptRow,
  TENANT_COLUMNS,
} from './lookup.ts'
import { findEach, walk } from './pace.ts'
import { prepareQuestionLookup } from './questions.ts'

type StatusRow = Awaited<ReturnType<LedgerReads['statuses']>>[number]

export const STATUS = `SELECT task_id, status FROM tasks WHERE task_id = ? AND tenant = ?
  UNION ALL SELECT task_id, status FROM tasks_done WHERE task_id = ? AND tenant = ?`

const LINE = 's.seq, s.task_id, s.owner, s.type, s.session_id, s.labels'

// The length of a column is known without reading its value.
const length = (column: string) => `coalesce(octet_length(${column}), 0)`
const questions = (count: string) => `${QUESTION_BYTES} * ${count}`
const OUTCOME = ['result', 'error', 'artifacts', 'delivery_proof']
const lengthOf = (task: string, isDone: boolean) =>
  [
    'octet_length(s.input)',
    questions(`${task}.question_count`),
    ...(isDone ? OUTCOME.map((column) => length(`${task}.${column}`)) : []),
  ].join(' + ')

// Without statistics SQLite would rather walk all rows of the tenant, hence INDEXED BY; CROSS JOIN keeps it from
// starting with the other table.
const specsBy = (index: string, condition: string) =>
  `SELECT ${LINE}, coalesce(t.status, d.status) AS status, coalesce(t.principal_ai, d.principal_ai) AS principal_ai,
    coalesce(${lengthOf('t', false)}, ${lengthOf('d', true)}) AS bytes
  FROM task_specs s ${index}
  LEFT JOIN tasks t ON t.task_id = s.task_id AND t.tenant = s.tenant
  LEFT JOIN tasks_done d ON d.task_id = s.task_id AND d.tenant = s.tenant
  WHERE s.tenant = ? ${condition} AND s.seq < ? ORDER BY s.seq DESC LIMIT ?`
const linesFrom = (table: string) =>
  `SELECT ${LINE}, t.status, t.principal_ai, ${lengthOf('t', table === 'tasks_done')} AS bytes FROM ${table} t
  CROSS JOIN task_specs s ON s.tenant = t.tenant AND s.seq = t.seq`
const tasksOf = (table: string) => `${linesFrom(table)}
  WHERE t.tenant = ? AND t.status = ? AND t.seq < ? ORDER BY t.seq DESC LIMIT ?`

export const LINES = `${linesFrom('tasks')} WHERE t.task_id = ? AND t.tenant = ?
  UNION ALL ${linesFrom('tasks_done')} WHERE t.task_id = ? AND t.tenant = ?`

export const SCANS = {
  all: specsBy('', ''),
  owner: specsBy('INDEXED BY task_specs_owner', 'AND s.owner = ?'),
  session: specsBy('INDEXED BY task_specs_session', 'AND s.session_id = ?'),
  open: tasksOf('tasks'),
  done: tasksOf('tasks_done'),
} as const

const countOf = (status: Status) => {
  const table = isTerminal(status) ? 'tasks_done' : 'tasks'
  return `(SELECT count(*) FROM (SELECT 1 FROM ${table} INDEXED BY ${table}_status
    WHERE tenant = ? AND status = '${status}' LIMIT ?)) AS ${status}`
}

/** Takes the tenant and the limit once for each status. */
export const STATUS_COUNTS = `SELECT ${STATUSES.map(countOf).join(', ')}`

const RECEIPT_LINE = 'r.seq, r.receipt_type, r."to", r.task_id, r.lease_id, octet_length(r.body) AS bytes'

const receiptsBy = (columns: string, index: string, condition: string) => ({
  ascending: `SELECT ${columns} FROM receipts r ${index}
    WHERE tenant = ? ${condition} AND seq > ? ORDER BY seq LIMIT ?`,
  descending: `SELECT ${columns} FROM receipts r ${index}
    WHERE tenant = ? ${condition} AND seq < ? ORDER BY seq DESC LIMIT ?`,
})
const receiptPages = (columns: string) => ({
  all: receiptsBy(columns, '', ''),
  to: receiptsBy(columns, 'INDEXED BY receipts_to', 'AND "to" = ?'),
  task: receiptsBy(columns, 'INDEXED BY receipts_task', 'AND task_id = ?'),
})
const obligationsBy = (columns: string) => `SELECT ${columns} FROM open_obligations o
  CROSS JOIN receipts r ON r.tenant = o.tenant AND r.seq = o.seq
  WHERE o.tenant = ? AND o.principal = ? AND o.seq > ? ORDER BY o.seq LIMIT ?`

const RECEIPT = RECEIPT_COLUMNS.map((column) => `r.${column}`).join()

export const RECEIPTS = receiptPages(RECEIPT)
export const RECEIPT_LINES = receiptPages(RECEIPT_LINE)
export const OBLIGATIONS = obligationsBy(RECEIPT)
export const OBLIGATION_LINES = obligationsBy(RECEIPT_LINE)

export const CHILDREN = `SELECT p.parent, r.seq, r.receipt_type, r."from" FROM receipt_parents p
  CROSS JOIN receipts r ON r.tenant = p.tenant AND r.seq = p.child
  WHERE p.tenant = ? AND p.parent = ? ORDER BY p.child`

export const HEAD_OF_LINE = `SELECT min(s.created_at) AS created_at FROM lanes l
  CROSS JOIN task_specs s ON s.tenant = l.tenant AND s.seq = (
    SELECT t.seq FROM tasks t INDEXED BY tasks_ready_any
    WHERE t.tenant = l.tenant AND t.pool = l.lane AND t.status = 'queued' AND t.wake_at IS NULL
      AND t.rank >= l.mark
    ORDER BY t.rank, t.seq LIMIT 1)
  WHERE l.tenant = ? AND l.type IS NULL AND l.mark IS NOT NULL`

export const TASK_LEASE = `SELECT s.task_id, coalesce(t.status, d.status) AS status,
    coalesce(t.lease_id, d.lease_id) AS lease_id, coalesce(t.holder, d.holder) AS holder,
    coalesce(t.worker_id, d.worker_id) AS worker_id
  FROM task_specs s
  LEFT JOIN tasks t ON t.task_id = s.task_id AND t.tenant = s.tenant
  LEFT JOIN tasks_done d ON d.task_id = s.task_id AND d.tenant = s.tenant
  WHERE s.tenant = ? AND s.seq = ?`

export const HAD_LEASE = `SELECT 1 FROM (
    SELECT lease_id FROM receipts INDEXED BY receipts_task
    WHERE tenant = ? AND task_id = ? ORDER BY seq DESC LIMIT ?
  ) WHERE lease_id = ? LIMIT 1`

export const LEASES_OF = `SELECT task_id, lease_id, lane FROM tasks INDEXED BY tasks_status
  WHERE tenant = ? AND status IN ('leased', 'running') AND holder = ? AND worker_id = ? AND instance_id IS NOT ?
  LIMIT ?`

export const HOLDERS = `SELECT worker_id, sum(status = 'leased') AS leased, sum(status = 'running') AS running,
    min(wake_at) AS next_expires_at
  FROM tasks INDEXED BY tasks_status WHERE tenant = ? AND status IN ('leased', 'running') GROUP BY worker_id`

/**
 * The statements about one task are synchronous and this process is the only writer, so they see the same state.
 */
export function prepareReads(database: Database): LedgerReads {
  const findTask = prepareTaskLookup(database)
  const findSpec = prepareSpecLookup(database)
  const findQuestions = prepareQuestionLookup(database)
  const findReceipt = prepareReceiptLookup(database)
  const scan = prepareScan(database)
  const withParents = prepareParents(database)
  const pageOfReceipts = prepareReceiptPages<ReceiptRow>(database, RECEIPTS)
  const pageOfReceiptLines = prepareReceiptPages<ReceiptLine>(database, RECEIPT_LINES)
  const status = database.prepare(STATUS)
  const line = database.prepare(LINES)
  const statusCounts = database.prepare(STATUS_COUNTS)
  const latestProgress = database.prepare(
    'SELECT * FROM task_progress WHERE task_id = ? AND tenant = ? ORDER BY n DESC LIMIT 1',
  )
  const progress = database.prepare(
    'SELECT * FROM task_progress WHERE task_id = ? AND tenant = ? AND n > ? ORDER BY n LIMIT ?',
  )
  const children = database.prepare(CHILDREN)
  const obligations = database.prepare(OBLIGATIONS)
  const obligationLines = database.prepare(OBLIGATION_LINES)
  const relationship = database.prepare('SELECT * FROM relationships WHERE tenant = ? AND principal = ?')
  const counters = database.prepare(`SELECT ${TENANT_COLUMNS} FROM tenants WHERE tenant = ?`)
  const findLanes = prepareLaneLookup(database)
  const headOfLine = database.prepare(HEAD_OF_LINE)
  const holders = database.prepare(HOLDERS)
  const taskLease = database.prepare(TASK_LEASE)
  const leasesOf = database.prepare(LEASES_OF)
  const hadLease = database.prepare(HAD_LEASE)

  const findRecord = (tenant: number, taskId: string): TaskRecord | undefined => {
    const task = findTask(tenant, taskId)
    const spec = task && findSpec(tenant, task.seq)
    if (task === undefined || spec === undefined) return undefined
    const latest = latestProgress.get(taskId, tenant) as ProgressEntry | undefined
    const questions = task.question_count === 0 ? [] : findQuestions(tenant, taskId)
    return { task, spec, progress: latest ?? null, questions }
  }

  return {
    task: async (tenant, taskId) => attemptAvailable(() => findRecord(tenant, taskId)),
    state: async (tenant, taskId) => attemptAvailable(() => findTask(tenant, taskId)),
    tasks: (tenant, taskIds) => findEach(taskIds, (taskId) => findRecord(tenant, taskId)),
    statuses: (tenant, taskIds) =>
      findEach(taskIds, (taskId) => status.get(taskId, tenant, taskId, tenant) as StatusRow | undefined),
    lines: (tenant, taskIds) =>
      findEach(taskIds, (taskId) => line.get(taskId, tenant, taskId, tenant) as TaskLine | undefined),
    scan: (tenant, path, before, limit) =>
      walk(before, limit, (from, size) => scan(tenant, path, from, size)),
    statusCounts: async (tenant, limit) => {
      const keys = STATUSES.flatMap(() => [tenant, limit])
      return attemptAvailable(() => statusCounts.get(...keys) as StatusCounts)
    },
    progress: async (tenant, taskId, after, limit) =>
      attemptAvailable(() => progress.all(taskId, tenant, after, limit) as ProgressEntry[]),
    receipt: async (tenant, seq) => attemptAvailable(() => findReceipt(tenant, seq)),
    receiptsAt: (tenant, seqs) => findEach(seqs, (seq) => findReceipt(tenant, seq)),
    receipts: async (tenant, path, from, order, limit) =>
      attemptAvailable(() => [...pageOfReceipts(tenant, path, from, order, limit)].map(withParents)),
    receiptLines: (tenant, path, from, order, limit) =>
      walk(from, limit, (position, size) => pageOfReceiptLines(tenant, path, position, order, size)),
    children: async (tenant, parents, types) => {
      const found = await findEach(parents, (parent) => children.all(tenant, parent) as Child[])
      return found.flat().filter((child) => types.includes(child.receipt_type))
    },
    obligations: async (tenant, principal, after, limit) =>
      attemptAvailable(() =>
        (obligations.all(tenant, principal, after, limit) as ReceiptRow[]).map(withParents),
      ),
    obligationLines: (tenant, principal, after, limit) =>
      walk(
        after,
        limit,
        (from, size) => obligationLines.iterate(tenant, principal, from, size) as Iterable<ReceiptLine>,
      ),
    relationship: async (tenant, principal) =>
      attemptAvailable(() => relationship.get(tenant, principal) as Relationship | undefined),
    counters: async (tenant) =>
      attemptAvailable(() => {
        const row = counters.get(tenant) as Tenant | undefined
        if (row === undefined) throw new Error(`there is no tenant ${tenant}`)
        return row
      }),
    lanes: async (tenant, after) => attemptAvailable(() => findLanes(tenant, after)),
    headOfLine: async (tenant) =>
      attemptAvailable(() => (headOfLine.get(tenant) as { created_at: number | null }).created_at),
    taskLease: async (tenant, seq) =>
      attemptAvailable(() => taskLease.get(tenant, seq) as TaskLease | undefined),
    hadLease: async (tenant, taskId, leaseId, limit) =>
      attemptAvailable(() => hadLease.get(tenant, taskId, limit, leaseId) !== undefined),
    leasesOf: async (tenant, holder, workerId, instanceId, limit) =>
      attemptAvailable(() => leasesOf.all(tenant, holder, workerId, instanceId, limit) as HeldLease[]),
    holders: async (tenant) => attemptAvailable(() => holders.all(tenant) as Holder[]),
  }
}

function prepareScan(
  database: Database,
): (tenant: number, path: ScanPath, before: number, limit: number) => Iterable<TaskLine> {
  const all = database.prepare(SCANS.all)
  const owner = database.prepare(SCANS.owner)
  const session = database.prepare(SCANS.session)
  const open = database.prepare(SCANS.open)
  const done = database.prepare(SCANS.done)
  const walk = (tenant: number, path: ScanPath, before: number, limit: number): Iterable<unknown> => {
    switch (path.by) {
      case 'all':
        return all.iterate(tenant, before, limit)
      case 'owner':
        return owner.iterate(tenant, path.owner, before, limit)
      case 'session':
        return session.iterate(tenant, path.session_id, before, limit)
      case 'status':
        return (isTerminal(path.status) ? done : open).iterate(tenant, path.status, before, limit)
    }
  }
  return (tenant, path, before, limit) => walk(tenant, path, before, limit) as Iterable<TaskLine>
}

function prepareReceiptPages<Row>(
  database: Database,
  pages: typeof RECEIPTS,
): (
  tenant: number,
  path: ReceiptPath,
  from: number,
  order: 'ascending' | 'descending',
  limit: number,
) => Iterable<Row> {
  const prepare = ({ ascending, descending }: { ascending: string; descending: string }) => ({
    ascending: database.prepare(ascending),
    descending: database.prepare(descending),
  })
  const statements: Record<ReceiptPath['by'], Record<'ascending' | 'descending', Statement>> = {
    all: prepare(pages.all),
    to: prepare(pages.to),
    task: prepare(pages.task),
  }
  return (tenant, path, from, order, limit) => {
    const statement = statements[path.by][order]
    return statement.iterate(tenant, ...keyOf(path), from, limit) as Iterable<Row>
  }
}

function keyOf(path: ReceiptPath): Value[] {
  switch (path.by) {
    case 'all':
      return []
    case 'to':
      return [path.to]
    case 'task':
      return [path.task_id]
  }
}
