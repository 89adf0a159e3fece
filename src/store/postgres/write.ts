import type { Receipt } from '../../core/receipt.ts'
import type { Tenant } from '../../core/world.ts'
import { doneRow, openRow } from '../rows.ts'
import type { Changes, Loaded } from '../store.ts'
import { assignments, list, parameters, type RowOf, rowsOf, type Shape } from './columns.ts'
import {
  CHANGING,
  DONE,
  FILED,
  ITEM_KEY,
  ITEM_MARKS,
  LANE,
  LANE_KEY,
  LANE_STATE,
  OBLIGATION,
  OPEN,
  OWNER,
  PARENT,
  PROGRESS,
  QUESTION,
  QUESTION_KEY,
  RECEIPT,
  RELATIONSHIP,
  REPAIR,
  SEQ_KEY,
  SPEC,
  TASK_KEY,
  VERDICT,
} from './shapes.ts'

const UPDATE = { ...TASK_KEY, ...CHANGING } as const
const REPAIRED = { ...TASK_KEY, ...REPAIR } as const
const COUNTED = { ...LANE_KEY, ...LANE_STATE } as const
const OBLIGATION_KEY = { tenant: 'int', principal: 'text', seq: 'bigint' } as const
const DECIDED = { ...QUESTION_KEY, ...VERDICT } as const
const MARKED = { ...ITEM_KEY, ...ITEM_MARKS } as const
const COUNTERS = {
  seq: 'bigint',
  clock: 'bigint',
  open_tasks: 'int',
  active_leases: 'int',
  lanes: 'int',
  lanes_version: 'bigint',
} as const
const TENANT = { tenant: 'int', ...COUNTERS } as const

/**
 * Every statement takes its rows as arrays, the tenant among them. A bare `tenant = $1` would invite the planner to
 * start from all rows of the tenant.
 */
export const writes = {
  insert_tasks: `
    INSERT INTO tasks (${list(OPEN)}) SELECT * FROM ${rowsOf(OPEN)}`,

  update_tasks: updateAll(`
    UPDATE tasks t SET ${assignments(CHANGING)} FROM ${rowsOf(UPDATE)}
    WHERE t.task_id = x.task_id AND t.tenant = x.tenant`),

  delete_finished: `
    DELETE FROM tasks t USING ${rowsOf(TASK_KEY)} WHERE t.task_id = x.task_id AND t.tenant = x.tenant`,

  insert_finished: `
    INSERT INTO tasks_done (${list(DONE)}) SELECT * FROM ${rowsOf(DONE)}`,

  update_repaired: updateAll(`
    UPDATE tasks_done t SET ${assignments(REPAIR)} FROM ${rowsOf(REPAIRED)}
    WHERE t.task_id = x.task_id AND t.tenant = x.tenant`),

  insert_specs: `
    INSERT INTO task_specs (${list(SPEC)}) SELECT * FROM ${rowsOf(SPEC)}`,

  insert_questions: `
    INSERT INTO questions (${list(QUESTION)}) SELECT * FROM ${rowsOf(QUESTION)}`,

  update_questions: updateAll(`
    UPDATE questions q SET ${assignments(VERDICT)} FROM ${rowsOf(DECIDED)}
    WHERE q.task_id = x.task_id AND q.tenant = x.tenant AND q.n = x.n AND q.state = 'open'`),

  insert_receipts: `
    INSERT INTO receipts (${list(RECEIPT)}) SELECT * FROM ${rowsOf(RECEIPT)}`,

  insert_parents: `
    INSERT INTO receipt_parents (${list(PARENT)}) SELECT * FROM ${rowsOf(PARENT)}`,

  insert_obligations: `
    INSERT INTO open_obligations (${list(OBLIGATION)}) SELECT * FROM ${rowsOf(OBLIGATION)}`,

  delete_obligations: `
    DELETE FROM open_obligations o USING ${rowsOf(OBLIGATION_KEY)}
    WHERE o.tenant = x.tenant AND o.principal = x.principal AND o.seq = x.seq`,

  upsert_owners: `
    INSERT INTO owners (${list(OWNER)}) SELECT * FROM ${rowsOf(OWNER)}
    ON CONFLICT (tenant, owner) DO UPDATE SET last_rank = excluded.last_rank, weight = excluded.weight`,

  upsert_lanes: `
    INSERT INTO lanes (${list(LANE)}) SELECT * FROM ${rowsOf(LANE)}
    ON CONFLICT (tenant, lane) DO UPDATE SET ${assignments(LANE, 'excluded.')}`,

  update_lanes: updateAll(`
    UPDATE lanes l SET ${assignments(LANE_STATE)} FROM ${rowsOf(COUNTED)}
    WHERE l.tenant = x.tenant AND l.lane = x.lane`),

  insert_progress: `
    INSERT INTO task_progress (${list(PROGRESS)}) SELECT * FROM ${rowsOf(PROGRESS)}`,

  upsert_relationships: `
    INSERT INTO relationships (${list(RELATIONSHIP)}) SELECT * FROM ${rowsOf(RELATIONSHIP)}
    ON CONFLICT (tenant, principal) DO UPDATE SET
      instance_id = excluded.instance_id, first_seen_at = excluded.first_seen_at,
      last_seen_at = excluded.last_seen_at, sessions_count = excluded.sessions_count,
      agent_version = excluded.agent_version, client_capabilities = excluded.client_capabilities,
      instances = excluded.instances`,

  insert_items: `
    INSERT INTO inbox (${list(FILED)}) SELECT * FROM ${rowsOf(FILED)}`,

  update_items: updateAll(`
    UPDATE inbox i SET ${assignments(ITEM_MARKS)} FROM ${rowsOf(MARKED)}
    WHERE i.tenant = x.tenant AND i.principal = x.principal AND i.seq = x.seq`),

  update_tenants: updateAll(`
    UPDATE tenants t SET ${assignments(COUNTERS)}, committed_at = $8::bigint FROM ${rowsOf(TENANT)}
    WHERE t.tenant = x.tenant`),

  granted_specs: `
    SELECT ${list(SPEC, 's.')} FROM ${rowsOf(SEQ_KEY)} JOIN task_specs s USING (tenant, seq)`,
} as const satisfies Readonly<Record<string, string>>

