import type { Obligation } from '../../core/draft.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { Receipt } from '../../core/receipt.ts'
import { type DoneTask, type OpenTask, type TaskSpec, wakeAt } from '../../core/task.ts'
import { DAY_MS } from '../../core/time.ts'
import type { Random } from '../../util/random.ts'
import type { Changes } from '../store.ts'
import { type InboxRows, inboxRows } from './inbox-rows.ts'
import type { Known } from './known.ts'
import { type Segment, segmentsOf } from './segments.ts'
import { type SeqList, seqListsOf } from './seq-lists.ts'
import { type TaskRow, taskRow } from './task-head.ts'
import {
  DONE_CODES,
  type DoneRow,
  encodeDetails,
  encodeState,
  type LiveRow,
  OPEN_CODES,
  type Parked,
  parkedOf,
} from './task-state.ts'
import { type ChildRow, type TaskReceipt, WrittenTasks } from './written-tasks.ts'

/** What changes of a row of `tasks_live`. */
interface LiveChange extends LiveRow {
  readonly parked: Parked
  readonly wake_at: number | null
}

/** A row of `tasks_live` with the columns of its indexes. */
interface LiveInsert extends LiveChange {
  readonly lane: number
  readonly pool: number
  readonly rank: number
  readonly owner: PrincipalKey
  readonly deadline_at: number | null
}

interface LiveUpdate extends LiveChange {
  /** The `parked` of its present key. */
  readonly was: Parked
}

interface LiveKey {
  readonly tenant: number
  readonly parked: Parked
  readonly seq: number
}

/** A row of `tasks_done` as it is inserted. */
interface DoneInsert extends DoneRow {
  /** When the retention of the task has to be applied; null if never. */
  readonly expires_at: number | null
}

/** The rows of one commit, besides those that are stored as `Changes` has them. */
export interface Rows extends InboxRows {
  readonly tasks: readonly TaskRow[]
  readonly inserted: readonly LiveInsert[]
  readonly updated: readonly LiveUpdate[]
  readonly removed: readonly LiveKey[]
  readonly finished: readonly DoneInsert[]
  readonly repaired: readonly DoneRow[]
  readonly segments: readonly Segment[]
  /** Tasks by owner. */
  readonly owned: readonly SeqList[]
  /** Receipts by addressee. */
  readonly addressed: readonly SeqList[]
  readonly task_receipts: readonly TaskReceipt[]
  readonly children: readonly ChildRow[]
  /** Those that no row of `tasks_live` stands for. */
  readonly opened: readonly Obligation[]
  readonly closed: readonly Obligation[]
}

/** How many seqs a row of `owned_tasks` or `addressed_receipts` has at most. */
const MAX_LISTED = 256

/** Lays out what a batch decided. `maxSegment` is about how many characters a segment has at most. */
export function rowsOf(changes: Changes, known: Known, maxSegment: number, random: Random): Rows {
  const written = new WrittenTasks(changes, known)
  return {
    tasks: changes.specs.map(taskRow),
    inserted: changes.inserted.map((task) => liveInsert(task, written)),
    updated: changes.updated.map((task) => liveUpdate(task, written, known.parked(task))),
    removed: changes.finished.flatMap((task) =>
      known.isLive(task) ? [{ tenant: task.tenant, parked: known.parked(task), seq: task.seq }] : [],
    ),
    finished: changes.finished.map((task) => doneInsert(task, written)),
    repaired: changes.repaired.map((task) => doneRow(task, written)),
    segments: segmentsOf(changes.receipts, maxSegment, random),
    owned: seqListsOf(changes.specs.map(owned), MAX_LISTED),
    addressed: seqListsOf(changes.receipts.map(addressed), MAX_LISTED),
    task_receipts: written.taskReceipts,
    children: written.children,
    opened: opened(changes, known, written),
    closed: changes.closed.filter((obligation) => !written.closes(obligation)),
    ...inboxRows(changes, known),
  }
}

/**
 * The row of an open task stands for what its owner is owed by its assignment. A row of `open_obligations` stands for
 * every other obligation: towards the agent it is done for, of a task that has ended without evidence, and of schedules.
 */
function opened(changes: Changes, known: Known, written: WrittenTasks): Obligation[] {
  const found = changes.opened.filter((obligation) => !written.opens(obligation))
  for (const task of changes.finished) {
    const { tenant, owner, seq, task_id, outcome } = task
    if (outcome.obligation_open && known.isLive(task)) found.push({ tenant, principal: owner, seq, task_id })
  }
  return found
}

// Each object below is one literal, as in core/task.ts.

function liveInsert(task: OpenTask, written: WrittenTasks): LiveInsert {
  return {
    tenant: task.tenant,
    parked: parkedOf(task),
    seq: task.seq,
    status: OPEN_CODES[task.status],
    lane: task.lane,
    pool: task.pool,
    rank: task.rank,
    owner: task.owner,
    wake_at: wakeAt(task),
    deadline_at: task.deadline_at,
    state: encodeState(task, written.receiptsOf(task)),
  }
}

function liveUpdate(task: OpenTask, written: WrittenTasks, was: Parked): LiveUpdate {
  return {
    tenant: task.tenant,
    was,
    parked: parkedOf(task),
    seq: task.seq,
    status: OPEN_CODES[task.status],
    wake_at: wakeAt(task),
    state: encodeState(task, written.receiptsOf(task)),
  }
}

function doneInsert(task: DoneTask, written: WrittenTasks): DoneInsert {
  const { outcome, retention_days } = task
  return {
    tenant: task.tenant,
    seq: task.seq,
    status: DONE_CODES[task.status],
    state: encodeState(task, written.receiptsOf(task)),
    result: outcome.result,
    details: encodeDetails(outcome),
    expires_at: retention_days === null ? null : outcome.completed_at + retention_days * DAY_MS,
  }
}

function doneRow(task: DoneTask, written: WrittenTasks): DoneRow {
  return {
    tenant: task.tenant,
    seq: task.seq,
    status: DONE_CODES[task.status],
    state: encodeState(task, written.receiptsOf(task)),
    result: task.outcome.result,
    details: encodeDetails(task.outcome),
  }
}

function owned({ tenant, owner, seq }: TaskSpec) {
  return { tenant, principal: owner, seq }
}

function addressed({ tenant, to, seq }: Receipt) {
  return { tenant, principal: to, seq }
}
