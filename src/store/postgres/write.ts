import type { Tenant } from '../../core/world.ts'
import { rateText } from '../layout/lane-rate.ts'
import { thinnedBy } from '../layout/progress.ts'
import type { Rows } from '../layout/rows.ts'
import type { Changes, Loaded } from '../store.ts'
import { assignments, list, parameters, type RowOf, rowsOf, type Shape } from './columns.ts'
import type { Value } from './database.ts'
import {
  CHILD,
  CHILD_COUNTS,
  CHILD_TASK,
  DONE_INSERT,
  DONE_KEY,
  ITEM,
  ITEM_MARKS,
  LANE,
  LANE_KEY,
  LANE_STATE,
  LIVE,
  LIVE_KEY,
  OBLIGATION,
  OUTCOME,
  OWNER,
  PROGRESS,
  QUESTION,
  QUESTION_KEY,
  RELATIONSHIP,
  SEGMENT,
  SEQ_KEY,
  SEQ_LIST,
  TASK,
  TASK_LINK,
  TASK_LINK_KEY,
  TASK_RECEIPT,
  UNREAD,
  UNREAD_KEY,
  UNSETTLED,
  VERDICT,
} from './shapes.ts'

/** What changes of an open task. */
const CHANGING = { parked: 'smallint', status: 'smallint', wake_at: 'bigint', state: 'text' } as const
const UPDATED = { tenant: 'int', was: 'smallint', seq: 'bigint', ...CHANGING } as const
const REPAIRED = { ...DONE_KEY, ...OUTCOME } as const
const UNREAD_CHANGED = { ...UNREAD_KEY, seqs: 'text' } as const
const COUNTED = { ...LANE_KEY, ...LANE_STATE } as const
const OBLIGATION_KEY = { tenant: 'int', principal: 'text', seq: 'bigint' } as const
const DECIDED = { ...QUESTION_KEY, ...VERDICT } as const
const PROGRESS_KEY = { task_id: 'uuid', tenant: 'int', n: 'int' } as const
const COUNTERS = {
  seq: 'bigint',
  clock: 'bigint',
  open_tasks: 'int',
  active_leases: 'int',
  ended_tasks: 'bigint',
  receipt_bytes: 'bigint',
  lanes: 'int',
  lanes_version: 'bigint',
} as const
const TENANT = { tenant: 'int', ...COUNTERS } as const

/**
 * Every statement takes its rows as arrays, the tenant among them. A bare `tenant = $1` would invite the planner to
 * start from all rows of the tenant.
 */
