import type pg from 'pg'
import type { Relationship } from '../../core/command.ts'
import { isUuid } from '../../core/ids.ts'
import type { CanonicalJson } from '../../core/json/json.ts'
import type { Question } from '../../core/question.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { ProgressEntry, Task, TaskSpec } from '../../core/task.ts'
import { isTerminal, type Status } from '../../core/transitions.ts'
import type { Tenant } from '../../core/world.ts'
import type {
  Child,
  HeldLease,
  Holder,
  LedgerReads,
  ReceiptLine,
  ReceiptPath,
  ScanPath,
  TaskLease,
  TaskLine,
  TaskRecord,
} from '../reads.ts'
import { type DoneRow, doneTask, type OpenRow, openTask } from '../rows.ts'
import { StoreError, type TaskRef } from '../store.ts'
import { textArray } from './arrays.ts'
import { readAs, readTenant } from './borrow.ts'
import { parameters } from './columns.ts'
import { type Pooled, run, settled, type Value } from './database.ts'
import { laneOf, type StoredLane } from './load.ts'
import { PARENT_KEY, queries } from './queries.ts'
import { SEQ_KEY, TASK_KEY } from './shapes.ts'
import { CATCH_UP } from './time.ts'

type Query = keyof typeof queries

const SEE_BUSY_TENANTS = {
  name: 'see_busy_tenants',
  text: `SELECT set_config('asyncgate.tenants', array_agg(tenant)::text, false) FROM tenants WHERE open_tasks > 0`,
}

type SpecColumns = Omit<TaskSpec, 'tenant' | 'task_id' | 'seq' | 'owner'> & {
  readonly spec_owner: TaskSpec['owner']
}
type ProgressColumns =
  | { readonly n: null }
  | {
      readonly n: number
      readonly at: number
      readonly progress_lease_id: string
      readonly progress: CanonicalJson
    }

export function readsOn(pooled: Pooled): LedgerReads {
  const read = <Row extends pg.QueryResultRow>(tenant: number, query: Query, ...values: Value[]) =>
    readTenant(pooled, tenant, (client) => ask<Row>(client, query, values))
  const find = async <Row extends pg.QueryResultRow>(tenant: number, query: Query, ...values: Value[]) =>
    (await read<Row>(tenant, query, ...values))[0]
  const tasks = (tenant: number, taskIds: readonly string[]) =>
    readTenant(pooled, tenant, (client) => findRecords(client, tenant, taskIds))

  return {
    task: async (tenant, taskId) => (await tasks(tenant, [taskId]))[0],
    state: (tenant, taskId) => readTenant(pooled, tenant, (client) => findState(client, tenant, taskId)),
    tasks,
    statuses: (tenant, taskIds) =>
      read<{ task_id: string; status: Status }>(tenant, 'statuses', ...taskKeys(tenant, taskIds)),
    lines: (tenant, taskIds) => readTenant(pooled, tenant, (client) => findLines(client, tenant, taskIds)),
    scan: (tenant, path, before, limit) => {
      const [query, ...key] = scanOf(path)
      return read<TaskLine>(tenant, query, tenant, before, limit, ...key)
    },
    statusCounts: async (tenant, limit) => {
      const rows = await read<{ status: Status; count: number }>(tenant, 'status_counts', tenant, limit)
      const counts = new Map(rows.map(({ status, count }) => [status, count]))
      const of = (status: Status) => counts.get(status) ?? 0
      return {
        queued: of('queued'),
        leased: of('leased'),
        running: of('running'),
        pending_approval: of('pending_approval'),
        input_required: of('input_required'),
        succeeded: of('succeeded'),
        failed: of('failed'),
        canceled: of('canceled'),
      }
    },
    progress: async (tenant, taskId, after, limit) =>
      isUuid(taskId) ? read<ProgressEntry>(tenant, 'progress', tenant, taskId, after, limit) : [],
    receipt: (tenant, seq) => find<Receipt>(tenant, 'receipt', tenant, seq),
    receiptsAt: async (tenant, seqs) => {
      const rows = seqs.map((seq) => ({ tenant, seq }))
      return rows.length === 0 ? [] : read<Receipt>(tenant, 'receipts_at', ...parameters(SEQ_KEY, rows))
    },
    receipts: async (tenant, path, from, order, limit) => {
      if (path.by === 'task' && !isUuid(path.task_id)) return []
      return read<Receipt>(tenant, `${path.by}_${order}`, tenant, from, limit, ...keyOf(path))
    },
    receiptLines: async (tenant, path, from, order, limit) => {
      if (path.by === 'task' && !isUuid(path.task_id)) return []
      return read<ReceiptLine>(tenant, `${path.by}_lines_${order}`, tenant, from, limit, ...keyOf(path))
    },
    children: (tenant, parents, types) => {
      const rows = parents.map((parent) => ({ tenant, parent }))
      return read<Child>(tenant, 'children', ...parameters(PARENT_KEY, rows), textArray(types))
    },
    obligations: (tenant, principal, after, limit) =>
      read<Receipt>(tenant, 'obligations', tenant, principal, after, limit),
    obligationLines: (tenant, principal, after, limit) =>
      read<ReceiptLine>(tenant, 'obligation_lines', tenant, principal, after, limit),
    relationship: (tenant, principal) => find<Relationship>(tenant, 'relationship', tenant, principal),
    counters: async (tenant) => {
      const row = await find<Tenant>(tenant, 'counters', tenant)
      if (row === undefined) throw new StoreError('unavailable', `there is no tenant ${tenant}`)
      return row
    },
    lanes: async (tenant, after) =>
      (await read<StoredLane>(tenant, 'changed_lanes', tenant, after)).map(laneOf),
    headOfLine: async (tenant) => {
      const heads = await read<{ created_at: number }>(tenant, 'head_of_line', tenant)
      return heads.length === 0 ? null : Math.min(...heads.map((head) => head.created_at))
    },
    taskLease: (tenant, seq) => find<TaskLease>(tenant, 'task_lease', tenant, seq),
    hadLease: async (tenant, taskId, leaseId, limit) => {
      if (!isUuid(taskId) || !isUuid(leaseId)) return false
      return (await find(tenant, 'had_lease', tenant, taskId, limit, leaseId)) !== undefined
    },
    leasesOf: (tenant, holder, workerId, instanceId, limit) =>
      read<HeldLease>(tenant, 'leases_of', tenant, holder, workerId, instanceId, limit),
    holders: (tenant) => read<Holder>(tenant, 'holders', tenant),
  }
}

