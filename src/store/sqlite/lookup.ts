import type { LaneRow } from '../../core/matching.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { Task, TaskSpec } from '../../core/task.ts'
import { DONE_COLUMNS, type DoneRow, doneTask, OPEN_COLUMNS, openTask } from '../rows.ts'
import type { Database } from './database.ts'
import { type OpenValues, rowOf } from './task-row.ts'

export const SPEC_COLUMNS = [
  'tenant',
  'seq',
  'task_id',
  'owner',
  'type',
  'priority',
  'session_id',
  'labels',
  'idempotency_key',
  'created_at',
  'instance',
  'input',
  'policy',
] as const satisfies readonly (keyof TaskSpec)[]

export const RECEIPT_COLUMNS = [
  'tenant',
  'seq',
  'receipt_type',
  'created_at',
  '"from"',
  '"to"',
  'task_id',
  'lease_id',
  'schedule_id',
  'body',
  'hash',
  'instance',
] as const

export const TENANT_COLUMNS = 'tenant, salt, seq, clock, open_tasks, active_leases, lanes, lanes_version'

export const LANE_COLUMNS = [
  'tenant',
  'lane',
  'type',
  'capabilities',
  'priority',
  'mark',
  'tasks',
  'owner',
  'owned',
  'version',
] as const satisfies readonly (keyof LaneRow)[]

export const CHANGED_LANES = `SELECT ${LANE_COLUMNS} FROM lanes WHERE tenant = ? AND version > ? ORDER BY lane`

type StoredDoneRow = Omit<DoneRow, 'obligation_open' | 'dead_letter'> & {
  readonly obligation_open: number
  readonly dead_letter: number
}

export type ReceiptRow = Omit<Receipt, 'parents'>

/** Finds the lanes of a tenant that changed after a version. */
export function prepareLaneLookup(database: Database): (tenant: number, after: number) => LaneRow[] {
  const select = database.prepare(CHANGED_LANES)
  return (tenant, after) => {
    const rows = select.all(tenant, after) as (Omit<LaneRow, 'capabilities'> & { capabilities: string })[]
    return rows.map((row) => ({ ...row, capabilities: JSON.parse(row.capabilities) }))
  }
}

/** Finds a task among the open ones, else among the done. */
export function prepareTaskLookup(database: Database): (tenant: number, taskId: string) => Task | undefined {
  const open = database.prepareArrays(`SELECT ${OPEN_COLUMNS} FROM tasks WHERE task_id = ? AND tenant = ?`)
  const done = database.prepare(`SELECT ${DONE_COLUMNS} FROM tasks_done WHERE task_id = ? AND tenant = ?`)
  return (tenant, taskId) => {
    const values = open.get(taskId, tenant) as OpenValues | undefined
    if (values !== undefined) return openTask(rowOf(values))
    const row = done.get(taskId, tenant) as StoredDoneRow | undefined
    if (row === undefined) return undefined
    return doneTask({
      ...row,
      obligation_open: row.obligation_open === 1,
      dead_letter: row.dead_letter === 1,
    })
  }
}

export function prepareSpecLookup(database: Database): (tenant: number, seq: number) => TaskSpec | undefined {
  const select = database.prepare(`SELECT ${SPEC_COLUMNS} FROM task_specs WHERE tenant = ? AND seq = ?`)
  return (tenant, seq) => select.get(tenant, seq) as TaskSpec | undefined
}

export function prepareReceiptLookup(
  database: Database,
): (tenant: number, seq: number) => Receipt | undefined {
  const select = database.prepare(`SELECT ${RECEIPT_COLUMNS} FROM receipts WHERE tenant = ? AND seq = ?`)
  const withParents = prepareParents(database)
  return (tenant, seq) => {
    const row = select.get(tenant, seq) as ReceiptRow | undefined
    return row === undefined ? undefined : withParents(row)
  }
}

/** Completes a row to a receipt. Parents come in ascending order. */
export function prepareParents(database: Database): (row: ReceiptRow) => Receipt {
  const select = database.prepare(
    'SELECT parent FROM receipt_parents WHERE tenant = ? AND child = ? ORDER BY parent',
  )
  return (row) => {
    const parents = select.all(row.tenant, row.seq) as { readonly parent: number }[]
    return { ...row, parents: parents.map(({ parent }) => parent) }
  }
}
