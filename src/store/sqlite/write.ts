import type { Relationship } from '../../core/command.ts'
import type { DoneTask, OpenTask } from '../../core/task.ts'
import type { Tenant } from '../../core/world.ts'
import { CHANGING_COLUMNS, DONE_COLUMNS, doneRow, OPEN_COLUMNS, openRow } from '../rows.ts'
import type { Changes, Loaded } from '../store.ts'
import type { Database, Statement, Value } from './database.ts'
import { prepareInboxWrites } from './inbox.ts'
import { LANE_COLUMNS, RECEIPT_COLUMNS, SPEC_COLUMNS } from './lookup.ts'
import { prepareQuestionWrites } from './questions.ts'

/** What evidence that comes later can change of a done task. */
const REPAIRED_COLUMNS = [
  'updated_at',
  'result',
  'artifacts',
  'delivery_proof',
  'receipt_seq',
  'obligation_open',
] as const

/** Writes what a batch decided. A batch that changes nothing writes nothing, and so costs no disk access. */
export function prepareWrite(database: Database): (changes: Changes, loaded: Loaded) => void {
  const writeTenants = prepareTenants(database)
  const writeTasks = prepareTasks(database)
  const writeQuestions = prepareQuestionWrites(database)
  const writeReceipts = prepareReceipts(database)
  const writeObligations = prepareObligations(database)
  const writeLanes = prepareLanes(database)
  const writePrincipals = preparePrincipals(database)
  const writeInbox = prepareInboxWrites(database)

  return (changes, loaded) => {
    if (isUnchanged(changes, loaded)) return
    writeTenants(changes.tenants.length > 0 ? changes.tenants : loaded.tenants, loaded.now)
    writeLanes(changes)
    writeTasks(changes)
    writeQuestions(changes)
    writeReceipts(changes)
    writeObligations(changes)
    writePrincipals(changes)
    writeInbox(changes)
  }
}

function isUnchanged(changes: Changes, loaded: Loaded): boolean {
  const { tenants, granted: _granted, answered: _answered, hints: _hints, ...rows } = changes
  if (Object.values(rows).some((list) => list.length > 0)) return false
  return tenants.every((tenant) => loaded.tenants.some((before) => isSame(before, tenant)))
}

function isSame(a: Tenant, b: Tenant): boolean {
  return (
    a.tenant === b.tenant &&
    a.seq === b.seq &&
    a.clock === b.clock &&
    a.open_tasks === b.open_tasks &&
    a.active_leases === b.active_leases &&
    a.lanes === b.lanes &&
    a.lanes_version === b.lanes_version
  )
}

function prepareTenants(database: Database): (tenants: readonly Tenant[], now: number) => void {
  const update = database.prepare(
    `UPDATE tenants SET seq = ?, clock = ?, open_tasks = ?, active_leases = ?, lanes = ?, lanes_version = ?,
       committed_at = ?
     WHERE tenant = ?`,
  )
  return (tenants, now) => {
    for (const { tenant, seq, clock, open_tasks, active_leases, lanes, lanes_version } of tenants) {
      runOnce(update, seq, clock, open_tasks, active_leases, lanes, lanes_version, now, tenant)
    }
  }
}

function prepareTasks(database: Database): (changes: Changes) => void {
  const insert = database.prepare(insertInto('tasks', OPEN_COLUMNS))
  const update = database.prepare(
    `UPDATE tasks SET ${assign(CHANGING_COLUMNS)} WHERE task_id = ? AND tenant = ?`,
  )
  const remove = database.prepare('DELETE FROM tasks WHERE task_id = ? AND tenant = ?')
  const insertDone = database.prepare(insertInto('tasks_done', DONE_COLUMNS))
  const repair = database.prepare(
    `UPDATE tasks_done SET ${assign(REPAIRED_COLUMNS)} WHERE task_id = ? AND tenant = ?`,
  )
  const insertSpec = database.prepare(insertInto('task_specs', SPEC_COLUMNS))
  const insertProgress = database.prepare(
    insertInto('task_progress', ['tenant', 'task_id', 'n', 'at', 'lease_id', 'progress']),
  )
  return (changes) => {
    for (const task of changes.inserted) insert.run(...openValues(task, OPEN_COLUMNS))
    for (const task of changes.updated) {
      runOnce(update, ...openValues(task, CHANGING_COLUMNS), task.task_id, task.tenant)
    }
    for (const task of changes.finished) {
      remove.run(task.task_id, task.tenant)
      insertDone.run(...doneValues(task, DONE_COLUMNS))
    }
    for (const task of changes.repaired) {
      runOnce(repair, ...doneValues(task, REPAIRED_COLUMNS), task.task_id, task.tenant)
    }
    for (const spec of changes.specs) insertSpec.run(...SPEC_COLUMNS.map((column) => spec[column]))
    for (const { tenant, task_id, n, at, lease_id, progress } of changes.progress) {
      insertProgress.run(tenant, task_id, n, at, lease_id, progress)
    }
  }
}

