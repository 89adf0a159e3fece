import type pg from 'pg'
import type { Relationship } from '../../core/command.ts'
import { isUuid } from '../../core/ids.ts'
import type { InboxItem } from '../../core/inbox.ts'
import type { LaneRow, Owner } from '../../core/matching.ts'
import type { Question } from '../../core/question.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { QueuedTask, TaskSpec } from '../../core/task.ts'
import { type DoneRow, doneTask, type OpenRow, openTask, queuedTask } from '../rows.ts'
import type { HeadRef, Loaded, Need, TaskRef } from '../store.ts'
import { list, parameters, type RowOf, rowsOf, type Shape } from './columns.ts'
import { run } from './database.ts'
import {
  DONE,
  ITEM,
  ITEM_KEY,
  LANE,
  OPEN,
  OWNER,
  QUESTION,
  RECEIPT,
  RELATIONSHIP,
  SEQ_KEY,
  SPEC,
  TASK_KEY,
} from './shapes.ts'
import { NOW } from './time.ts'

const KEY = { tenant: 'int', owner: 'text', idempotency_key: 'text' } as const
const OWNER_KEY = { tenant: 'int', owner: 'text' } as const
const HEAD = { tenant: 'int', lane: 'int', limit: 'int' } as const
const LANES_AFTER = { tenant: 'int', after: 'bigint' } as const
const DUE = { tenant: 'int', limit: 'int' } as const
const CHILD = { tenant: 'int', parent: 'bigint', receipt_type: 'text' } as const
const ACKNOWLEDGEMENT = { tenant: 'int', seq: 'bigint', by: 'text' } as const
const RELATIONSHIP_KEY = { tenant: 'int', principal: 'text' } as const

export const PARENTS = `ARRAY(
  SELECT p.parent FROM receipt_parents p WHERE p.tenant = r.tenant AND p.child = r.seq ORDER BY p.parent
) AS parents`

/**
 * No statement joins a second table but row by row, which a LIMIT makes sure of: through the tenant, which they
 * share, the planner could otherwise go to all rows of the tenant first.
 */
export const loads = {
  open_tasks: `
    SELECT ${list(OPEN, 't.')} FROM ${rowsOf(TASK_KEY)} JOIN tasks t USING (task_id, tenant)`,

  done_tasks: `
    SELECT ${list(DONE, 't.')} FROM ${rowsOf(TASK_KEY)} JOIN tasks_done t USING (task_id, tenant)`,

  questions: `
    SELECT ${list(QUESTION, 'q.')} FROM ${rowsOf(TASK_KEY)} JOIN questions q USING (task_id, tenant)
    ORDER BY q.task_id, q.n`,

  keys: `
    SELECT ${list(SPEC, 's.')} FROM ${rowsOf(KEY)} JOIN task_specs s USING (tenant, owner, idempotency_key)
    WHERE s.idempotency_key IS NOT NULL`,

  owners: `
    SELECT ${list(OWNER, 'o.')} FROM ${rowsOf(OWNER_KEY)} JOIN owners o USING (tenant, owner)`,

  heads_of_lanes: headsBy('lane'),
  heads_of_pools: headsBy('pool'),

  lanes: `
    SELECT ${list(LANE, 'l.')} FROM ${rowsOf(LANES_AFTER)}
    JOIN lanes l ON l.tenant = x.tenant AND l.version > x.after
    ORDER BY l.tenant, l.lane`,

  // The time stands in a subselect because an index cannot be searched for a volatile value.
  due: `
    SELECT t.* FROM ${rowsOf(DUE)}
    CROSS JOIN LATERAL (
      SELECT ${list(OPEN)} FROM tasks
      WHERE tenant = x.tenant AND wake_at <= (SELECT coalesce($3::bigint, ${NOW}))
      ORDER BY wake_at LIMIT x."limit"
    ) t`,

  receipts: `
    SELECT ${list(RECEIPT, 'r.')}, ${PARENTS} FROM ${rowsOf(SEQ_KEY)} JOIN receipts r USING (tenant, seq)`,

  children: `
    SELECT ${list(RECEIPT, 'r.')}, ${PARENTS} FROM ${rowsOf(CHILD)}
    CROSS JOIN LATERAL (
      SELECT c.* FROM receipt_parents p
      CROSS JOIN LATERAL (SELECT * FROM receipts WHERE tenant = p.tenant AND seq = p.child LIMIT 1) c
      WHERE p.parent = x.parent AND p.tenant = x.tenant AND c.receipt_type = x.receipt_type
      ORDER BY p.child DESC LIMIT 1
    ) r`,

  acknowledgements: `
    SELECT x.tenant, x.seq, x.by, r.seq AS acknowledgement
    FROM ${rowsOf(ACKNOWLEDGEMENT)} JOIN receipt_parents p ON p.parent = x.seq AND p.tenant = x.tenant
    CROSS JOIN LATERAL (
      SELECT seq, receipt_type, "from" FROM receipts WHERE tenant = p.tenant AND seq = p.child LIMIT 1
    ) r
    WHERE r.receipt_type = 'receipt.acknowledged' AND r."from" = x.by`,

  items: `
    SELECT ${list(ITEM, 'i.')} FROM ${rowsOf(ITEM_KEY)} JOIN inbox i USING (tenant, principal, seq)`,

  relationships: `
    SELECT ${list(RELATIONSHIP, 'r.')} FROM ${rowsOf(RELATIONSHIP_KEY)}
    JOIN relationships r USING (tenant, principal)`,
} as const satisfies Readonly<Record<string, string>>

