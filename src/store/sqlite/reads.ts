import type { Relationship } from '../../core/command.ts'
import { taskSeq } from '../../core/ids.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { Receipt } from '../../core/receipt.ts'
import { type HeldTask, isHeld, type ProgressEntry } from '../../core/task.ts'
import { isTerminal, STATUSES, type Status } from '../../core/transitions.ts'
import type { Tenant } from '../../core/world.ts'
import { nextTurn } from '../../util/turns.ts'
import { mergedPage, type Order } from '../layout/seq-lists.ts'
import { DONE_CODES, OPEN_CODES } from '../layout/task-state.ts'
import { childrenOf, holdersOf, receiptLine, taskLease } from '../layout/views.ts'
import type { Child, LedgerReads, ReceiptPath, StatusCounts, TaskRecord } from '../reads.ts'
import type { Database } from './database.ts'
import { attemptAvailable } from './failure.ts'
import { prepareLaneLookup, TENANT_COLUMNS } from './lanes.ts'
import {
  prepareChildren,
  prepareLedgerWalk,
  prepareReceiptLookup,
  prepareSeqPages,
  prepareTaskReceipts,
} from './ledger.ts'
import { prepareLine, prepareScan, prepareTexts } from './lines.ts'
import { findEach, walk } from './pace.ts'
import { prepareQuestionLookup } from './questions.ts'
import { LIVE_COLUMNS, liveTask, prepareSpecLookup, prepareTaskAt, prepareTaskLookup } from './tasks.ts'

const countOf = (status: Status) => {
  const [from, condition] = isTerminal(status)
    ? ['tasks_done', `status = ${DONE_CODES[status]}`]
    : COUNTED[status]
  return `(SELECT count(*) FROM (SELECT 1 FROM ${from} WHERE tenant = ? AND ${condition} LIMIT ?)) AS ${status}`
}

// As the scans of lines.ts walk.
const COUNTED = {
  queued: ['tasks_live', `parked = 0 AND status = ${OPEN_CODES.queued}`],
  leased: ['tasks_live INDEXED BY tasks_leased', `status <= 2 AND status = ${OPEN_CODES.leased}`],
  running: ['tasks_live INDEXED BY tasks_leased', `status <= 2 AND status = ${OPEN_CODES.running}`],
  pending_approval: ['tasks_live', 'parked = 1'],
  input_required: ['tasks_live', 'parked = 2'],
} as const

/** Takes the tenant and the limit once for each status. */
export const STATUS_COUNTS = `SELECT ${STATUSES.map(countOf).join(', ')}`

export const OWED = {
  tasks: `SELECT seq FROM tasks_live INDEXED BY tasks_owed
    WHERE tenant = ? AND owner = ? AND seq > ? ORDER BY seq LIMIT ?`,
  others:
    'SELECT seq FROM open_obligations WHERE tenant = ? AND principal = ? AND seq > ? ORDER BY seq LIMIT ?',
} as const

export const HEAD_OF_LINE = `SELECT min(s.created_at) AS created_at FROM lanes l INDEXED BY lanes_pools
  CROSS JOIN tasks s ON s.tenant = l.tenant AND s.seq = (
    SELECT t.seq FROM tasks_live t INDEXED BY tasks_ready_any
    WHERE t.tenant = l.tenant AND t.pool = l.lane AND t.status = 3 AND t.wake_at IS NULL AND t.rank >= l.mark
    ORDER BY t.rank, t.seq LIMIT 1)
  WHERE l.tenant = ? AND l.type IS NULL AND l.mark IS NOT NULL`

/** Leases are read in pages, so that many of them do not hold up other work. */
const LEASES_PER_PAGE = 500

export const LEASES = `SELECT ${LIVE_COLUMNS} FROM tasks_live INDEXED BY tasks_leased
  WHERE tenant = ? AND status <= 2 AND (wake_at, seq) > (?, ?) ORDER BY wake_at, seq LIMIT ${LEASES_PER_PAGE}`

/**
 * The statements about one task are synchronous and this process is the only writer, so they see the same state.
 */
