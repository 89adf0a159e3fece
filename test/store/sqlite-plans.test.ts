import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AUDIT_PAGE, AUDIT_REMOVAL } from '../../src/store/sqlite/audit.ts'
import { type Database, openDatabase } from '../../src/store/sqlite/database.ts'
import { NEXT_SEGMENTS } from '../../src/store/sqlite/erasure.ts'
import { HISTORY, HISTORY_REMOVAL } from '../../src/store/sqlite/history.ts'
import { ITEM, MARKED, UNREAD_LISTS, UNREAD_WITH } from '../../src/store/sqlite/inbox.ts'
import { CHANGED_LANES } from '../../src/store/sqlite/lanes.ts'
import { CHILDREN, LISTS, SEGMENT_WITH, SEGMENTS, TASK_RECEIPTS } from '../../src/store/sqlite/ledger.ts'
import {
  LATEST_CHECKPOINT,
  LOG_SEGMENTS,
  LOG_TILE,
  NEXT_CHECKPOINTS,
} from '../../src/store/sqlite/ledger-log.ts'
import { LINE, SCANS, TEXTS } from '../../src/store/sqlite/lines.ts'
import {
  ACKNOWLEDGEMENT,
  BY_KEY,
  CHILD,
  DUE_LEASES,
  DUE_WAITING,
  NEXT_WAKE,
  OVERDUE,
  READY_IN_LANE,
  READY_IN_POOL,
} from '../../src/store/sqlite/load.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { OUTBOX_DUE, OUTBOX_SET_ASIDE } from '../../src/store/sqlite/outbox.ts'
import {
  OPEN as OPEN_QUESTIONS,
  LINES as QUESTION_LINES,
  PAGES as QUESTIONS,
  OF_TASK as QUESTIONS_OF_TASK,
} from '../../src/store/sqlite/questions.ts'
import { HEAD_OF_LINE, LEASES, OWED, STATUS_COUNTS } from '../../src/store/sqlite/reads.ts'
import { DONE, LIVE } from '../../src/store/sqlite/tasks.ts'
import { USAGE_BYTES, USAGE_HOURS, USAGE_REMOVAL, USAGE_UNSENT } from '../../src/store/sqlite/usage.ts'

let database: Database

beforeAll(async () => {
  database = await openDatabase(':memory:')
  migrate(database, 0)
})
afterAll(() => {
  database.close()
})

function planOf(sql: string): string {
  const values = sql
    .split('?')
    .slice(1)
    .map(() => 1)
  const rows = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { readonly detail: string }[]
  return rows.map((row) => row.detail).join('\n')
}

