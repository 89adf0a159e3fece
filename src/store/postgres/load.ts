import type pg from 'pg'
import type { Relationship } from '../../core/command.ts'
import type { TaskLink } from '../../core/flow.ts'
import { isUuid, taskSeq } from '../../core/ids.ts'
import type { LaneRow, Owner } from '../../core/matching.ts'
import type { Question } from '../../core/question.ts'
import type { QueuedTask } from '../../core/task.ts'
import type { Known } from '../layout/known.ts'
import { rateOf } from '../layout/lane-rate.ts'
import { OpenSegment, type Segment } from '../layout/segments.ts'
import { type TaskRow, taskSpec } from '../layout/task-head.ts'
import { type DoneRow, decodeDone, decodeLive, type LiveRow } from '../layout/task-state.ts'
import { type HeadRef, type Loaded, MAX_LINKS, type Need, type TaskRef } from '../store.ts'
import { list, parameters, type RowOf, rowsOf, type Shape } from './columns.ts'
import { run } from './database.ts'
import { ITEM_LOOKUP, type ItemRow, itemOf } from './items.ts'
import {
  DONE,
  ITEM_KEY,
  LANE,
  LIVE_STATE,
  OWNER,
  QUESTION,
  RELATIONSHIP,
  SEGMENT,
  SEQ_KEY,
  TASK,
  TASK_KEY,
  TASK_LINK,
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

/**
 * No statement joins a second table but row by row, which a LIMIT makes sure of: through the tenant, which they
 * share, the planner could otherwise go to all rows of the tenant first.
 */
export const loads = {
  live_tasks: `
    SELECT ${list(LIVE_STATE, 't.')} FROM ${rowsOf(SEQ_KEY)}
    CROSS JOIN LATERAL (
      SELECT * FROM tasks_live WHERE tenant = x.tenant AND parked IN (0, 1, 2) AND seq = x.seq LIMIT 1
    ) t`,

  done_tasks: `
    SELECT ${list(DONE, 't.')} FROM ${rowsOf(SEQ_KEY)}
    CROSS JOIN LATERAL (
      SELECT * FROM tasks_done WHERE tenant = x.tenant AND status IN (1, 2, 3) AND seq = x.seq LIMIT 1
    ) t`,

  questions: `
    SELECT ${list(QUESTION, 'q.')} FROM ${rowsOf(TASK_KEY)} JOIN questions q USING (task_id, tenant)
    ORDER BY q.task_id, q.n`,

  keys: `
    SELECT ${list(TASK, 's.')} FROM ${rowsOf(KEY)} JOIN tasks s USING (tenant, owner, idempotency_key)
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
    SELECT ${list(LIVE_STATE, 't.')} FROM ${rowsOf(DUE)}
    CROSS JOIN LATERAL (
      SELECT * FROM (
        (SELECT * FROM tasks_live
        WHERE tenant = x.tenant AND wake_at <= (SELECT coalesce($3::bigint, ${NOW})) AND status <= 2
        ORDER BY wake_at LIMIT x."limit")
        UNION ALL
        (SELECT * FROM tasks_live
        WHERE tenant = x.tenant AND wake_at <= (SELECT coalesce($3::bigint, ${NOW})) AND status > 2
          AND wake_at IS NOT NULL
        ORDER BY wake_at LIMIT x."limit")
      ) either
      ORDER BY wake_at LIMIT x."limit"
    ) t`,

  segments: `
    SELECT ${list(SEGMENT, 'l.')}
    FROM (
      SELECT DISTINCT x.tenant, (
        SELECT first FROM ledger WHERE tenant = x.tenant AND first <= x.seq ORDER BY first DESC LIMIT 1
      ) AS first
      FROM ${rowsOf(SEQ_KEY)}
    ) f
    CROSS JOIN LATERAL (SELECT * FROM ledger WHERE tenant = f.tenant AND first = f.first LIMIT 1) l`,

  children: `
    SELECT c.child, ${list(SEGMENT, 'l.')} FROM ${rowsOf(CHILD)}
    CROSS JOIN LATERAL (
      SELECT tenant, child FROM receipt_children
      WHERE parent = x.parent AND tenant = x.tenant AND receipt_type = x.receipt_type
      ORDER BY child DESC LIMIT 1
    ) c
    CROSS JOIN LATERAL (
      SELECT * FROM ledger WHERE tenant = c.tenant AND first <= c.child ORDER BY first DESC LIMIT 1
    ) l`,

  acknowledgements: `
    SELECT x.tenant, x.seq, x.by, c.child AS acknowledgement FROM ${rowsOf(ACKNOWLEDGEMENT)}
    CROSS JOIN LATERAL (
      SELECT child FROM receipt_children
      WHERE parent = x.seq AND tenant = x.tenant AND receipt_type = 'receipt.acknowledged' AND "from" = x.by
      ORDER BY child LIMIT 1
    ) c`,

  items: ITEM_LOOKUP,

  // One row more than are followed says that there are more.
  links: `
    SELECT ${list(TASK_LINK, 'l.')} FROM ${rowsOf(SEQ_KEY)}
    CROSS JOIN LATERAL (
      SELECT * FROM task_links WHERE tenant = x.tenant AND seq = x.seq ORDER BY task_id, n LIMIT ${MAX_LINKS + 1}
    ) l`,

  relationships: `
    SELECT ${list(RELATIONSHIP, 'r.')} FROM ${rowsOf(RELATIONSHIP_KEY)}
    JOIN relationships r USING (tenant, principal)`,
} as const satisfies Readonly<Record<string, string>>

/** Ready tasks from the mark on: below it there are only the index entries of tasks that are gone. */
function headsBy(column: 'lane' | 'pool'): string {
  return `
    SELECT x.n, ${list(LIVE_STATE, 't.')}
    FROM unnest($1::int[], $2::int[], $3::int[]) WITH ORDINALITY AS x (tenant, lane, "limit", n)
    JOIN lanes l ON l.tenant = x.tenant AND l.lane = x.lane
    CROSS JOIN LATERAL (
      SELECT ${list(LIVE_STATE)}, rank FROM tasks_live
      WHERE tenant = x.tenant AND ${column} = x.lane AND rank >= l.mark
        AND status = 3 AND wake_at IS NULL AND ${column} > 0
      ORDER BY rank, seq LIMIT x."limit"
    ) t
    ORDER BY x.n, t.rank, t.seq`
}

export type StoredLane = Omit<LaneRow, 'capabilities' | 'rate'> & {
  readonly capabilities: string
  readonly rate: string | null
}
type AcknowledgementRow = Loaded['acknowledgements'][number]
type HeadRow = LiveRow & { readonly n: number }
type ChildRow = Segment & { readonly child: number }

/** A statement that is ready to be sent; its answer goes to where it belongs. */
type Load = (client: pg.Client) => Promise<void>

/** The statements for what the need asks. Without `now`, the database's time says what is due. */
export function loadsOf(need: Need, loaded: Loaded, known: Known, now: number | null): Load[] {
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
      const task = known.task(decodeLive(row))
      if (task.status === 'queued') heads[row.n - 1]?.tasks.push(task)
    })
  }
  const tasks = seqsOf(need.tasks)
  const inLanes = need.heads.filter((head) => !head.pool)
  const inPools = need.heads.filter((head) => head.pool)

  add('live_tasks', SEQ_KEY, tasks.refs, (row: LiveRow) => {
    const stored = decodeLive(row)
    if (tasks.isWanted(stored.task)) loaded.tasks.push(known.task(stored))
  })
  const askers = need.questions.filter(isNameable)
  add('questions', TASK_KEY, askers, (row: Question) => loaded.questions.push(row))
  add('keys', KEY, need.keys, (row: TaskRow) => loaded.specs.push(taskSpec(row)))
  add('owners', OWNER_KEY, need.owners, (row: Owner) => loaded.owners.push(row))
  addHeads('heads_of_lanes', inLanes)
  addHeads('heads_of_pools', inPools)
  add('lanes', LANES_AFTER, need.lanes, (row: StoredLane) => loaded.lanes.push(laneOf(row)))
  add('due', DUE, need.due, (row: LiveRow) => loaded.due.push(known.task(decodeLive(row))), now)
  add('segments', SEQ_KEY, need.receipts, (row: Segment) => {
    const segment = new OpenSegment(row)
    for (const { tenant, seq } of need.receipts) {
      if (segment.has(tenant, seq)) loaded.receipts.push(segment.at(seq))
    }
  })
  add('children', CHILD, need.children, (row: ChildRow) =>
    loaded.children.push(new OpenSegment(row).at(row.child)),
  )
  add('acknowledgements', ACKNOWLEDGEMENT, need.acknowledgements, (row: AcknowledgementRow) =>
    loaded.acknowledgements.push(row),
  )
  add('items', ITEM_KEY, need.items, (row: ItemRow) => {
    const item = itemOf(row, known)
    if (item !== undefined) loaded.items.push(item)
  })
  const links = need.links.map(({ tenant, seq }) => ({ tenant, seq, links: [] as TaskLink[], more: false }))
  loaded.links.push(...links)
  add('links', SEQ_KEY, need.links, (row: TaskLink) => {
    const found = links.find(({ tenant, seq }) => tenant === row.tenant && seq === row.seq)
    if (found === undefined) return
    if (found.links.length < MAX_LINKS) found.links.push(row)
    else found.more = true
  })
  add('relationships', RELATIONSHIP_KEY, need.relationships, (row: Relationship) =>
    loaded.relationships.push(row),
  )
  return found
}

