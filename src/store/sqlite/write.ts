import type { Relationship } from '../../core/command.ts'
import type { Tenant } from '../../core/world.ts'
import { rateText } from '../layout/lane-rate.ts'
import { thinnedBy } from '../layout/progress.ts'
import type { Rows } from '../layout/rows.ts'
import type { Changes, Loaded } from '../store.ts'
import type { Database, Statement } from './database.ts'
import { prepareInboxWrites } from './inbox.ts'
import { LANE_COLUMNS } from './lanes.ts'
import { prepareQuestionWrites } from './questions.ts'
import { prepareLinkWrites } from './task-links.ts'

const TASK = ['tenant', 'seq', 'owner', 'created_at', 'session_id', 'idempotency_key', 'head', 'input']
const LIVE = [
  'tenant',
  'parked',
  'seq',
  'status',
  'lane',
  'pool',
  'rank',
  'owner',
  'wake_at',
  'deadline_at',
  'state',
]
const DONE = ['tenant', 'status', 'seq', 'state', 'result', 'details', 'expires_at']
const LIST = ['tenant', 'principal', 'first', 'seqs']

/** Writes what a batch decided. A batch that changes nothing writes nothing, and so costs no disk access. */
export function prepareWrite(database: Database): (changes: Changes, rows: Rows, loaded: Loaded) => void {
  const writeTenants = prepareTenants(database)
  const writeTasks = prepareTasks(database)
  const writeProgress = prepareProgress(database)
  const writeQuestions = prepareQuestionWrites(database)
  const writeReceipts = prepareReceipts(database)
  const writeObligations = prepareObligations(database)
  const writeLanes = prepareLanes(database)
  const writePrincipals = preparePrincipals(database)
  const writeInbox = prepareInboxWrites(database)
  const writeLinks = prepareLinkWrites(database)

  return (changes, rows, loaded) => {
    if (isUnchanged(changes, loaded)) return
    writeTenants(changes.tenants.length > 0 ? changes.tenants : loaded.tenants, loaded.now)
    writeLanes(changes)
    writeTasks(rows)
    writeProgress(changes)
    writeQuestions(changes)
    writeReceipts(rows)
    writeObligations(rows)
    writePrincipals(changes)
    writeInbox(rows)
    writeLinks(changes)
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
    a.ended_tasks === b.ended_tasks &&
    a.receipt_bytes === b.receipt_bytes &&
    a.lanes === b.lanes &&
    a.lanes_version === b.lanes_version
  )
}

function prepareTenants(database: Database): (tenants: readonly Tenant[], now: number) => void {
  const update = database.prepare(
    `UPDATE tenants SET seq = ?, clock = ?, open_tasks = ?, active_leases = ?, ended_tasks = ?, receipt_bytes = ?,
       lanes = ?, lanes_version = ?, committed_at = ?
     WHERE tenant = ?`,
  )
  return (tenants, now) => {
    for (const row of tenants) {
      const { tenant, seq, clock, open_tasks, active_leases, ended_tasks, receipt_bytes } = row
      const { lanes, lanes_version } = row
      const counts = [open_tasks, active_leases, ended_tasks, receipt_bytes, lanes, lanes_version]
      expectOne(update.run(seq, clock, ...counts, now, tenant), tenant, seq)
    }
  }
}

function prepareTasks(database: Database): (rows: Rows) => void {
  const insert = database.prepare(insertInto('tasks', TASK))
  const insertLive = database.prepare(insertInto('tasks_live', LIVE))
  const update = database.prepare(
    `UPDATE tasks_live SET parked = ?, status = ?, wake_at = ?, state = ? WHERE tenant = ? AND parked = ? AND seq = ?`,
  )
  const remove = database.prepare('DELETE FROM tasks_live WHERE tenant = ? AND parked = ? AND seq = ?')
  const insertDone = database.prepare(insertInto('tasks_done', DONE))
  const repair = database.prepare(
    'UPDATE tasks_done SET state = ?, result = ?, details = ? WHERE tenant = ? AND status = ? AND seq = ?',
  )
  const insertOwned = database.prepare(insertInto('owned_tasks', LIST))
  return (rows) => {
    for (const row of rows.tasks) {
      const { tenant, seq, owner, created_at, session_id, idempotency_key, head, input } = row
      insert.run(tenant, seq, owner, created_at, session_id, idempotency_key, head, input)
    }
    for (const row of rows.inserted) {
      const { tenant, parked, seq, status, lane, pool, rank, owner, wake_at, deadline_at, state } = row
      insertLive.run(tenant, parked, seq, status, lane, pool, rank, owner, wake_at, deadline_at, state)
    }
    for (const { tenant, seq, parked, was, status, wake_at, state } of rows.updated) {
      expectOne(update.run(parked, status, wake_at, state, tenant, was, seq), tenant, seq)
    }
    for (const { tenant, parked, seq } of rows.removed)
      expectOne(remove.run(tenant, parked, seq), tenant, seq)
    for (const { tenant, status, seq, state, result, details, expires_at } of rows.finished) {
      insertDone.run(tenant, status, seq, state, result, details, expires_at)
    }
    for (const { tenant, status, seq, state, result, details } of rows.repaired) {
      expectOne(repair.run(state, result, details, tenant, status, seq), tenant, seq)
    }
    for (const { tenant, principal, first, seqs } of rows.owned)
      insertOwned.run(tenant, principal, first, seqs)
  }
}

