import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../src/store/sqlite/database.ts'
import { COUNTS, ITEM, OF_TASK, PAGES } from '../../src/store/sqlite/inbox.ts'
import {
  ACKNOWLEDGEMENT,
  BY_KEY,
  CHILD,
  DUE,
  DUE_REFS,
  NEXT_WAKE,
  OVERDUE_REFS,
  READY_IN_LANE,
  READY_IN_POOL,
} from '../../src/store/sqlite/load.ts'
import { CHANGED_LANES } from '../../src/store/sqlite/lookup.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import {
  OPEN as OPEN_QUESTIONS,
  LINES as QUESTION_LINES,
  PAGES as QUESTIONS,
  OF_TASK as QUESTIONS_OF_TASK,
} from '../../src/store/sqlite/questions.ts'
import {
  CHILDREN,
  HAD_LEASE,
  HOLDERS,
  LEASES_OF,
  LINES,
  OBLIGATION_LINES,
  OBLIGATIONS,
  RECEIPT_LINES,
  RECEIPTS,
  SCANS,
  STATUS,
  STATUS_COUNTS,
  TASK_LEASE,
} from '../../src/store/sqlite/reads.ts'

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
  ['heads of a lane', READY_IN_LANE, /INDEX tasks_ready \(tenant=\? AND lane=\? AND rank>\?\)/],
  ['heads of a pool', READY_IN_POOL, /INDEX tasks_ready_any \(tenant=\? AND pool=\? AND rank>\?\)/],
  ['due tasks', DUE, /INDEX tasks_wake \(tenant=\? AND wake_at<\?\)/],
  ['references to due tasks', DUE_REFS, /INDEX tasks_wake \(tenant=\? AND wake_at<\?\)/],
  [
    'ready tasks past their deadline',
    OVERDUE_REFS,
    /INDEX tasks_deadline \(tenant=\? AND deadline_at>\? AND deadline_at<\?\)/,
  ],
  ['the next wake time', NEXT_WAKE, /INDEX tasks_wake \(tenant=\? AND wake_at>\?\)/],
  ['changed lanes', CHANGED_LANES, /PRIMARY KEY \(tenant=\?\)/],
  ['idempotency keys', BY_KEY, /INDEX task_specs_key \(tenant=\? AND owner=\? AND idempotency_key=\?\)/],
  ['newest child', CHILD, /INDEX receipt_parents_parent \(tenant=\? AND parent=\?\)/],
  ['acknowledgements', ACKNOWLEDGEMENT, /INDEX receipt_parents_parent \(tenant=\? AND parent=\?\)/],
  ['scan of all', SCANS.all, /SEARCH s USING PRIMARY KEY \(tenant=\? AND seq<\?\)/],
  ['scan of an owner', SCANS.owner, /INDEX task_specs_owner \(tenant=\? AND owner=\? AND seq<\?\)/],
  ['scan of a session', SCANS.session, /INDEX task_specs_session \(tenant=\? AND session_id=\? AND seq<\?\)/],
  ['scan of an open status', SCANS.open, /INDEX tasks_status \(tenant=\? AND status=\? AND seq<\?\)/],
  ['scan of a terminal status', SCANS.done, /INDEX tasks_done_status \(tenant=\? AND status=\? AND seq<\?\)/],
  ['receipts', RECEIPTS.all.ascending, /PRIMARY KEY \(tenant=\? AND seq>\?\)/],
  ['receipts, newest first', RECEIPTS.all.descending, /PRIMARY KEY \(tenant=\? AND seq<\?\)/],
  [
    'receipts of a task',
    RECEIPTS.task.ascending,
    /INDEX receipts_task \(tenant=\? AND task_id=\? AND seq>\?\)/,
  ],
  [
    'receipts of a task, newest first',
    RECEIPTS.task.descending,
    /INDEX receipts_task \(tenant=\? AND task_id=\? AND seq<\?\)/,
  ],
  ['receipts of an addressee', RECEIPTS.to.ascending, /INDEX receipts_to \(tenant=\? AND to=\? AND seq>\?\)/],
  [
    'receipts of an addressee, newest first',
    RECEIPTS.to.descending,
    /INDEX receipts_to \(tenant=\? AND to=\? AND seq<\?\)/,
  ],
  [
    'narrow rows of receipts of an addressee',
    RECEIPT_LINES.to.ascending,
    /INDEX receipts_to \(tenant=\? AND to=\? AND seq>\?\)/,
  ],
  [
    'narrow rows of obligations',
    OBLIGATION_LINES,
    /SEARCH o USING PRIMARY KEY \(tenant=\? AND principal=\? AND seq>\?\)/,
  ],
  ['narrow rows of tasks', LINES, /SEARCH t USING PRIMARY KEY \(task_id=\? AND tenant=\?\)/],
  ['children', CHILDREN, /INDEX receipt_parents_parent \(tenant=\? AND parent=\?\)/],
  ['obligations', OBLIGATIONS, /SEARCH o USING PRIMARY KEY \(tenant=\? AND principal=\? AND seq>\?\)/],
  ['an item of an inbox', ITEM, /PRIMARY KEY \(tenant=\? AND principal=\? AND seq=\?\)/],
  ['an inbox', PAGES.all.ascending, /PRIMARY KEY \(tenant=\? AND principal=\? AND seq>\?\)/],
  ['an inbox, newest first', PAGES.all.descending, /PRIMARY KEY \(tenant=\? AND principal=\? AND seq<\?\)/],
  ['unread items', PAGES.unread.ascending, /INDEX inbox_unread \(tenant=\? AND principal=\? AND seq>\?\)/],
  [
    'unread items, newest first',
    PAGES.unread.descending,
    /INDEX inbox_unread \(tenant=\? AND principal=\? AND seq<\?\)/,
  ],
  ['items of a task', OF_TASK, /INDEX receipts_task \(tenant=\? AND task_id=\?\)/],
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
  [
    'the lease of a task',
    TASK_LEASE,
    /SEARCH s USING PRIMARY KEY \(tenant=\? AND seq=\?\)\n.*SEARCH t USING PRIMARY KEY \(task_id=\? AND tenant=\?\)/,
  ],
  ['statuses', STATUS, /SEARCH tasks USING PRIMARY KEY \(task_id=\? AND tenant=\?\)/],
]

