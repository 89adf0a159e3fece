import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type InboxItem, newItem } from '../../src/core/inbox.ts'
import type { LaneRow } from '../../src/core/matching.ts'
import type { Question } from '../../src/core/question.ts'
import type { Receipt } from '../../src/core/receipt.ts'
import type { Task } from '../../src/core/task.ts'
import type { Tenant } from '../../src/core/world.ts'
import { type Gate, openGate } from '../../src/features/gate.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store, TenantRef } from '../../src/store/store.ts'
import { admin, agent, ManualClock, worker } from './gates.ts'
import { checkInvariants } from './invariants.ts'

/** Changes to the rows that the store returns, to simulate corruption. */
interface Corruption {
  receipt?(receipt: Receipt): Receipt | undefined
  task?(task: Task): Task
  question?(question: Question): Question | undefined
  counters?(counters: Tenant): Tenant
  lane?(lane: LaneRow): LaneRow
  obligation?(receipt: Receipt): Receipt | undefined
  inbox?(items: InboxItem[]): InboxItem[]
}

describe('checkInvariants', () => {
  let store: Store
  let gate: Gate
  let tenant: TenantRef

  const checkCorrupted = async (corruption: Corruption) => {
    const { reads } = store
    const keep = <T>(rows: T[], change: ((row: T) => T | undefined) | undefined) =>
      change === undefined ? rows : rows.flatMap((row) => change(row) ?? [])
    return checkInvariants(
      {
        reads: {
          ...reads,
          receipts: async (...asked) => keep(await reads.receipts(...asked), corruption.receipt),
          tasks: async (...asked) =>
            (await reads.tasks(...asked)).map((row) => ({
              ...row,
              task: corruption.task?.(row.task) ?? row.task,
              questions: keep([...row.questions], corruption.question),
            })),
          obligations: async (...asked) => keep(await reads.obligations(...asked), corruption.obligation),
          inbox: async (...asked) => {
            const items = await reads.inbox(...asked)
            return corruption.inbox?.(items) ?? items
          },
          lanes: async (...asked) => keep(await reads.lanes(...asked), corruption.lane),
          counters: async (id) => {
            const counters = await reads.counters(id)
            return corruption.counters?.(counters) ?? counters
          },
        },
      },
      tenant,
    )
  }

  /** One task in each state, and one that was retried, lost and completed later with evidence. */
  beforeAll(async () => {
    const clock = new ManualClock()
    store = await openSqliteStore({ path: ':memory:', now: () => clock.now })
    gate = openGate({ store, sweeping: false })
    tenant = await store.tenant('default')
    const take = async () => {
      const { tasks } = await gate.leaseNext(worker(), { worker_id: 'w1' })
      const [task] = tasks
      if (task === undefined) throw new Error('no task to claim')
      return { worker_id: 'w1', task_id: task.task_id, lease_id: task.lease_id }
    }
    await gate.createTask(agent(), { type: 't', principal_ai: 'bob', max_attempts: 3 })
    await gate.fail(worker(), { ...(await take()), error: {}, retryable: true, retry_after_seconds: 0 })
    await gate.reportProgress(worker(), { ...(await take()), progress: { percent: 1 } })
    clock.advance(121)
    await gate.sweep()
    clock.advance(6)
    const lease = await take()
    await gate.complete(worker(), { ...lease, result: 1 })
    await gate.complete(worker(), { ...lease, result: 1, artifacts: ['a'] })

    await gate.createTask(agent(), { type: 't' })
    await gate.fail(worker(), { ...(await take()), error: {} })
    await gate.createTask(agent(), { type: 't' })
    await gate.complete(worker(), { ...(await take()), result: 2 })
    const { task_id } = await gate.createTask(agent(), { type: 't' })
    await gate.cancelTask(agent(), { task_id })
    const { items } = await gate.listInbox(agent(), { order: 'newest', limit: 1 })
    await gate.ackReceipt(agent(), { receipt_id: items[0]?.receipt_id })
    await gate.createTask(agent(), { type: 't' })
    await gate.startTask(worker(), await take())
    await gate.createTask(agent(), { type: 't', principal_ai: 'bob' })
    const asking = await take()
    await gate.ask(worker(), { ...asking, kind: 'approval', request: { title: 'May it?' } })
    await gate.approve(admin(), { task_id: asking.task_id })
    await gate.ask(worker(), { ...(await take()), kind: 'input', request: { message: 'Which?' } })
    await gate.createTask(agent(), { type: 't' })
    await take()
    await gate.createTask(agent(), { type: 't' })
  })

  afterAll(() => gate.close())

  it('a correct ledger has no violations', async () => {
    expect(await checkCorrupted({})).toEqual([])
  })

  const only =
    <T, Changed extends T | undefined>(fits: (row: T) => boolean, change: (row: T) => Changed) =>
    (row: T): T | Changed =>
      fits(row) ? change(row) : row
  const type = (name: string) => (receipt: Receipt) => receipt.receipt_type === name
  const status = (name: string) => (task: Task) => task.status === name
  const changed = (change: object) => (task: Task) => ({ ...task, ...change }) as Task

  it.each<[string, Corruption, RegExp]>([
    ['a missing receipt', { receipt: only(type('task.accepted'), () => undefined) }, /stands at place/],
    [
      'a receipt in a wrong place',
      { receipt: only(type('task.started'), (receipt) => ({ ...receipt, seq: receipt.seq + 1 })) },
      /stands at place/,
    ],
    [
      'a parent that does not exist',
      { receipt: only(type('task.failed'), (receipt) => ({ ...receipt, parents: [0] })) },
      /which does not exist/,
    ],
    [
      'a parent that is younger',
      { receipt: only(type('task.failed'), (receipt) => ({ ...receipt, parents: [receipt.seq + 1] })) },
      /which is not older/,
    ],
    [
      'two receipts that say the same',
      { receipt: only(type('task.accepted'), (receipt) => ({ ...receipt, lease_id: 'l', task_id: 't' })) },
      /has the key of receipt/,
    ],
    [
      'a failure that closes nothing',
      { receipt: only(type('task.failed'), (receipt) => ({ ...receipt, parents: [] })) },
      /closes nothing/,
    ],
    [
      'an end that names the obligation of another task',
      { receipt: only(type('task.canceled'), (receipt) => ({ ...receipt, parents: [1] })) },
      /names no obligation of its task/,
    ],
    ['a forgotten item of an inbox', { inbox: (items) => items.slice(1) }, /is in no inbox/],
    [
      'an item of an inbox for no reason',
      { inbox: (items) => [newItem(1, 'agent:alice', 1, 0), ...items] },
      /in an inbox for no reason/,
    ],
    [
      'an acknowledged item that stays',
      { inbox: (items) => items.map((item) => ({ ...item, archived_at: null })) },
      /still in its inbox/,
    ],
    ['a forgotten obligation', { obligation: () => undefined }, /not in the table/],
    [
      'an obligation that is closed',
      { obligation: (receipt) => ({ ...receipt, seq: 1 }) },
      /in the table, and closed/,
    ],
    ['an end without its receipt', { receipt: only(type('task.failed'), () => undefined) }, /0 terminal/],
    [
      'a receipt of an end without it',
      { task: only(status('failed'), changed({ status: 'queued' })) },
      /has the terminal receipt/,
    ],
    [
      'another end than its receipt',
      { task: only(status('failed'), changed({ status: 'canceled' })) },
      /has a task.failed/,
    ],
    [
      'two ends',
      {
        receipt: only(type('task.result_ready'), (receipt) => ({ ...receipt, receipt_type: 'task.failed' })),
      },
      /repairs nothing|terminal receipts/,
    ],
    [
      'an owner who was not notified',
      { receipt: only(type('task.result_ready'), () => undefined) },
      /0 task.result_ready/,
    ],
    ['a wrong fence', { task: (task) => ({ ...task, fence: task.fence + 1 }) }, /has fence/],
    ['a wrong attempt', { task: (task) => ({ ...task, attempt: task.attempt + 1 }) }, /has attempt/],
    [
      'a wrong expiry_count',
      { task: (task) => ({ ...task, expiry_count: task.expiry_count + 1 }) },
      /has expiry_count/,
    ],
    ['a wrong progress_count', { task: (task) => ({ ...task, progress_count: 9 }) }, /has progress_count/],
    ['too many attempts', { task: (task) => ({ ...task, max_attempts: 0 }) }, /of 0 attempts/],
    ['too many expiries', { task: (task) => ({ ...task, max_expiries: 0 }) }, /has expired/],
    ['a wrong question_count', { task: (task) => ({ ...task, question_count: 9 }) }, /has question_count/],
    ['a missing question', { question: () => undefined }, /question_count 2 and 0 questions/],
    [
      'a question without its receipt',
      { question: (question) => ({ ...question, seq: 1 }) },
      /which was not asked in receipt 1/,
    ],
    ['questions in the wrong order', { question: (question) => ({ ...question, n: 2 }) }, /at place 1/],
    [
      'a decision without its receipt',
      { receipt: only(type('question.answered'), () => undefined) },
      /which is approved, and 0 decisions/,
    ],
    [
      'a decision of another principal',
      { question: (question) => ({ ...question, decided_by: 'human:eve' }) },
      /decided by human:eve/,
    ],
    [
      'two decisions',
      {
        receipt: only(type('question.asked'), (receipt) => ({
          ...receipt,
          receipt_type: 'question.answered',
          parents: [...receipt.parents, receipt.seq],
        })),
      },
      /and 2 decisions/,
    ],
    [
      'a task that waits for nothing',
      { question: (question) => ({ ...question, state: 'answered' }) },
      /\(input_required\) waits for nothing/,
    ],
    [
      'a task that continues without an answer',
      { task: only(status('input_required'), changed({ status: 'queued' })) },
      /\(queued\) waits for input_required/,
    ],
    ['a missing start', { receipt: only(type('task.started'), () => undefined) }, /has no task.started/],
    ['a lease inside another', { receipt: only(type('lease.expired'), () => undefined) }, /was leased again/],
    [
      'an assignment to another principal',
      { task: (task) => ({ ...task, owner: 'agent:eve' }) },
      /another assignment/,
    ],
    [
      'a wrong count of open tasks',
      { counters: (row) => ({ ...row, open_tasks: row.open_tasks + 1 }) },
      /open_tasks is/,
    ],
    ['a wrong count of leases', { counters: (row) => ({ ...row, active_leases: 0 }) }, /active_leases is/],
    [
      'a wrong count of ended tasks',
      { counters: (row) => ({ ...row, ended_tasks: row.ended_tasks + 1 }) },
      /ended_tasks is/,
    ],
    [
      'a wrong size of receipts',
      { counters: (row) => ({ ...row, receipt_bytes: row.receipt_bytes - 1 }) },
      /receipt_bytes is/,
    ],
    ['a clock that does not advance', { counters: (row) => ({ ...row, clock: 0 }) }, /clock is/],
    [
      'a lane with a wrong count',
      { lane: (row) => ({ ...row, tasks: row.tasks + 1 }) },
      /counts \d+ tasks and has/,
    ],
    ['a lane of another type', { lane: (row) => ({ ...row, type: 'other' }) }, /is in lane \d+ \(other/],
    [
      'a lane without a mark',
      { lane: (row) => ({ ...row, mark: null }) },
      /has the mark null and ready tasks/,
    ],
    [
      'a mark that is too high',
      { lane: (row) => ({ ...row, mark: 2 ** 50 }) },
      /has the mark \d+ and ready tasks/,
    ],
    ['a lane without an owner', { lane: (row) => ({ ...row, owner: null }) }, /counts \d+ tasks of null/],
    ['a lane with a wrong owner', { lane: (row) => ({ ...row, owner: 'agent:eve' }) }, /who has 0 in it/],
    ['two lanes of one name', { lane: (row) => ({ ...row, type: 't' }) }, /lanes have \d+ names/],
    [
      'a stale version of the lanes',
      { counters: (row) => ({ ...row, lanes_version: 1 }) },
      /lanes_version is 1/,
    ],
    ['a wrong seq', { counters: (row) => ({ ...row, seq: row.seq + 1 }) }, /has given out seq/],
  ])('checkInvariants detects %s', async (_, corruption, complaint) => {
    expect((await checkCorrupted(corruption)).join('\n')).toMatch(complaint)
  })
})
