import type pg from 'pg'
import type { Relationship } from '../../core/command.ts'
import { isUuid } from '../../core/ids.ts'
import type { Question } from '../../core/question.ts'
import type { ProgressEntry, Task } from '../../core/task.ts'
import { isHeld } from '../../core/task.ts'
import { isTerminal, type Status } from '../../core/transitions.ts'
import type { Tenant } from '../../core/world.ts'
import { pageOf, type SeqList } from '../layout/seq-lists.ts'
import { type TaskRow, taskSpec } from '../layout/task-head.ts'
import { type LineRow, type TextsRow, taskLine, taskTexts } from '../layout/task-line.ts'
import { DONE_CODES, decodeLive, type LiveRow } from '../layout/task-state.ts'
import { holdersOf, taskLease } from '../layout/views.ts'
import type { LedgerReads, ScanPath, TaskLine, TaskRecord } from '../reads.ts'
import { StoreError, type TaskRef } from '../store.ts'
import { ask, type Query } from './ask.ts'
import { readAs, readTenant } from './borrow.ts'
import { parameters } from './columns.ts'
import { type Pooled, run, settled, type Value } from './database.ts'
import { ledgerReadsOn } from './ledger.ts'
import { laneOf, type StoredLane } from './load.ts'
import { SEQ_KEY, TASK_KEY } from './shapes.ts'
import { findTasks, findTasksAt, taskSeqs } from './tasks.ts'
import { CATCH_UP } from './time.ts'

const SEE_BUSY_TENANTS = {
  name: 'see_busy_tenants',
  text: `SELECT set_config('asyncgate.tenants', array_agg(tenant)::text, false) FROM tenants WHERE open_tasks > 0`,
}