export const writes = {
  insert_tasks: insertInto('tasks', TASK),

  insert_live: insertInto('tasks_live', LIVE),

  update_live: update(
    'tasks_live',
    UPDATED,
    'tenant = x.tenant AND parked = x.was AND seq = x.seq',
    CHANGING,
  ),

  delete_live: remove('tasks_live', LIVE_KEY),

  insert_done: insertInto('tasks_done', DONE_INSERT),

  update_done: update('tasks_done', REPAIRED, keyed(DONE_KEY), OUTCOME),

  insert_owned: insertInto('owned_tasks', SEQ_LIST),

  insert_questions: insertInto('questions', QUESTION),

  update_questions: update('questions', DECIDED, keyed(QUESTION_KEY), VERDICT, `t.state = 'open'`),

  insert_segments: insertInto('ledger', SEGMENT),

  insert_addressed: insertInto('addressed_receipts', SEQ_LIST),

  insert_task_receipts: insertInto('task_receipts', TASK_RECEIPT),

  insert_children: insertInto('receipt_children', CHILD),

  insert_obligations: insertInto('open_obligations', OBLIGATION),

  delete_obligations: remove('open_obligations', OBLIGATION_KEY, 'if it exists'),

  upsert_owners: `
    INSERT INTO owners (${list(OWNER)}) SELECT * FROM ${rowsOf(OWNER)}
    ON CONFLICT (tenant, owner) DO UPDATE SET last_rank = excluded.last_rank, weight = excluded.weight`,

  upsert_lanes: `
    INSERT INTO lanes (${list(LANE)}) SELECT * FROM ${rowsOf(LANE)}
    ON CONFLICT (tenant, lane) DO UPDATE SET ${assignments(LANE, 'excluded.')}`,

  update_lanes: update('lanes', COUNTED, keyed(LANE_KEY), LANE_STATE),

  insert_progress: insertInto('task_progress', PROGRESS),

  thin_progress: `
    DELETE FROM task_progress t USING ${rowsOf(PROGRESS_KEY)}
    WHERE t.task_id = x.task_id AND t.tenant = x.tenant AND t.n <= x.n AND t.n NOT IN (
      SELECT max(n) FROM task_progress WHERE task_id = x.task_id AND tenant = x.tenant GROUP BY lease_id)`,

  upsert_relationships: `
    INSERT INTO relationships (${list(RELATIONSHIP)}) SELECT * FROM ${rowsOf(RELATIONSHIP)}
    ON CONFLICT (tenant, principal) DO UPDATE SET
      instance_id = excluded.instance_id, first_seen_at = excluded.first_seen_at,
      last_seen_at = excluded.last_seen_at, sessions_count = excluded.sessions_count,
      agent_version = excluded.agent_version, client_capabilities = excluded.client_capabilities,
      instances = excluded.instances`,

  insert_unread: insertInto('inbox_unread', UNREAD),

  update_unread: update('inbox_unread', UNREAD_CHANGED, keyed(UNREAD_KEY), { seqs: 'text' }),

  delete_unread: remove('inbox_unread', UNREAD_KEY),

  upsert_items: `
    INSERT INTO inbox (${list(ITEM)}) SELECT * FROM ${rowsOf(ITEM)}
    ON CONFLICT (tenant, principal, seq) DO UPDATE SET ${assignments(ITEM_MARKS, 'excluded.')}`,

  insert_links: insertInto('task_links', TASK_LINK),

  delete_links: remove('task_links', TASK_LINK_KEY, 'if it exists'),

  insert_child_tasks: insertInto('child_tasks', CHILD_TASK),

  add_child_counts: `
    INSERT INTO child_counts AS c (${list(CHILD_COUNTS)}) SELECT * FROM ${rowsOf(CHILD_COUNTS)}
    ON CONFLICT (tenant, parent) DO UPDATE SET total = c.total + excluded.total,
      succeeded = c.succeeded + excluded.succeeded, failed = c.failed + excluded.failed,
      canceled = c.canceled + excluded.canceled`,

  insert_unsettled: insertInto('unsettled_tasks', UNSETTLED),

  delete_unsettled: remove('unsettled_tasks', SEQ_KEY, 'if it exists'),

  update_tenants: expectAll(`
    UPDATE tenants t SET ${assignments(COUNTERS)}, committed_at = $${Object.keys(TENANT).length + 1}::bigint FROM ${rowsOf(TENANT)}
    WHERE t.tenant = x.tenant`),

  granted_specs: `
    SELECT ${list(TASK, 's.')} FROM ${rowsOf(SEQ_KEY)}
    CROSS JOIN LATERAL (SELECT * FROM tasks WHERE tenant = x.tenant AND seq = x.seq LIMIT 1) s`,
} as const satisfies Readonly<Record<string, string>>

function insertInto(table: string, shape: Shape): string {
  return `INSERT INTO ${table} (${list(shape)}) SELECT * FROM ${rowsOf(shape)}`
}

/** The condition that a row of the table has the key of `x`. */
function keyed(key: Shape): string {
  return Object.keys(key)
    .map((column) => `${column} = x.${column}`)
    .join(' AND ')
}

/**
 * Finds the rows one by one before it changes them: in a join with the table itself, a planner that believes it to be
 * small would rather read all of it. Nothing else changes these rows in between, since the tenant is locked.
 */
function found(table: string, shape: Shape, condition: string): string {
  return `(SELECT x.*, l.ctid AS place FROM ${rowsOf(shape)}
    CROSS JOIN LATERAL (SELECT ctid FROM ${table} WHERE ${condition} LIMIT 1) l) y WHERE t.ctid = y.place`
}

function update(table: string, shape: Shape, condition: string, changed: Shape, before = 'true'): string {
  const rows = found(table, shape, condition)
  return expectAll(`UPDATE ${table} t SET ${assignments(changed, 'y.')} FROM ${rows} AND ${before}`)
}