const QUERIES: readonly [string, string, RegExp][] = [
  ['an open task', LIVE, /PRIMARY KEY \(tenant=\? AND parked=\? AND seq=\?\)/],
  ['a done task', DONE, /PRIMARY KEY \(tenant=\? AND status=\? AND seq=\?\)/],
  ['heads of a lane', READY_IN_LANE, /INDEX tasks_ready \(tenant=\? AND lane=\? AND rank>\?\)/],
  ['heads of a pool', READY_IN_POOL, /INDEX tasks_ready_any \(tenant=\? AND pool=\? AND rank>\?\)/],
  ['expired leases', DUE_LEASES, /INDEX tasks_leased \(tenant=\? AND wake_at<\?\)/],
  ['due tasks', DUE_WAITING, /INDEX tasks_waiting \(tenant=\? AND wake_at>\? AND wake_at<\?\)/],
  [
    'ready tasks past their deadline',
    OVERDUE,
    /INDEX tasks_deadline \(tenant=\? AND deadline_at>\? AND deadline_at<\?\)/,
  ],
  ['leases', LEASES, /INDEX tasks_leased \(tenant=\? AND \(wake_at,seq\)>\(\?,\?\)\)/],
  ['changed lanes', CHANGED_LANES, /PRIMARY KEY \(tenant=\?\)/],
  ['idempotency keys', BY_KEY, /INDEX tasks_key \(tenant=\? AND owner=\? AND idempotency_key=\?\)/],
  ['newest child', CHILD, /PRIMARY KEY \(tenant=\? AND parent=\?\)/],
  ['acknowledgements', ACKNOWLEDGEMENT, /PRIMARY KEY \(tenant=\? AND parent=\?\)/],
  ['children', CHILDREN, /PRIMARY KEY \(tenant=\? AND parent=\?\)/],
  ['scan of all', SCANS.all, /SEARCH t USING PRIMARY KEY \(tenant=\? AND seq<\?\)/],
  ['scan of a session', SCANS.session, /INDEX tasks_session \(tenant=\? AND session_id=\? AND seq<\?\)/],
  ['scan of queued tasks', SCANS.queued, /SEARCH l USING PRIMARY KEY \(tenant=\? AND parked=\? AND seq<\?\)/],
  [
    'scan of tasks that wait for approval',
    SCANS.pending_approval,
    /SEARCH l USING PRIMARY KEY \(tenant=\? AND parked=\? AND seq<\?\)/,
  ],
  [
    'scan of tasks that wait for input',
    SCANS.input_required,
    /SEARCH l USING PRIMARY KEY \(tenant=\? AND parked=\? AND seq<\?\)/,
  ],
  [
    'scan of a terminal status',
    SCANS.done,
    /SEARCH d USING PRIMARY KEY \(tenant=\? AND status=\? AND seq<\?\)/,
  ],
  ['the narrow row of a task', LINE, /SEARCH t USING PRIMARY KEY \(tenant=\? AND seq=\?\)/],
  ['the long texts of a task', TEXTS, /SEARCH t USING PRIMARY KEY \(tenant=\? AND seq=\?\)/],
  [
    'the tasks of an owner',
    LISTS.owned_tasks.descending,
    /PRIMARY KEY \(tenant=\? AND principal=\? AND first<\?\)/,
  ],
  ['a receipt', SEGMENT_WITH, /PRIMARY KEY \(tenant=\? AND first<\?\)/],
  ['receipts', SEGMENTS.ascending, /PRIMARY KEY \(tenant=\? AND first>\?\)/],
  ['receipts, newest first', SEGMENTS.descending, /PRIMARY KEY \(tenant=\? AND first<\?\)/],
  ['receipts of a task', TASK_RECEIPTS.ascending, /PRIMARY KEY \(tenant=\? AND task_id=\? AND seq>\?\)/],
  [
    'receipts of a task, newest first',
    TASK_RECEIPTS.descending,
    /PRIMARY KEY \(tenant=\? AND task_id=\? AND seq<\?\)/,
  ],
  [
    'receipts of an addressee',
    LISTS.addressed_receipts.ascending,
    /PRIMARY KEY \(tenant=\? AND principal=\? AND first>\?\)/,
  ],
  [
    'receipts of an addressee, newest first',
    LISTS.addressed_receipts.descending,
    /PRIMARY KEY \(tenant=\? AND principal=\? AND first<\?\)/,
  ],
  ['obligations of open tasks', OWED.tasks, /INDEX tasks_owed \(tenant=\? AND owner=\? AND seq>\?\)/],
  ['other obligations', OWED.others, /PRIMARY KEY \(tenant=\? AND principal=\? AND seq>\?\)/],
  ['next rows of the ledger', NEXT_SEGMENTS, /PRIMARY KEY \(tenant=\? AND first>\?\)/],
  ['audit events', AUDIT_PAGE, /PRIMARY KEY \(tenant=\? AND id>\? AND id<\?\)/],
  ['removal of audit events', AUDIT_REMOVAL, /PRIMARY KEY \(tenant=\? AND id<\?\)/],
  ['rows for the log', LOG_SEGMENTS, /PRIMARY KEY \(tenant=\? AND first>\?\)/],
  ['a tile of the log', LOG_TILE, /PRIMARY KEY \(tenant=\? AND level=\? AND n=\?\)/],
  ['the latest checkpoint', LATEST_CHECKPOINT, /PRIMARY KEY \(tenant=\?\)/],
  ['next checkpoints', NEXT_CHECKPOINTS, /PRIMARY KEY \(tenant=\? AND size>\?\)/],
  ['the history of tasks', HISTORY, /PRIMARY KEY \(tenant=\? AND step=\? AND at>\? AND at<\?\)/],
  ['removal of history', HISTORY_REMOVAL, /PRIMARY KEY \(tenant=\? AND step=\? AND at<\?\)/],
  ['hours of usage', USAGE_HOURS, /PRIMARY KEY \(tenant=\? AND hour>\? AND hour<\?\)/],
  ['receipt bytes of earlier hours', USAGE_BYTES, /PRIMARY KEY \(tenant=\? AND hour<\?\)/],
  ['unsent usage events', USAGE_UNSENT, /INDEX usage_events_unsent \(tenant=\?\)/],
  ['removal of usage events', USAGE_REMOVAL, /PRIMARY KEY \(tenant=\? AND id<\?\)/],
  [
    'due receipts of the outbox',
    OUTBOX_DUE,
    /INDEX receipt_outbox_tasks \(tenant=\? AND task_id=\? AND seq<\?\)/,
  ],
  [
    'receipts that were set aside',
    OUTBOX_SET_ASIDE,
    /INDEX receipt_outbox_states \(tenant=\? AND state=\? AND seq>\?\)/,
  ],
  ['an item of an inbox', ITEM, /PRIMARY KEY \(tenant=\? AND principal=\? AND seq=\?\)/],
  ['marked items', MARKED.ascending, /PRIMARY KEY \(tenant=\? AND principal=\? AND seq>\?\)/],
  ['marked items, newest first', MARKED.descending, /PRIMARY KEY \(tenant=\? AND principal=\? AND seq<\?\)/],
  ['an unread item', UNREAD_WITH, /PRIMARY KEY \(tenant=\? AND principal=\? AND first<\?\)/],
  ['unread items', UNREAD_LISTS.ascending, /PRIMARY KEY \(tenant=\? AND principal=\? AND first>\?\)/],
  [
    'unread items, newest first',
    UNREAD_LISTS.descending,
    /PRIMARY KEY \(tenant=\? AND principal=\? AND first<\?\)/,
  ],
  ['questions of a task', QUESTIONS_OF_TASK, /PRIMARY KEY \(task_id=\? AND tenant=\?\)/],
  ['questions', QUESTIONS.all.ascending, /INDEX questions_all \(tenant=\? AND kind=\? AND seq>\?\)/],
  [
    'questions, newest first',
    QUESTIONS.all.descending,
    /INDEX questions_all \(tenant=\? AND kind=\? AND seq<\?\)/,
  ],
  ['open questions', QUESTIONS.open.ascending, /INDEX questions_open \(tenant=\? AND kind=\? AND seq>\?\)/],
  [
    'open questions, newest first',
    QUESTIONS.open.descending,
    /INDEX questions_open \(tenant=\? AND kind=\? AND seq<\?\)/,
  ],
  [
    'narrow rows of open questions',
    QUESTION_LINES.open.ascending,
    /INDEX questions_open \(tenant=\? AND kind=\? AND seq>\?\)/,
  ],
  ['count of open questions', OPEN_QUESTIONS, /INDEX questions_open \(tenant=\?\)/],
]

