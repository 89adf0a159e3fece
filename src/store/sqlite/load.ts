import type { Relationship } from '../../core/command.ts'
import type { Owner } from '../../core/matching.ts'
import { type OpenTask, wakeAt } from '../../core/task.ts'
import type { Tenant } from '../../core/world.ts'
import type { Known } from '../layout/known.ts'
import { type TaskRow, taskSpec } from '../layout/task-head.ts'
import type { AcknowledgementRef, Head, HeadRef, Loaded, Need } from '../store.ts'
import type { Database } from './database.ts'
import { prepareItemLookup } from './inbox.ts'
import { prepareLaneLookup, TENANT_COLUMNS } from './lanes.ts'
import { prepareReceiptLookup } from './ledger.ts'
import { prepareQuestionLookup } from './questions.ts'
import { prepareLinkLookup } from './task-links.ts'
import { LIVE_COLUMNS, liveTask, prepareTaskLookup, TASK_COLUMNS } from './tasks.ts'

// The conditions of the partial indexes stand here word for word: otherwise SQLite does not use them.
export const READY_IN_LANE = `SELECT ${LIVE_COLUMNS} FROM tasks_live
  WHERE tenant = ? AND lane = ? AND rank >= (SELECT mark FROM lanes WHERE tenant = ? AND lane = ?)
    AND status = 3 AND wake_at IS NULL
  ORDER BY rank, seq LIMIT ?`
export const READY_IN_POOL = `SELECT ${LIVE_COLUMNS} FROM tasks_live
  WHERE tenant = ? AND pool = ? AND rank >= (SELECT mark FROM lanes WHERE tenant = ? AND lane = ?)
    AND status = 3 AND wake_at IS NULL
  ORDER BY rank, seq LIMIT ?`
const LEASED = 'status <= 2'
const WAITING = 'status > 2 AND wake_at IS NOT NULL'
const dueBy = (condition: string) => `SELECT ${LIVE_COLUMNS} FROM tasks_live
  WHERE tenant = ? AND wake_at <= ? AND ${condition} ORDER BY wake_at LIMIT ?`
export const DUE_LEASES = dueBy(LEASED)
export const DUE_WAITING = dueBy(WAITING)
export const OVERDUE = `SELECT ${LIVE_COLUMNS} FROM tasks_live
  WHERE tenant = ? AND deadline_at <= ? AND deadline_at IS NOT NULL AND wake_at IS NULL ORDER BY deadline_at LIMIT ?`
export const NEXT_WAKE = `SELECT min(wake_at) AS wake_at FROM (
    SELECT min(wake_at) AS wake_at FROM tasks_live WHERE tenant = ? AND ${LEASED}
    UNION ALL SELECT min(wake_at) FROM tasks_live WHERE tenant = ? AND ${WAITING}
  )`
export const BY_KEY = `SELECT ${TASK_COLUMNS} FROM tasks WHERE tenant = ? AND owner = ? AND idempotency_key = ?`
export const ACKNOWLEDGEMENT = `SELECT child FROM receipt_children
  WHERE tenant = ? AND parent = ? AND receipt_type = 'receipt.acknowledged' AND "from" = ? ORDER BY child LIMIT 1`
export const CHILD = `SELECT child FROM receipt_children
  WHERE tenant = ? AND parent = ? AND receipt_type = ? ORDER BY child DESC LIMIT 1`