/** Looks among the done tasks for those that are not open. */
export async function loadDone(client: pg.Client, need: Need, loaded: Loaded, known: Known): Promise<void> {
  const found = new Set(loaded.tasks.map((task) => `${task.tenant} ${task.task_id}`))
  const tasks = seqsOf(need.tasks.filter((ref) => !found.has(`${ref.tenant} ${ref.task_id}`)))
  if (tasks.refs.length === 0) return
  const statement = { name: 'done_tasks', text: loads.done_tasks }
  for (const row of await run<DoneRow>(client, statement, parameters(SEQ_KEY, tasks.refs))) {
    const stored = decodeDone(row)
    if (tasks.isWanted(stored.task)) loaded.tasks.push(known.task(stored))
  }
}

/** The seqs that the ids of tasks contain. A task is wanted only if it has one of the ids. */
export function seqsOf(tasks: readonly TaskRef[]) {
  const wanted = new Set<string>()
  const refs: { tenant: number; seq: number }[] = []
  for (const { tenant, task_id } of tasks) {
    const seq = taskSeq(task_id)
    if (seq === undefined) continue
    wanted.add(`${tenant} ${task_id}`)
    refs.push({ tenant, seq })
  }
  return { refs, isWanted: ({ tenant, task_id }: TaskRef) => wanted.has(`${tenant} ${task_id}`) }
}

type HeadDraft = HeadRef & { readonly tasks: QueuedTask[] }

/** What is not a UUID names nothing; the database would refuse to compare it. */
function isNameable(ref: TaskRef): boolean {
  return isUuid(ref.task_id)
}

export function laneOf(row: StoredLane): LaneRow {
  return { ...row, capabilities: JSON.parse(row.capabilities), rate: rateOf(row.rate) }
}