/** Tasks of all tenants whose wake time has come; without `now`, by the database's time, which then catches up. */
export function findDue(pooled: Pooled, limit: number, now: number | null): Promise<TaskRef[]> {
  return readAs(pooled, SEE_BUSY_TENANTS, [], async (client) => {
    const caughtUp = now === null ? run(client, CATCH_UP) : undefined
    const [found] = await settled([ask<TaskRef>(client, 'due', [limit, now]), caughtUp ?? Promise.resolve()])
    return found
  })
}

/** Milliseconds until the next task of the tenant is due; without `now`, by the clock of the database. */
export async function findNextWake(
  pooled: Pooled,
  tenant: number,
  now: number | null,
): Promise<number | null> {
  const [row] = await readTenant(pooled, tenant, (client) =>
    ask<{ ms: number }>(client, 'next_wake', [tenant, now]),
  )
  return row?.ms ?? null
}

function ask<Row extends pg.QueryResultRow>(
  client: pg.Client,
  query: Query,
  values: readonly Value[],
): Promise<Row[]> {
  return run<Row>(client, { name: query, text: queries[query] }, values)
}

/** Open first, for the same reason as below. */
async function findState(client: pg.Client, tenant: number, taskId: string): Promise<Task | undefined> {
  const key = taskKeys(tenant, [taskId])
  const [[open], [done]] = await settled([
    ask<OpenRow>(client, 'open_task', key),
    ask<DoneRow>(client, 'done_task', key),
  ])
  if (done !== undefined) return doneTask(done)
  return open && openTask(open)
}

async function findRecords(
  client: pg.Client,
  tenant: number,
  taskIds: readonly string[],
): Promise<TaskRecord[]> {
  const keys = taskKeys(tenant, taskIds)
  // Open tasks first: one that ends between the two statements is then found by both, not by neither.
  const [open, done] = await settled([
    ask<OpenRow & SpecColumns & ProgressColumns>(client, 'open_records', keys),
    ask<DoneRow & SpecColumns & ProgressColumns>(client, 'done_records', keys),
  ])
  const records = new Map<string, TaskRecord>()
  const askers = [...open, ...done].filter((row) => row.question_count > 0).map(({ task_id }) => task_id)
  const questions = await questionsOf(client, tenant, askers)
  for (const row of open) records.set(row.task_id, record(openTask(row), row, questions))
  for (const row of done) records.set(row.task_id, record(doneTask(row), row, questions))
  return [...records.values()]
}

async function findLines(client: pg.Client, tenant: number, taskIds: readonly string[]): Promise<TaskLine[]> {
  const keys = taskKeys(tenant, taskIds)
  // In the order of findRecords, and for its reason.
  const [open, done] = await settled([
    ask<TaskLine>(client, 'open_lines', keys),
    ask<TaskLine>(client, 'done_lines', keys),
  ])
  return [...new Map([...open, ...done].map((line) => [line.task_id, line])).values()]
}

/** Most tasks have none, and cost no statement. */
async function questionsOf(
  client: pg.Client,
  tenant: number,
  taskIds: readonly string[],
): Promise<readonly Question[]> {
  return taskIds.length === 0 ? [] : ask<Question>(client, 'questions', taskKeys(tenant, taskIds))
}

function record(task: Task, row: SpecColumns & ProgressColumns, questions: readonly Question[]): TaskRecord {
  const { tenant, task_id, seq } = task
  const {
    spec_owner: owner,
    type,
    priority,
    session_id,
    labels,
    idempotency_key,
    created_at,
    instance,
    input,
    policy,
  } = row
  return {
    task,
    spec: {
      tenant,
      task_id,
      seq,
      owner,
      type,
      priority,
      session_id,
      labels,
      idempotency_key,
      created_at,
      instance,
      input,
      policy,
    },
    progress:
      row.n === null
        ? null
        : { tenant, task_id, n: row.n, at: row.at, lease_id: row.progress_lease_id, progress: row.progress },
    questions: questions.length === 0 ? [] : questions.filter((question) => question.task_id === task_id),
  }
}

function taskKeys(tenant: number, taskIds: readonly string[]): string[] {
  return parameters(
    TASK_KEY,
    taskIds.filter(isUuid).map((task_id) => ({ task_id, tenant })),
  )
}

function scanOf(path: ScanPath): [Query, ...string[]] {
  switch (path.by) {
    case 'all':
      return ['scan_all']
    case 'owner':
      return ['scan_owner', path.owner]
    case 'session':
      return ['scan_session', path.session_id]
    case 'status':
      return [isTerminal(path.status) ? 'scan_done' : 'scan_open', path.status]
  }
}

function keyOf(path: ReceiptPath): string[] {
  switch (path.by) {
    case 'all':
      return []
    case 'to':
      return [path.to]
    case 'task':
      return [path.task_id]
  }
}