function remove(table: string, key: Shape, whether: 'always' | 'if it exists' = 'always'): string {
  const statement = `DELETE FROM ${table} t USING ${found(table, key, keyed(key))}`
  return whether === 'always' ? expectAll(statement) : statement
}

/** The statement, refused unless it finds every row. */
function expectAll(statement: string): string {
  return `WITH changed AS (${statement} RETURNING 1) SELECT expect_rows(count(*), cardinality($1)) FROM changed`
}

export interface Write {
  readonly name: keyof typeof writes
  readonly values: readonly Value[]
}

/** The statements that have rows, in an order in which they can be run. Empty when nothing changes. */
export function writesOf(changes: Changes, rows: Rows, loaded: Loaded): Write[] {
  const found: Write[] = []
  const add = <S extends Shape>(name: Write['name'], shape: S, each: readonly RowOf<S>[]) => {
    if (each.length > 0) found.push({ name, values: parameters(shape, each) })
  }
  add('insert_tasks', TASK, rows.tasks)
  add('insert_live', LIVE, rows.inserted)
  add('update_live', UPDATED, rows.updated)
  add('delete_live', LIVE_KEY, rows.removed)
  add('insert_done', DONE_INSERT, rows.finished)
  add('update_done', REPAIRED, rows.repaired)
  add('insert_owned', SEQ_LIST, rows.owned)
  add('insert_questions', QUESTION, changes.asked)
  add('update_questions', DECIDED, changes.decided)
  add('insert_segments', SEGMENT, rows.segments)
  add('insert_addressed', SEQ_LIST, rows.addressed)
  add('insert_task_receipts', TASK_RECEIPT, rows.task_receipts)
  add('insert_children', CHILD, rows.children)
  add('insert_obligations', OBLIGATION, rows.opened)
  add('delete_obligations', OBLIGATION_KEY, rows.closed)
  add('upsert_owners', OWNER, changes.owners)
  add(
    'upsert_lanes',
    LANE,
    changes.lanes.map((lane) => ({
      ...lane,
      capabilities: JSON.stringify(lane.capabilities),
      rate: rateText(lane.rate),
    })),
  )
  add(
    'update_lanes',
    COUNTED,
    changes.counted.map((lane) => ({ ...lane, rate: rateText(lane.rate) })),
  )
  add('insert_progress', PROGRESS, changes.progress)
  add('thin_progress', PROGRESS_KEY, thinnedBy(changes.progress))
  add('upsert_relationships', RELATIONSHIP, changes.relationships)
  add('insert_unread', UNREAD, rows.unread)
  add('update_unread', UNREAD_CHANGED, rows.unread_changed)
  add('delete_unread', UNREAD_KEY, rows.unread_removed)
  add('upsert_items', ITEM, rows.items)
  add('insert_links', TASK_LINK, changes.linked)
  add('delete_links', TASK_LINK_KEY, changes.followed)
  add('insert_child_tasks', CHILD_TASK, changes.child_tasks)
  add('add_child_counts', CHILD_COUNTS, changes.child_counts)
  add('insert_unsettled', UNSETTLED, changes.unsettled)
  add('delete_unsettled', SEQ_KEY, changes.settled)
  if (found.length > 0 || changes.tenants.some((tenant) => isChanged(tenant, loaded))) {
    const tenants = changes.tenants.length > 0 ? changes.tenants : loaded.tenants
    found.push({ name: 'update_tenants', values: [...parameters(TENANT, tenants), loaded.now] })
  }
  return found
}

function isChanged(tenant: Tenant, loaded: Loaded): boolean {
  const before = loaded.tenants.find((other) => other.tenant === tenant.tenant)
  return (
    before === undefined ||
    before.seq !== tenant.seq ||
    before.clock !== tenant.clock ||
    before.open_tasks !== tenant.open_tasks ||
    before.active_leases !== tenant.active_leases ||
    before.ended_tasks !== tenant.ended_tasks ||
    before.receipt_bytes !== tenant.receipt_bytes ||
    before.lanes !== tenant.lanes ||
    before.lanes_version !== tenant.lanes_version
  )
}
