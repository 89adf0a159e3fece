import type { PrincipalKey } from '../../core/principal.ts'
import type { Collected, EndedTask, SaltedReceipt } from '../retention.ts'
import { addToArchive } from './archive-rows.ts'
import { OpenSegment } from './segments.ts'
import { decodeSeqs, encodeSeqs } from './seq-lists.ts'
import { Outdated, one, type Step, type Work } from './steps.ts'
import { DONE_CODES } from './task-state.ts'

type ListTable = 'owned_tasks' | 'addressed_receipts' | 'inbox_unread'

interface Member {
  readonly table: ListTable
  readonly principal: PrincipalKey
  readonly seq: number
}

interface ListRow {
  readonly first: number
  readonly seqs: string
}

export const ARCHIVING_STATEMENTS = {
  lock: 'UPDATE tenants SET committed_at = committed_at WHERE tenant = ?',
  remove_segment: 'DELETE FROM ledger WHERE tenant = ? AND first = ? AND receipts = ? RETURNING first',
  insert_segment: 'INSERT INTO ledger (tenant, first, created_at, instance, receipts) VALUES (?, ?, ?, ?, ?)',
  remove_done:
    'DELETE FROM tasks_done WHERE tenant = ? AND status = ? AND seq = ? AND state = ? RETURNING seq',
  remove_task: 'DELETE FROM tasks WHERE tenant = ? AND seq = ?',
  obligation: 'SELECT seq FROM open_obligations WHERE tenant = ? AND principal = ? AND seq = ?',
  remove_questions: 'DELETE FROM questions WHERE task_id = ? AND tenant = ?',
  remove_progress: 'DELETE FROM task_progress WHERE task_id = ? AND tenant = ?',
  remove_logs: 'DELETE FROM task_logs WHERE task_id = ? AND tenant = ?',
  remove_task_receipts: 'DELETE FROM task_receipts WHERE task_id = ? AND tenant = ?',
  remove_children: 'DELETE FROM receipt_children WHERE parent = ? AND tenant = ?',
  remove_child: 'DELETE FROM receipt_children WHERE parent = ? AND tenant = ? AND child = ?',
  remove_child_tasks: 'DELETE FROM child_tasks WHERE tenant = ? AND parent = ?',
  remove_child_counts: 'DELETE FROM child_counts WHERE tenant = ? AND parent = ?',
  remove_item: 'DELETE FROM inbox WHERE tenant = ? AND principal = ? AND seq = ?',
  count: `UPDATE tenants SET ended_tasks = ended_tasks - ?,
    receipt_bytes = CASE WHEN receipt_bytes < ? THEN 0 ELSE receipt_bytes - ? END WHERE tenant = ?`,
} as const

export const listStatements = (table: ListTable) =>
  ({
    with: `SELECT first, seqs FROM ${table} WHERE tenant = ? AND principal = ? AND first <= ?
      ORDER BY first DESC LIMIT 1`,
    update: `UPDATE ${table} SET seqs = ? WHERE tenant = ? AND principal = ? AND first = ?`,
    remove: `DELETE FROM ${table} WHERE tenant = ? AND principal = ? AND first = ?`,
  }) as const

/** Removes what was collected, and notes the file in which it is. */
export function* archive(
  tenant: number,
  { tasks, receipts, segments }: Collected,
  file: string,
  now: number,
): Work<true> {
  // Nothing commits for the tenant until this transaction ends.
  yield* one(ARCHIVING_STATEMENTS.lock, tenant)
  yield* checkObligations(tenant, tasks, receipts)
  const seqs = new Set(receipts.map(({ receipt }) => receipt.seq))
  yield* removeAll(
    segments.map(({ first, receipts: text }) => ({
      sql: ARCHIVING_STATEMENTS.remove_segment,
      values: [tenant, first, text],
    })),
  )
  yield segments.flatMap((segment) =>
    new OpenSegment(segment).except(seqs).map((rest) => ({
      sql: ARCHIVING_STATEMENTS.insert_segment,
      values: [tenant, rest.first, rest.created_at, rest.instance, rest.receipts],
    })),
  )
  yield* removeAll(
    tasks.map(({ task, state }) => ({
      sql: ARCHIVING_STATEMENTS.remove_done,
      values: [tenant, DONE_CODES[task.status], task.seq, state],
    })),
  )
  yield tasks.flatMap(({ task }) => rowsOfTask(tenant, task.seq, task.task_id))
  yield receipts.flatMap(({ receipt: { seq, parents } }) => [
    { sql: ARCHIVING_STATEMENTS.remove_children, values: [seq, tenant] },
    ...parents.map((parent) => ({ sql: ARCHIVING_STATEMENTS.remove_child, values: [parent, tenant, seq] })),
  ])
  yield* removeFromLists(tenant, membersOf(tasks, receipts))
  const bytes = receipts.reduce((sum, { receipt }) => sum + Buffer.byteLength(receipt.body), 0)
  yield* one(ARCHIVING_STATEMENTS.count, tasks.length, bytes, bytes, tenant)
  yield* addToArchive(tenant, file, [...seqs], tasks.length, now)
  return true
}

