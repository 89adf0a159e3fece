import type { Relationship } from '../../core/command.ts'
import type { Owner } from '../../core/matching.ts'
import type { OpenTask, TaskSpec } from '../../core/task.ts'
import type { Tenant } from '../../core/world.ts'
import { OPEN_COLUMNS, openTask, queuedTask } from '../rows.ts'
import type { AcknowledgementRef, Head, HeadRef, Loaded, Need } from '../store.ts'
import type { Database } from './database.ts'
import { prepareItemLookup } from './inbox.ts'
import {
  prepareLaneLookup,
  prepareReceiptLookup,
  prepareTaskLookup,
  SPEC_COLUMNS,
  TENANT_COLUMNS,
} from './lookup.ts'
import { prepareQuestionLookup } from './questions.ts'
import { type OpenValues, rowOf } from './task-row.ts'

// The conditions of the partial indexes stand here word for word: otherwise SQLite does not use them.
export const READY_IN_LANE = `SELECT ${OPEN_COLUMNS} FROM tasks
  WHERE tenant = ? AND lane = ? AND rank >= (SELECT mark FROM lanes WHERE tenant = ? AND lane = ?)
    AND status = 'queued' AND wake_at IS NULL
  ORDER BY rank, seq LIMIT ?`
export const READY_IN_POOL = `SELECT ${OPEN_COLUMNS} FROM tasks
  WHERE tenant = ? AND pool = ? AND rank >= (SELECT mark FROM lanes WHERE tenant = ? AND lane = ?)
    AND status = 'queued' AND wake_at IS NULL
  ORDER BY rank, seq LIMIT ?`
const dueColumns = (columns: readonly string[]) =>
  `SELECT ${columns} FROM tasks WHERE tenant = ? AND wake_at <= ? ORDER BY wake_at LIMIT ?`
export const DUE = dueColumns(OPEN_COLUMNS)
export const DUE_REFS = dueColumns(['tenant', 'task_id'])
export const OVERDUE_REFS = `SELECT tenant, task_id FROM tasks
  WHERE tenant = ? AND deadline_at <= ? AND deadline_at IS NOT NULL AND wake_at IS NULL ORDER BY deadline_at LIMIT ?`
export const NEXT_WAKE = 'SELECT min(wake_at) AS wake_at FROM tasks WHERE tenant = ? AND wake_at IS NOT NULL'
export const BY_KEY = `SELECT ${SPEC_COLUMNS} FROM task_specs
  WHERE tenant = ? AND owner = ? AND idempotency_key = ?`
export const ACKNOWLEDGEMENT = `SELECT r.seq FROM receipt_parents p
  CROSS JOIN receipts r ON r.tenant = p.tenant AND r.seq = p.child
  WHERE p.tenant = ? AND p.parent = ? AND r.receipt_type = 'receipt.acknowledged' AND r."from" = ?
  ORDER BY p.child LIMIT 1`
export const CHILD = `SELECT p.child FROM receipt_parents p
  CROSS JOIN receipts r ON r.tenant = p.tenant AND r.seq = p.child
  WHERE p.tenant = ? AND p.parent = ? AND r.receipt_type = ?
  ORDER BY p.child DESC LIMIT 1`

/** Adds what is needed to what is loaded, at the time that `loaded` gives. */
export function prepareLoad(database: Database): (need: Need, loaded: Loaded) => void {
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
  const findReceipt = prepareReceiptLookup(database)
  const child = database.prepare(CHILD)
  const acknowledgement = database.prepare(ACKNOWLEDGEMENT)
  const findItem = prepareItemLookup(database)
  const relationship = database.prepare('SELECT * FROM relationships WHERE tenant = ? AND principal = ?')

  return (need, loaded) => {
    for (const id of need.tenants) {
      if (loaded.tenants.some((known) => known.tenant === id)) continue
      add(loaded.tenants, tenant.get(id) as Tenant | undefined)
    }
    for (const ref of need.tasks) add(loaded.tasks, findTask(ref.tenant, ref.task_id))
    for (const ref of need.questions) loaded.questions.push(...findQuestions(ref.tenant, ref.task_id))
    for (const ref of need.keys) {
      add(loaded.specs, byKey.get(ref.tenant, ref.owner, ref.idempotency_key) as TaskSpec | undefined)
    }
    for (const ref of need.owners) add(loaded.owners, owner.get(ref.tenant, ref.owner) as Owner | undefined)
    for (const ref of need.heads) loaded.heads.push(findHead(ref))
    for (const ref of need.lanes) loaded.lanes.push(...findLanes(ref.tenant, ref.after))
    for (const ref of need.due) loaded.due.push(...findDue(ref.tenant, loaded.now, ref.limit))
    for (const ref of need.receipts) add(loaded.receipts, findReceipt(ref.tenant, ref.seq))
    for (const ref of need.children) {
      const row = child.get(ref.tenant, ref.parent, ref.receipt_type) as { child: number } | undefined
      if (row !== undefined) add(loaded.children, findReceipt(ref.tenant, row.child))
    }
    for (const ref of need.acknowledgements) {
      const row = acknowledgement.get(ref.tenant, ref.seq, ref.by) as { seq: number } | undefined
      if (row !== undefined) loaded.acknowledgements.push(acknowledged(ref, row.seq))
    }
    for (const ref of need.items) add(loaded.items, findItem(ref.tenant, ref.principal, ref.seq))
    for (const ref of need.relationships) {
      add(loaded.relationships, relationship.get(ref.tenant, ref.principal) as Relationship | undefined)
    }
  }
}

function prepareHeads(database: Database): (ref: HeadRef) => Head {
  const inLane = database.prepareArrays(READY_IN_LANE)
  const inPool = database.prepareArrays(READY_IN_POOL)
  return (ref) => {
    const { tenant, lane, pool, limit } = ref
    const rows = (pool ? inPool : inLane).all(tenant, lane, tenant, lane, limit) as OpenValues[]
    return { tenant, lane, pool, limit, tasks: rows.map((values) => queuedTask(rowOf(values))) }
  }
}

function prepareDue(database: Database): (tenant: number, now: number, limit: number) => OpenTask[] {
  const select = database.prepareArrays(DUE)
  return (tenant, now, limit) => {
    const rows = select.all(tenant, now, limit) as OpenValues[]
    return rows.map((values) => openTask(rowOf(values)))
  }
}

function add<T>(found: T[], row: T | undefined): void {
  if (row !== undefined) found.push(row)
}

function acknowledged(ref: AcknowledgementRef, acknowledgement: number): Loaded['acknowledgements'][number] {
  return { tenant: ref.tenant, seq: ref.seq, by: ref.by, acknowledgement }
}