/** The update, refused unless it finds every row. */
function updateAll(update: string): string {
  return `WITH changed AS (${update} RETURNING 1) SELECT expect_rows(count(*), cardinality($1)) FROM changed`
}

export interface Write {
  readonly name: keyof typeof writes
  readonly values: readonly (string | number)[]
}

/** The statements that have rows, in an order in which they can be run. Empty when nothing changes. */
export function writesOf(changes: Changes, loaded: Loaded): Write[] {
  const found: Write[] = []
  const add = <S extends Shape>(name: Write['name'], shape: S, rows: readonly RowOf<S>[]) => {
    if (rows.length > 0) found.push({ name, values: parameters(shape, rows) })
  }
  add('insert_tasks', OPEN, changes.inserted.map(openRow))
  add('update_tasks', UPDATE, changes.updated.map(openRow))
  add('delete_finished', TASK_KEY, changes.finished)
  add('insert_finished', DONE, changes.finished.map(doneRow))
  add('update_repaired', REPAIRED, changes.repaired.map(doneRow))
  add('insert_specs', SPEC, changes.specs)
  add('insert_questions', QUESTION, changes.asked)
  add('update_questions', DECIDED, changes.decided)
  add('insert_receipts', RECEIPT, changes.receipts)
  add('insert_parents', PARENT, changes.receipts.flatMap(parentsOf))
  add('insert_obligations', OBLIGATION, changes.opened)
  add('delete_obligations', OBLIGATION_KEY, changes.closed)
  add('upsert_owners', OWNER, changes.owners)
  add(
    'upsert_lanes',
    LANE,
    changes.lanes.map((lane) => ({ ...lane, capabilities: JSON.stringify(lane.capabilities) })),
  )
  add('update_lanes', COUNTED, changes.counted)
  add('insert_progress', PROGRESS, changes.progress)
  add('upsert_relationships', RELATIONSHIP, changes.relationships)
  add('insert_items', FILED, changes.filed)
  add('update_items', MARKED, changes.marked)
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
    before.lanes !== tenant.lanes ||
    before.lanes_version !== tenant.lanes_version
  )
}

function parentsOf({ tenant, seq, parents }: Receipt): RowOf<typeof PARENT>[] {
  return [...new Set(parents)].map((parent) => ({ tenant, child: seq, parent }))
}