describe('query plans', () => {
  it.each(QUERIES)('the query for %s uses an index without sorting or scanning', (_, sql, index) => {
    const plan = planOf(sql)
    expect(plan).toMatch(index)
    expect(plan).not.toMatch(/TEMP B-TREE/)
    expect(plan).not.toMatch(/^SCAN/m)
    expect(plan).not.toMatch(/AUTOMATIC/)
  })

  it('the query for a former lease uses the index of receipts by task', () => {
    const plan = planOf(HAD_LEASE)
    expect(plan).toMatch(/INDEX receipts_task \(tenant=\? AND task_id=\?\)/)
    expect(plan).not.toMatch(/TEMP B-TREE|AUTOMATIC/)
  })

  it('the query for the leases of a worker uses the status index', () => {
    const plan = planOf(LEASES_OF)
    expect(plan).toMatch(/INDEX tasks_status \(tenant=\? AND status=\?\)/)
    expect(plan).not.toMatch(/SCAN|AUTOMATIC/)
  })

  it('the query for lease holders uses the status index', () => {
    const plan = planOf(HOLDERS)
    expect(plan).toMatch(/INDEX tasks_status \(tenant=\? AND status=\?\)/)
    expect(plan).not.toMatch(/SCAN|AUTOMATIC/)
  })

  it('the query for counts by status uses only covering indexes', () => {
    const plan = planOf(STATUS_COUNTS)
    expect(
      plan.match(/SEARCH tasks USING COVERING INDEX tasks_status \(tenant=\? AND status=\?\)/g),
    ).toHaveLength(5)
    expect(plan.match(/USING COVERING INDEX tasks_done_status \(tenant=\? AND status=\?\)/g)).toHaveLength(3)
    expect(plan).not.toMatch(/TEMP B-TREE|AUTOMATIC|SCAN tasks/)
  })

  it('the query for inbox counts uses the primary key without sorting', () => {
    const plan = planOf(COUNTS)
    expect(plan).toMatch(/SEARCH inbox USING PRIMARY KEY \(tenant=\? AND principal=\?\)/)
    expect(plan).not.toMatch(/TEMP B-TREE/)
    expect(plan).not.toMatch(/SCAN inbox/)
  })
})