export function readsOn(pooled: Pooled): LedgerReads {
  const read = <Row extends pg.QueryResultRow>(tenant: number, query: Query, ...values: Value[]) =>
    readTenant(pooled, tenant, (client) => ask<Row>(client, query, values))
  const find = async <Row extends pg.QueryResultRow>(tenant: number, query: Query, ...values: Value[]) =>
    (await read<Row>(tenant, query, ...values))[0]
  const tasks = (tenant: number, taskIds: readonly string[]) =>
    readTenant(pooled, tenant, (client) => findRecords(client, tenant, taskIds))
  const states = async (tenant: number, taskIds: readonly string[]): Promise<Task[]> => {
    const found = await readTenant(pooled, tenant, (client) => findTasks(client, tenant, taskIds))
    return found.map(({ task }) => task)
  }
  const leases = async (tenant: number) => {
    const rows = await read<LiveRow>(tenant, 'leases', tenant)
    return rows.map((row) => decodeLive(row).task).filter(isHeld)
  }

  return {
    ...ledgerReadsOn(pooled),
    task: async (tenant, taskId) => (await tasks(tenant, [taskId]))[0],
    state: async (tenant, taskId) => (await states(tenant, [taskId]))[0],
    tasks,
    statuses: async (tenant, taskIds) =>
      (await states(tenant, taskIds)).map(({ task_id, status }) => ({ task_id, status })),
    lines: async (tenant, taskIds) => {
      const { refs, isWanted } = taskSeqs(tenant, taskIds)
      const rows = await read<LineRow>(tenant, 'lines', ...parameters(SEQ_KEY, refs))
      return rows.map(taskLine).filter(({ task_id }) => isWanted({ tenant, task_id }))
    },
    scan: (tenant, path, before, limit) =>
      readTenant(pooled, tenant, (client) => scan(client, tenant, path, before, limit)),
    texts: async (tenant, seqs) => {
      const refs = seqs.map((seq) => ({ tenant, seq }))
      return (await read<TextsRow>(tenant, 'task_texts', ...parameters(SEQ_KEY, refs))).map(taskTexts)
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
    taskLease: async (tenant, seq) => {
      const [stored] = await readTenant(pooled, tenant, (client) => findTasksAt(client, [{ tenant, seq }]))
      return stored && taskLease(stored.task)
    },
    leasesOf: async (tenant, holder, workerId, instanceId, limit) =>
      (await leases(tenant))
        .filter(({ lease }) => lease.holder === holder && lease.worker_id === workerId)
        .filter(({ lease }) => lease.instance_id !== instanceId)
        .slice(0, limit)
        .map(({ task_id, lease, lane }) => ({ task_id, lease_id: lease.lease_id, lane })),
    holders: async (tenant) => holdersOf(await leases(tenant)),
  }
}

/** Tasks of all tenants whose wake time has come, and ended ones that are not settled; without `now`, by the database's time, which then catches up. */
export function findDue(pooled: Pooled, limit: number, now: number | null): Promise<TaskRef[]> {
  return readAs(pooled, SEE_BUSY_TENANTS, [], async (client) => {
    const caughtUp = now === null ? run(client, CATCH_UP) : undefined
    const [found, unsettled] = await settled([
      ask<LiveRow>(client, 'due', [limit, now]),
      ask<TaskRef>(client, 'unsettled', [limit]),
      caughtUp ?? Promise.resolve(),
    ])
    const due = found.map((row): TaskRef => {
      const { tenant, task_id } = decodeLive(row).task
      return { tenant, task_id }
    })
    return [...due, ...unsettled]
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

async function findRecords(
  client: pg.Client,
  tenant: number,
  taskIds: readonly string[],
): Promise<TaskRecord[]> {
  const { refs } = taskSeqs(tenant, taskIds)
  if (refs.length === 0) return []
  const [stored, specs] = await settled([
    findTasks(client, tenant, taskIds),
    ask<TaskRow>(client, 'specs', parameters(SEQ_KEY, refs)),
  ])
  const tasks = stored.map(({ task }) => task)
  const [progress, questions] = await settled([
    latestProgress(client, tenant, tasks),
    questionsOf(client, tenant, tasks),
  ])
  const specOf = new Map(specs.map((row) => [row.seq, taskSpec(row)]))
  return tasks.flatMap((task) => {
    const spec = specOf.get(task.seq)
    if (spec === undefined) return []
    return {
      task,
      spec,
      progress: progress.find(({ task_id }) => task_id === task.task_id) ?? null,
      questions: questions.filter(({ task_id }) => task_id === task.task_id),
    }
  })
}

/** Most tasks have none, and cost no statement. */
async function latestProgress(
  client: pg.Client,
  tenant: number,
  tasks: readonly Task[],
): Promise<readonly ProgressEntry[]> {
  const keys = tasks.filter((task) => task.progress_count > 0).map(({ task_id }) => ({ task_id, tenant }))
  return keys.length === 0 ? [] : ask<ProgressEntry>(client, 'latest_progress', parameters(TASK_KEY, keys))
}

async function questionsOf(
  client: pg.Client,
  tenant: number,
  tasks: readonly Task[],
): Promise<readonly Question[]> {
  const keys = tasks.filter((task) => task.question_count > 0).map(({ task_id }) => ({ task_id, tenant }))
  return keys.length === 0 ? [] : ask<Question>(client, 'questions', parameters(TASK_KEY, keys))
}

async function scan(
  client: pg.Client,
  tenant: number,
  path: ScanPath,
  before: number,
  limit: number,
): Promise<TaskLine[]> {
  const lines = async (query: Query, ...values: Value[]) =>
    (await ask<LineRow>(client, query, values)).map(taskLine)
  switch (path.by) {
    case 'all':
      return lines('scan_all', tenant, before, limit)
    case 'owner': {
      const lists = await ask<SeqList>(client, 'owned_descending', [tenant, path.owner, before, limit])
      const seqs = pageOf(lists, before, 'descending', limit)
      if (seqs.length === 0) return []
      const refs = seqs.map((seq) => ({ tenant, seq }))
      return lines('lines', ...parameters(SEQ_KEY, refs))
    }
    case 'session':
      return lines('scan_session', tenant, before, limit, path.session_id)
    case 'status': {
      const { status } = path
      if (isTerminal(status)) return lines('scan_done', tenant, before, limit, DONE_CODES[status])
      return lines(`scan_${status}`, tenant, before, limit)
    }
  }
}