function prepareReceipts(database: Database): (changes: Changes) => void {
  const insert = database.prepare(insertInto('receipts', RECEIPT_COLUMNS))
  const insertParent = database.prepare(insertInto('receipt_parents', ['tenant', 'child', 'parent']))
  return (changes) => {
    for (const receipt of changes.receipts) {
      insert.run(
        receipt.tenant,
        receipt.seq,
        receipt.receipt_type,
        receipt.created_at,
        receipt.from,
        receipt.to,
        receipt.task_id,
        receipt.lease_id,
        receipt.schedule_id,
        receipt.body,
        receipt.hash,
        receipt.instance,
      )
      for (const parent of receipt.parents) insertParent.run(receipt.tenant, receipt.seq, parent)
    }
  }
}

function prepareObligations(database: Database): (changes: Changes) => void {
  const insert = database.prepare(insertInto('open_obligations', ['tenant', 'principal', 'seq', 'task_id']))
  const remove = database.prepare(
    'DELETE FROM open_obligations WHERE tenant = ? AND principal = ? AND seq = ?',
  )
  return (changes) => {
    for (const { tenant, principal, seq, task_id } of changes.opened) {
      insert.run(tenant, principal, seq, task_id)
    }
    for (const { tenant, principal, seq } of changes.closed) remove.run(tenant, principal, seq)
  }
}

function prepareLanes(database: Database): (changes: Changes) => void {
  const put = database.prepare(
    `${insertInto('lanes', LANE_COLUMNS)}
     ON CONFLICT DO UPDATE SET ${LANE_COLUMNS.map((column) => `${column} = excluded.${column}`)}`,
  )
  const count = database.prepare(
    `UPDATE lanes SET mark = ?, tasks = ?, owner = ?, owned = ?, version = ? WHERE tenant = ? AND lane = ?`,
  )
  return (changes) => {
    for (const row of changes.lanes) {
      const { tenant, lane, type, capabilities, priority, mark, tasks, owner, owned, version } = row
      put.run(tenant, lane, type, JSON.stringify(capabilities), priority, mark, tasks, owner, owned, version)
    }
    for (const { tenant, lane, mark, tasks, owner, owned, version } of changes.counted) {
      runOnce(count, mark, tasks, owner, owned, version, tenant, lane)
    }
  }
}

function preparePrincipals(database: Database): (changes: Changes) => void {
  const putOwner = database.prepare(
    `${insertInto('owners', ['tenant', 'owner', 'last_rank', 'weight'])}
     ON CONFLICT DO UPDATE SET last_rank = excluded.last_rank, weight = excluded.weight`,
  )
  const putRelationship = database.prepare(
    `${insertInto('relationships', RELATIONSHIP)} ON CONFLICT DO UPDATE SET
       ${RELATIONSHIP.slice(2).map((column) => `${column} = excluded.${column}`)}`,
  )
  return (changes) => {
    for (const { tenant, owner, last_rank, weight } of changes.owners) {
      putOwner.run(tenant, owner, last_rank, weight)
    }
    for (const row of changes.relationships) {
      putRelationship.run(...RELATIONSHIP.map((column) => row[column]))
    }
  }
}

const RELATIONSHIP = [
  'tenant',
  'principal',
  'instance_id',
  'first_seen_at',
  'last_seen_at',
  'sessions_count',
  'agent_version',
  'client_capabilities',
  'instances',
] as const satisfies readonly (keyof Relationship)[]

/** A row that should be there and is not must not be lost silently. */
function runOnce(statement: Statement, ...values: readonly Value[]): void {
  const { changes } = statement.run(...values)
  if (Number(changes) !== 1) throw new Error(`a row to be changed is not there (${values.slice(-2)})`)
}

function openValues(task: OpenTask, columns: readonly (typeof OPEN_COLUMNS)[number][]): Value[] {
  const row = openRow(task)
  return columns.map((column) => row[column])
}

function doneValues(task: DoneTask, columns: readonly (typeof DONE_COLUMNS)[number][]): Value[] {
  const row = doneRow(task)
  return columns.map((column) => {
    const value = row[column]
    return typeof value === 'boolean' ? Number(value) : value
  })
}

function insertInto(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns}) VALUES (${columns.map(() => '?')})`
}

function assign(columns: readonly string[]): string {
  return columns.map((column) => `${column} = ?`).join(', ')
}