function prepareProgress(database: Database): (changes: Changes) => void {
  const insert = database.prepare(
    insertInto('task_progress', ['tenant', 'task_id', 'n', 'at', 'lease_id', 'progress']),
  )
  const thin = database.prepare(
    `DELETE FROM task_progress WHERE task_id = ? AND tenant = ? AND n <= ? AND n NOT IN (
      SELECT max(n) FROM task_progress WHERE task_id = ? AND tenant = ? GROUP BY lease_id)`,
  )
  return (changes) => {
    for (const { tenant, task_id, n, at, lease_id, progress } of changes.progress) {
      insert.run(tenant, task_id, n, at, lease_id, progress)
    }
    for (const { tenant, task_id, n } of thinnedBy(changes.progress)) {
      thin.run(task_id, tenant, n, task_id, tenant)
    }
  }
}

function prepareReceipts(database: Database): (rows: Rows) => void {
  const insert = database.prepare(
    insertInto('ledger', ['tenant', 'first', 'created_at', 'instance', 'receipts']),
  )
  const insertAddressed = database.prepare(insertInto('addressed_receipts', LIST))
  const insertOfTask = database.prepare(insertInto('task_receipts', ['tenant', 'task_id', 'seq']))
  const insertChild = database.prepare(
    insertInto('receipt_children', ['tenant', 'parent', 'child', 'receipt_type', '"from"']),
  )
  return (rows) => {
    for (const { tenant, first, created_at, instance, receipts } of rows.segments) {
      insert.run(tenant, first, created_at, instance, receipts)
    }
    for (const { tenant, principal, first, seqs } of rows.addressed) {
      insertAddressed.run(tenant, principal, first, seqs)
    }
    for (const { tenant, task_id, seq } of rows.task_receipts) insertOfTask.run(tenant, task_id, seq)
    for (const { tenant, parent, child, receipt_type, from } of rows.children) {
      insertChild.run(tenant, parent, child, receipt_type, from)
    }
  }
}

function prepareObligations(database: Database): (rows: Rows) => void {
  const insert = database.prepare(insertInto('open_obligations', ['tenant', 'principal', 'seq', 'task_id']))
  const remove = database.prepare(
    'DELETE FROM open_obligations WHERE tenant = ? AND principal = ? AND seq = ?',
  )
  return (rows) => {
    for (const { tenant, principal, seq, task_id } of rows.opened) {
      insert.run(tenant, principal, seq, task_id)
    }
    for (const { tenant, principal, seq } of rows.closed) remove.run(tenant, principal, seq)
  }
}

function prepareLanes(database: Database): (changes: Changes) => void {
  const put = database.prepare(
    `${insertInto('lanes', LANE_COLUMNS)}
     ON CONFLICT DO UPDATE SET ${LANE_COLUMNS.map((column) => `${column} = excluded.${column}`)}`,
  )
  const count = database.prepare(
    `UPDATE lanes SET mark = ?, tasks = ?, owner = ?, owned = ?, version = ?, max_held = ?, held = ?,
       rate = ?
     WHERE tenant = ? AND lane = ?`,
  )
  return (changes) => {
    for (const row of changes.lanes) {
      const { tenant, lane, type, priority, mark, tasks, owner, owned, version } = row
      const { limited, max_held, held, rated, rate } = row
      const name = [tenant, lane, type, JSON.stringify(row.capabilities), priority]
      put.run(...name, mark, tasks, owner, owned, version, limited, max_held, held, rated, rateText(rate))
    }
    for (const row of changes.counted) {
      const { tenant, lane, mark, tasks, owner, owned, version, max_held, held, rate } = row
      const state = [mark, tasks, owner, owned, version, max_held, held, rateText(rate)]
      expectOne(count.run(...state, tenant, lane), tenant, lane)
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
function expectOne({ changes }: ReturnType<Statement['run']>, tenant: number, key: number): void {
  if (Number(changes) !== 1) throw new Error(`a row to be changed is not there (${tenant}, ${key})`)
}

function insertInto(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns}) VALUES (${columns.map(() => '?')})`
}