describe('query plans', () => {
  it.each(QUERIES)('the query for %s uses an index without sorting or scanning', (_, sql, index) => {
    const plan = planOf(sql)
    expect(plan).toMatch(index)
    expect(plan).not.toMatch(/TEMP B-TREE/)
    expect(plan).not.toMatch(/^SCAN/m)
    expect(plan).not.toMatch(/AUTOMATIC/)
  })

  it.each(['leased', 'running'] as const)('the scan of %s tasks reads the leases only', (status) => {
    const plan = planOf(SCANS[status])
    expect(plan).toMatch(/SEARCH l USING INDEX tasks_leased \(tenant=\?\)/)
    expect(plan).not.toMatch(/SCAN|AUTOMATIC/)
  })

  it('the query for the next wake time reads the first entry of two indexes', () => {
    const plan = planOf(NEXT_WAKE)
    expect(plan).toMatch(/SEARCH tasks_live USING INDEX tasks_leased \(tenant=\?\)/)
    expect(plan).toMatch(/SEARCH tasks_live USING INDEX tasks_waiting \(tenant=\?/)
  })

  it('the query for the oldest ready task reads the first entry of each pool', () => {
    const plan = planOf(HEAD_OF_LINE)
    expect(plan).toMatch(/SEARCH l USING INDEX lanes_pools \(tenant=\?\)/)
    expect(plan).toMatch(/SEARCH t USING INDEX tasks_ready_any \(tenant=\? AND pool=\? AND rank>\?\)/)
    expect(plan).not.toMatch(/TEMP B-TREE|AUTOMATIC/)
  })

  it('the query for counts by status reads only rows of that status, and leases', () => {
    const plan = planOf(STATUS_COUNTS)
    expect(plan.match(/SEARCH tasks_live USING PRIMARY KEY \(tenant=\? AND parked=\?\)/g)).toHaveLength(3)
    expect(plan.match(/SEARCH tasks_live USING INDEX tasks_leased \(tenant=\?\)/g)).toHaveLength(2)
    expect(plan.match(/SEARCH tasks_done USING PRIMARY KEY \(tenant=\? AND status=\?\)/g)).toHaveLength(3)
    expect(plan).not.toMatch(/TEMP B-TREE|AUTOMATIC|SCAN tasks/)
  })
})