export function prepareReads(database: Database): LedgerReads {
  const findTask = prepareTaskLookup(database)
  const findRecord = prepareRecord(database)
  const line = prepareLine(database)
  const scan = prepareScan(database)
  const texts = prepareTexts(database)
  const receipts = prepareReceiptLookup(database)
  const pageOfReceipts = prepareReceiptPages(database)
  const receiptsOf = prepareTaskReceipts(database)
  const findChildren = prepareChildrenOf(database)
  const owed = prepareOwed(database)
  const statusCounts = database.prepare(STATUS_COUNTS)
  const progress = database.prepare(
    'SELECT * FROM task_progress WHERE task_id = ? AND tenant = ? AND n > ? ORDER BY n LIMIT ?',
  )
  const relationship = database.prepare('SELECT * FROM relationships WHERE tenant = ? AND principal = ?')
  const counters = database.prepare(`SELECT ${TENANT_COLUMNS} FROM tenants WHERE tenant = ?`)
  const findLanes = prepareLaneLookup(database)
  const headOfLine = database.prepare(HEAD_OF_LINE)
  const taskAt = prepareTaskAt(database)
  const leases = prepareLeases(database)

  return {
    task: async (tenant, taskId) => attemptAvailable(() => findRecord(tenant, taskId)),
    state: async (tenant, taskId) => attemptAvailable(() => findTask(tenant, taskId)?.task),
    tasks: (tenant, taskIds) => findEach(taskIds, (taskId) => findRecord(tenant, taskId)),
    statuses: (tenant, taskIds) =>
      findEach(taskIds, (taskId) => {
        const task = findTask(tenant, taskId)?.task
        return task && { task_id: taskId, status: task.status }
      }),
    lines: (tenant, taskIds) =>
      findEach(taskIds, (taskId) => {
        const seq = taskSeq(taskId)
        const found = seq === undefined ? undefined : line(tenant, seq)
        return found?.task_id === taskId ? found : undefined
      }),
    scan: (tenant, path, before, limit) =>
      walk(before, limit, (from, size) => scan(tenant, path, from, size)),
    texts: (tenant, seqs) => findEach(seqs, (seq) => texts(tenant, seq)),
    statusCounts: async (tenant, limit) => {
      const keys = STATUSES.flatMap(() => [tenant, limit])
      return attemptAvailable(() => statusCounts.get(...keys) as StatusCounts)
    },
    progress: async (tenant, taskId, after, limit) =>
      attemptAvailable(() => progress.all(taskId, tenant, after, limit) as ProgressEntry[]),
    receipt: async (tenant, seq) => attemptAvailable(() => receipts()(tenant, seq)),
    receiptsAt: (tenant, seqs) => {
      const find = receipts()
      return findEach(seqs, (seq) => find(tenant, seq))
    },
    receipts: async (tenant, path, from, order, limit) =>
      attemptAvailable(() => [...pageOfReceipts(tenant, path, from, order, limit)]),
    receiptLines: async (tenant, path, from, order, limit) => {
      const found = await walk(from, limit, (position, size) =>
        pageOfReceipts(tenant, path, position, order, size),
      )
      return found.map(receiptLine)
    },
    children: async (tenant, parents, types) => {
      const found = await findEach(parents, (parent) => findChildren(tenant, parent))
      return found.flat().filter((child) => types.includes(child.receipt_type))
    },
    obligations: async (tenant, principal, after, limit) => {
      const find = receipts()
      return attemptAvailable(() =>
        owed(tenant, principal, after, limit).flatMap((seq) => find(tenant, seq) ?? []),
      )
    },
    obligationLines: async (tenant, principal, after, limit) => {
      const find = receipts()
      const seqs = attemptAvailable(() => owed(tenant, principal, after, limit))
      return (await findEach(seqs, (seq) => find(tenant, seq))).map(receiptLine)
    },
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
      attemptAvailable(() => {
        const stored = taskAt(tenant, seq)
        return stored && taskLease(stored.task)
      }),
    hadLease: async (tenant, taskId, leaseId, limit) => {
      const find = receipts()
      const seqs = attemptAvailable(() =>
        receiptsOf(tenant, taskId, Number.MAX_SAFE_INTEGER, 'descending', limit),
      )
      return (await findEach(seqs, (seq) => find(tenant, seq))).some((one) => one.lease_id === leaseId)
    },
    ...leases,
  }
}