/** Every one of these rows must still be as it was. */
function* removeAll(steps: readonly Step[]): Work<void> {
  const removed = yield steps
  if (removed.some((rows) => rows.length === 0)) throw new Outdated('a row has changed')
}

function* checkObligations(
  tenant: number,
  tasks: readonly EndedTask[],
  receipts: readonly SaltedReceipt[],
): Work<void> {
  const open = yield readersOf(tasks, receipts).map(({ principal, seq }) => ({
    sql: ARCHIVING_STATEMENTS.obligation,
    values: [tenant, principal, seq],
  }))
  if (open.some((rows) => rows.length > 0)) throw new Outdated('an obligation is open')
}

function rowsOfTask(tenant: number, seq: number, taskId: string): Step[] {
  const { remove_task, remove_questions, remove_progress, remove_logs, remove_task_receipts } =
    ARCHIVING_STATEMENTS
  const { remove_child_tasks, remove_child_counts } = ARCHIVING_STATEMENTS
  return [
    { sql: remove_task, values: [tenant, seq] },
    ...[remove_child_tasks, remove_child_counts].map((sql) => ({ sql, values: [tenant, seq] })),
    ...[remove_questions, remove_progress, remove_logs, remove_task_receipts].map((sql) => ({
      sql,
      values: [taskId, tenant],
    })),
  ]
}

/** A receipt concerns its addressee, and those of a task also its owner and the agent on whose behalf it was done. */
function readersOf(
  tasks: readonly EndedTask[],
  receipts: readonly SaltedReceipt[],
): { readonly principal: PrincipalKey; readonly seq: number }[] {
  const parties = new Map(
    tasks.map(({ task }) => [task.task_id, [task.owner, `agent:${task.principal_ai}`] as const]),
  )
  return receipts.flatMap(({ receipt: { seq, to, task_id } }) => {
    const ofTask = task_id === null ? undefined : parties.get(task_id)
    return [...new Set<PrincipalKey>([to, ...(ofTask ?? [])])].map((principal) => ({ principal, seq }))
  })
}

function membersOf(tasks: readonly EndedTask[], receipts: readonly SaltedReceipt[]): Member[] {
  return [
    ...tasks.map(({ task }) => ({ table: 'owned_tasks', principal: task.owner, seq: task.seq }) as const),
    ...receipts.map(
      ({ receipt }) => ({ table: 'addressed_receipts', principal: receipt.to, seq: receipt.seq }) as const,
    ),
    ...readersOf(tasks, receipts).map((reader) => ({ table: 'inbox_unread', ...reader }) as const),
  ]
}

/** Removes seqs from the rows that list them, and the marks of inbox items. */
function* removeFromLists(tenant: number, members: readonly Member[]): Work<void> {
  const found = yield members.map(({ table, principal, seq }) => ({
    sql: listStatements(table).with,
    values: [tenant, principal, seq],
  }))
  const lists = new Map<
    string,
    { readonly member: Member; readonly row: ListRow; readonly left: Set<number> }
  >()
  for (const [n, member] of members.entries()) {
    const [row] = (found[n] ?? []) as ListRow[]
    if (row === undefined) continue
    const key = `${member.table} ${row.first} ${member.principal}`
    const list = lists.get(key) ?? { member, row, left: new Set(decodeSeqs(row.first, row.seqs)) }
    lists.set(key, list)
    list.left.delete(member.seq)
  }
  yield [...lists.values()].map(({ member: { table, principal }, row, left }) => {
    const key = [tenant, principal, row.first]
    const seqs = encodeSeqs(row.first, [...left])
    return left.size === 0
      ? { sql: listStatements(table).remove, values: key }
      : { sql: listStatements(table).update, values: [seqs, ...key] }
  })
  yield members
    .filter(({ table }) => table === 'inbox_unread')
    .map(({ principal, seq }) => ({
      sql: ARCHIVING_STATEMENTS.remove_item,
      values: [tenant, principal, seq],
    }))
}