/** Ready tasks from the mark on: below it there are only the index entries of tasks that are gone. */
function headsBy(column: 'lane' | 'pool'): string {
  return `
    SELECT x.n, t.*
    FROM unnest($1::int[], $2::int[], $3::int[]) WITH ORDINALITY AS x (tenant, lane, "limit", n)
    JOIN lanes l ON l.tenant = x.tenant AND l.lane = x.lane
    CROSS JOIN LATERAL (
      SELECT ${list(OPEN)} FROM tasks
      WHERE tenant = x.tenant AND ${column} = x.lane AND rank >= l.mark
        AND status = 'queued' AND wake_at IS NULL AND ${column} > 0
      ORDER BY rank, seq LIMIT x."limit"
    ) t
    ORDER BY x.n, t.rank, t.seq`
}

export type StoredLane = Omit<LaneRow, 'capabilities'> & { readonly capabilities: string }
type AcknowledgementRow = Loaded['acknowledgements'][number]
type HeadRow = OpenRow & { readonly n: number }

/** A statement that is ready to be sent; its answer goes to where it belongs. */
type Load = (client: pg.Client) => Promise<void>

/** The statements for what the need asks. Without `now`, the database's time says what is due. */
export function loadsOf(need: Need, loaded: Loaded, now: number | null): Load[] {
  const found: Load[] = []
  const add = <Row extends pg.QueryResultRow, S extends Shape>(
    name: keyof typeof loads,
    shape: S,
    refs: readonly RowOf<S>[],
    take: (row: Row) => void,
    ...more: (number | null)[]
  ) => {
    if (refs.length === 0) return
    const values = [...parameters(shape, refs), ...more]
    found.push(async (client) => {
      const rows = await run<Row>(client, { name, text: loads[name] }, values)
      for (const row of rows) take(row)
    })
  }
  const addHeads = (name: 'heads_of_lanes' | 'heads_of_pools', refs: readonly HeadRef[]) => {
    const heads = refs.map((ref): HeadDraft => ({ ...ref, tasks: [] }))
    loaded.heads.push(...heads)
    add(name, HEAD, refs, (row: HeadRow) => {
      heads[row.n - 1]?.tasks.push(queuedTask(row))
    })
  }
  const tasks = need.tasks.filter(isNameable)
  const inLanes = need.heads.filter((head) => !head.pool)
  const inPools = need.heads.filter((head) => head.pool)

  add('open_tasks', TASK_KEY, tasks, (row: OpenRow) => loaded.tasks.push(openTask(row)))
  const askers = need.questions.filter(isNameable)
  add('questions', TASK_KEY, askers, (row: Question) => loaded.questions.push(row))
  add('keys', KEY, need.keys, (row: TaskSpec) => loaded.specs.push(row))
  add('owners', OWNER_KEY, need.owners, (row: Owner) => loaded.owners.push(row))
  addHeads('heads_of_lanes', inLanes)
  addHeads('heads_of_pools', inPools)
  add('lanes', LANES_AFTER, need.lanes, (row: StoredLane) => loaded.lanes.push(laneOf(row)))
  add('due', DUE, need.due, (row: OpenRow) => loaded.due.push(openTask(row)), now)
  add('receipts', SEQ_KEY, need.receipts, (row: Receipt) => loaded.receipts.push(row))
  add('children', CHILD, need.children, (row: Receipt) => loaded.children.push(row))
  add('acknowledgements', ACKNOWLEDGEMENT, need.acknowledgements, (row: AcknowledgementRow) =>
    loaded.acknowledgements.push(row),
  )
  add('items', ITEM_KEY, need.items, (row: InboxItem) => loaded.items.push(row))
  add('relationships', RELATIONSHIP_KEY, need.relationships, (row: Relationship) =>
    loaded.relationships.push(row),
  )
  return found
}

/** Looks among the done tasks for those that are not open. */
export async function loadDone(client: pg.Client, need: Need, loaded: Loaded): Promise<void> {
  const found = new Set(loaded.tasks.map((task) => `${task.tenant} ${task.task_id}`))
  const refs = need.tasks.filter((ref) => isNameable(ref) && !found.has(`${ref.tenant} ${ref.task_id}`))
  if (refs.length === 0) return
  const statement = { name: 'done_tasks', text: loads.done_tasks }
  const rows = await run<DoneRow>(client, statement, parameters(TASK_KEY, refs))
  loaded.tasks.push(...rows.map(doneTask))
}

type HeadDraft = HeadRef & { readonly tasks: QueuedTask[] }

/** What is not a UUID names nothing; the database would refuse to compare it. */
function isNameable(ref: TaskRef): boolean {
  return isUuid(ref.task_id)
}

export function laneOf(row: StoredLane): LaneRow {
  return { ...row, capabilities: JSON.parse(row.capabilities) }
}