function prepareRecord(database: Database): (tenant: number, taskId: string) => TaskRecord | undefined {
  const findTask = prepareTaskLookup(database)
  const findSpec = prepareSpecLookup(database)
  const findQuestions = prepareQuestionLookup(database)
  const latestProgress = database.prepare(
    'SELECT * FROM task_progress WHERE task_id = ? AND tenant = ? ORDER BY n DESC LIMIT 1',
  )
  return (tenant, taskId) => {
    const task = findTask(tenant, taskId)?.task
    const spec = task && findSpec(tenant, task.seq)
    if (task === undefined || spec === undefined) return undefined
    const latest = task.progress_count === 0 ? undefined : latestProgress.get(taskId, tenant)
    const questions = task.question_count === 0 ? [] : findQuestions(tenant, taskId)
    return { task, spec, progress: (latest as ProgressEntry | undefined) ?? null, questions }
  }
}

function prepareReceiptPages(
  database: Database,
): (tenant: number, path: ReceiptPath, from: number, order: Order, limit: number) => Iterable<Receipt> {
  const receipts = prepareReceiptLookup(database)
  const walkLedger = prepareLedgerWalk(database)
  const addressedTo = prepareSeqPages(database, 'addressed_receipts')
  const receiptsOf = prepareTaskReceipts(database)

  function* first(found: Iterable<Receipt>, limit: number): Generator<Receipt> {
    let count = 0
    for (const receipt of found) {
      if (count++ === limit) return
      yield receipt
    }
  }
  function* at(tenant: number, seqs: readonly number[]): Generator<Receipt> {
    const find = receipts()
    for (const seq of seqs) {
      const receipt = find(tenant, seq)
      if (receipt !== undefined) yield receipt
    }
  }
  return (tenant, path, from, order, limit) => {
    switch (path.by) {
      case 'all':
        return first(walkLedger(tenant, from, order), limit)
      case 'to':
        return at(tenant, addressedTo(tenant, path.to, from, order, limit))
      case 'task':
        return at(tenant, receiptsOf(tenant, path.task_id, from, order, limit))
    }
  }
}

/** Finds the receipts that name a parent: within its task, and beyond. */
function prepareChildrenOf(database: Database): (tenant: number, parent: number) => Child[] {
  const receipts = prepareReceiptLookup(database)
  const findTask = prepareTaskLookup(database)
  const others = prepareChildren(database)
  return (tenant, parent) => {
    const find = receipts()
    const taskId = find(tenant, parent)?.task_id ?? null
    const named = taskId === null ? [] : (findTask(tenant, taskId)?.receipts ?? [])
    const siblings = named.flatMap((seq) => (seq > parent ? (find(tenant, seq) ?? []) : []))
    return childrenOf(parent, siblings, others(tenant, parent))
  }
}

/** Finds the seqs of the receipts that stand for what a principal is owed. */
function prepareOwed(
  database: Database,
): (tenant: number, principal: PrincipalKey, after: number, limit: number) => number[] {
  const tasks = database.prepare(OWED.tasks)
  const others = database.prepare(OWED.others)
  return (tenant, principal, after, limit) => {
    const [some, rest] = [tasks, others].map((statement) => {
      const rows = statement.all(tenant, principal, after, limit) as { readonly seq: number }[]
      return rows.map(({ seq }) => seq)
    })
    return mergedPage(some ?? [], rest ?? [], after, 'ascending', limit)
  }
}

function prepareLeases(database: Database): Pick<LedgerReads, 'leasesOf' | 'holders'> {
  const select = database.prepareArrays(LEASES)
  const held = async (tenant: number): Promise<HeldTask[]> => {
    const tasks: HeldTask[] = []
    for (;;) {
      const last = tasks.at(-1)
      const [wake, seq] = last === undefined ? [0, 0] : [last.lease.expires_at, last.seq]
      const rows = attemptAvailable(() => select.all(tenant, wake, seq))
      tasks.push(...rows.map((row) => liveTask(row).task).filter(isHeld))
      if (rows.length < LEASES_PER_PAGE) return tasks
      await nextTurn()
    }
  }
  return {
    leasesOf: async (tenant, holder, workerId, instanceId, limit) => {
      const isOther = ({ lease }: HeldTask) =>
        lease.holder === holder && lease.worker_id === workerId && lease.instance_id !== instanceId
      const found = (await held(tenant)).filter(isOther).slice(0, limit)
      return found.map(({ task_id, lease, lane }) => ({ task_id, lease_id: lease.lease_id, lane }))
    },
    holders: async (tenant) => holdersOf(await held(tenant)),
  }
}