/** Adds what is needed to what is loaded, at the time that `loaded` gives. */
export function prepareLoad(database: Database): (need: Need, loaded: Loaded, known: Known) => void {
  const tenant = database.prepare(`SELECT ${TENANT_COLUMNS} FROM tenants WHERE tenant = ?`)
  const findTask = prepareTaskLookup(database)
  const findQuestions = prepareQuestionLookup(database)
  const byKey = database.prepare(BY_KEY)
  const owner = database.prepare(
    'SELECT tenant, owner, last_rank, weight FROM owners WHERE tenant = ? AND owner = ?',
  )
  const findHead = prepareHeads(database)
  const findLanes = prepareLaneLookup(database)
  const findDue = prepareDue(database)
  const receipts = prepareReceiptLookup(database)
  const child = database.prepare(CHILD)
  const acknowledgement = database.prepare(ACKNOWLEDGEMENT)
  const findItem = prepareItemLookup(database)
  const findLinks = prepareLinkLookup(database)
  const relationship = database.prepare('SELECT * FROM relationships WHERE tenant = ? AND principal = ?')

  return (need, loaded, known) => {
    for (const id of need.tenants) {
      if (loaded.tenants.some((other) => other.tenant === id)) continue
      add(loaded.tenants, tenant.get(id) as Tenant | undefined)
    }
    for (const ref of need.tasks) {
      const stored = findTask(ref.tenant, ref.task_id)
      if (stored !== undefined) loaded.tasks.push(known.task(stored))
    }
    for (const ref of need.questions) loaded.questions.push(...findQuestions(ref.tenant, ref.task_id))
    for (const ref of need.keys) {
      const row = byKey.get(ref.tenant, ref.owner, ref.idempotency_key)
      if (row !== undefined) loaded.specs.push(taskSpec(row as TaskRow))
    }
    for (const ref of need.owners) add(loaded.owners, owner.get(ref.tenant, ref.owner) as Owner | undefined)
    for (const ref of need.heads) loaded.heads.push(findHead(ref, known))
    for (const ref of need.lanes) loaded.lanes.push(...findLanes(ref.tenant, ref.after))
    for (const ref of need.due) loaded.due.push(...findDue(ref.tenant, loaded.now, ref.limit, known))
    const findReceipt = receipts()
    for (const ref of need.receipts) add(loaded.receipts, findReceipt(ref.tenant, ref.seq))
    for (const ref of need.children) {
      const row = child.get(ref.tenant, ref.parent, ref.receipt_type) as { child: number } | undefined
      if (row !== undefined) add(loaded.children, findReceipt(ref.tenant, row.child))
    }
    for (const ref of need.acknowledgements) {
      const row = acknowledgement.get(ref.tenant, ref.seq, ref.by) as { child: number } | undefined
      if (row !== undefined) loaded.acknowledgements.push(acknowledged(ref, row.child))
    }
    for (const ref of need.links) loaded.links.push(findLinks(ref.tenant, ref.seq))
    for (const ref of need.items) add(loaded.items, findItem(ref.tenant, ref.principal, ref.seq, known))
    for (const ref of need.relationships) {
      add(loaded.relationships, relationship.get(ref.tenant, ref.principal) as Relationship | undefined)
    }
  }
}

function prepareHeads(database: Database): (ref: HeadRef, known: Known) => Head {
  const inLane = database.prepareArrays(READY_IN_LANE)
  const inPool = database.prepareArrays(READY_IN_POOL)
  return ({ tenant, lane, pool, limit }, known) => {
    const rows = (pool ? inPool : inLane).all(tenant, lane, tenant, lane, limit)
    return { tenant, lane, pool, limit, tasks: rows.flatMap((row) => queuedTask(known.task(liveTask(row)))) }
  }
}

/** A row of the ready tasks. */
function queuedTask(task: OpenTask): Head['tasks'] {
  return task.status === 'queued' ? [task] : []
}

/** Finds open tasks whose time has come, the earliest first. */
function prepareDue(
  database: Database,
): (tenant: number, now: number, limit: number, known: Known) => OpenTask[] {
  const leases = database.prepareArrays(DUE_LEASES)
  const waiting = database.prepareArrays(DUE_WAITING)
  return (tenant, now, limit, known) => {
    const rows = [...leases.all(tenant, now, limit), ...waiting.all(tenant, now, limit)].map(liveTask)
    rows.sort((a, b) => (wakeAt(a.task) ?? 0) - (wakeAt(b.task) ?? 0))
    return rows.slice(0, limit).map((stored) => known.task(stored))
  }
}

function add<T>(found: T[], row: T | undefined): void {
  if (row !== undefined) found.push(row)
}

function acknowledged(ref: AcknowledgementRef, acknowledgement: number): Loaded['acknowledgements'][number] {
  return { tenant: ref.tenant, seq: ref.seq, by: ref.by, acknowledgement }
}
