import { expect, it } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { StoreError } from '../../../src/store/store.ts'
import { admin, agent, describeGates, worker } from '../../support/gates.ts'
import {
  ask,
  askMany,
  at,
  claim,
  expire,
  failTask,
  finish,
  held,
  hold,
  lease,
  only,
  override,
  receiptTypes,
  refusal,
} from '../../support/steps.ts'

type Fields = Readonly<Record<string, unknown>>

const tasksOf = (page: { items: readonly { task_id: string | null }[] }) =>
  page.items.map((item) => item.task_id)

/** A task that has succeeded. */
async function result(gate: Gate, input: Fields = {}, ending: Fields = {}) {
  const offer = await hold(gate, input)
  await finish(gate, offer, ending)
  return offer
}

async function itemOf(gate: Gate, task: { task_id: string }, by = agent()) {
  const { items } = await gate.listInbox(by, { state: 'all', limit: 200 })
  return only(items.filter((item) => item.task_id === task.task_id))
}

describeGates('list_inbox', (open) => {
  it('list_inbox returns what needs attention with a summary, and no plain progress', async () => {
    const { gate, clock } = await open({ settings: { escalation_enabled: true } })
    const noisy = await hold(gate, { type: 'index' })
    await gate.reportProgress(worker(), { ...held(noisy), progress: { percent: 50 } })
    await finish(gate, noisy, { result_summary: '10,000 files' })
    const failed = await hold(gate, { type: 'consult', summary: 'Ask three models' })
    await failTask(gate, failed, { retryable: true, error: { message: 'timeout' } })
    clock.advance(60)
    await failTask(gate, at(await claim(gate), 0), { retryable: true, error: { message: 'timeout' } })
    const canceled = await ask(gate, { type: 'mail' })
    await gate.cancelTask(agent(), { task_id: canceled.task_id })
    const lost = await hold(gate, { type: 'late' })
    await expire(gate, clock)
    const { items, next_cursor } = await gate.listInbox(agent())
    expect(next_cursor).toBeNull()
    expect(
      items.map((item) => [item.receipt_type, item.task_id, item.type, item.status, item.summary]),
    ).toEqual([
      ['task.result_ready', noisy.task_id, 'index', 'succeeded', '10,000 files'],
      ['task.escalated', failed.task_id, 'consult', 'failed', 'consult: escalated, max_retries_exceeded'],
      ['task.result_ready', failed.task_id, 'consult', 'failed', 'Ask three models: failed, timeout'],
      ['task.result_ready', canceled.task_id, 'mail', 'canceled', 'mail: canceled'],
      ['task.escalated', lost.task_id, 'late', null, 'late: escalated, lease_expired'],
    ])
    expect(items.map((item) => item.dead_letter)).toEqual([false, true, true, false, false])
  })

  it('an expired lease is in the inbox only if the task is not retried', async () => {
    const { gate, clock } = await open()
    const lost = await hold(gate, { max_expiries: 2 })
    await expire(gate, clock)
    expect((await gate.listInbox(agent())).items).toEqual([])
    await lease(gate)
    await expire(gate, clock)
    const { items } = await gate.listInbox(agent())
    expect(items.map((item) => [item.receipt_type, item.task_id])).toEqual([
      ['lease.expired', lost.task_id],
      ['task.result_ready', lost.task_id],
    ])
    const [requeued] = (await gate.listReceipts(agent(), { receipt_type: 'lease.expired' })).receipts
    expect(
      await refusal(gate.markInbox(agent(), { receipt_ids: [requeued?.receipt_id], as: 'read' })),
    ).toMatchObject({ code: 'RECEIPT_NOT_FOUND' })
  })

  it.each([true, false])('milestones are in the inbox with progress_receipts %s', async (on) => {
    const { gate } = await open({ settings: { progress_receipts: on } })
    const offer = await hold(gate, { type: 'index' })
    await gate.reportProgress(worker(), { ...held(offer), progress: { percent: 10 } })
    const progress = { percent: 50, message: 'Half of the files are read' }
    await gate.reportProgress(worker(), { ...held(offer), progress, milestone: true })
    await gate.reportProgress(worker(), { ...held(offer), progress: { percent: 60 }, milestone: false })
    const { items } = await gate.listInbox(agent())
    expect(items.map((item) => [item.receipt_type, item.summary])).toEqual([
      ['task.progress', 'index: Half of the files are read'],
    ])
    const { attention } = await gate.bootstrap(agent())
    expect(attention.inbox_receipts).toMatchObject([{ body: { progress, milestone: true } }])
    await gate.ackReceipt(agent(), { receipt_id: only(items).receipt_id })
    expect((await gate.listInbox(agent())).items).toEqual([])
  })

  it('milestones of the task type are in the inbox on every server', async () => {
    const { gate, another } = await open({ settings: { progress_receipts: false } })
    await gate.registerTaskType(admin(), { type: 'index', milestones: ['indexed', 'All is checked'] })
    const other = gate.isShared ? (await another({ settings: { progress_receipts: false } })).gate : gate
    const offer = await hold(gate, { type: 'index' })
    const unnamed = await hold(gate, { type: 'plain' })
    const report = (progress: object, milestone?: boolean, by = gate) =>
      by.reportProgress(worker(), { ...held(offer), progress, ...(milestone !== undefined && { milestone }) })
    await report({ percent: 10 })
    await report({ milestone: 'indexed', percent: 50 })
    await report({ message: 'not quite indexed' })
    await report({ message: 'indexed' }, false)
    await report({ message: 'All is checked' }, undefined, other)
    await gate.reportProgress(worker(), { ...held(unnamed), progress: { milestone: 'indexed' } })
    const { items } = await gate.listInbox(agent())
    expect(items.map(({ summary }) => summary)).toEqual(['index: indexed', 'index: All is checked'])
    expect(await gate.getTaskType(admin(), { type: 'index' })).toMatchObject({
      milestones: ['indexed', 'All is checked'],
    })
    const refused = gate.registerTaskType(admin(), { type: 'index', milestones: [7] })
    expect(await refusal(refused)).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'milestones.0' },
    })
  })

  it('list_inbox does not wait for the recorded fetches of other principals', async () => {
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const { gate } = await open({
      wrap: (store) =>
        override(store, {
          reads: {
            ...store.reads,
            itemsOfTasks: async (tenant, principal, ...rest) => {
              if (principal === 'agent:bob') await released
              return store.reads.itemsOfTasks(tenant, principal, ...rest)
            },
          },
        }),
    })
    const bobs = await ask(gate, {}, agent('bob'))
    await finish(gate, await lease(gate))
    const mine = await result(gate)
    await gate.getTask(agent('bob'), { task_id: bobs.task_id })
    await gate.getTask(agent(), { task_id: mine.task_id })
    expect((await gate.listInbox(agent(), { state: 'fetched' })).items).toHaveLength(1)
    release()
  })

  it('an anomaly has its recommended action, and long summaries are cut by whole characters', async () => {
    const { gate } = await open()
    await result(gate, {}, { artifacts: undefined })
    await result(gate, {}, { result_summary: '\u{1f600}'.repeat(600) })
    const { items } = await gate.listInbox(agent())
    expect(items.map((item) => item.receipt_type)).toEqual([
      'task.result_ready',
      'system.anomaly',
      'task.result_ready',
    ])
    expect(at(items, 0).summary).toBe('job: succeeded')
    expect(at(items, 1).summary).toMatch(/^job: The success does not say where its result is\./)
    expect(at(items, 2).summary).toBe(`${'\u{1f600}'.repeat(499)}…`)
  })

  it('an item has separate times for delivery, read, fetch, promotion and archive', async () => {
    const { gate, clock } = await open()
    const task = await result(gate)
    const time = () => new Date(clock.now).toISOString()
    const created_at = time()
    clock.advance(1)
    const delivered_at = time()
    expect(await itemOf(gate, task)).toMatchObject({
      state: 'delivered',
      created_at,
      delivered_at,
      delivery_count: 1,
      read_at: null,
      fetched_at: null,
      promoted_at: null,
      archived_at: null,
    })
    clock.advance(1)
    const read_at = time()
    await gate.markInbox(agent(), { task_ids: [task.task_id], as: 'read' })
    expect(await itemOf(gate, task)).toMatchObject({ state: 'read', read_at, delivery_count: 1 })
    clock.advance(1)
    const fetched_at = time()
    await gate.fetchTaskResult(agent(), { task_id: task.task_id })
    expect(await itemOf(gate, task)).toMatchObject({ state: 'fetched', fetched_at, delivery_count: 1 })
    clock.advance(1)
    const promoted_at = time()
    await gate.markInbox(agent(), { task_ids: [task.task_id], as: 'promoted' })
    clock.advance(1)
    const archived_at = time()
    const answer = await gate.markInbox(agent(), { task_ids: [task.task_id], as: 'archived' })
    const final = {
      state: 'promoted',
      created_at,
      delivered_at,
      delivery_count: 1,
      read_at,
      fetched_at,
      promoted_at,
      archived_at,
    }
    expect(answer).toMatchObject({ ok: true, items: [final] })
    clock.advance(60)
    for (const as of ['read', 'promoted', 'archived']) {
      const again = await gate.markInbox(agent(), { task_ids: [task.task_id], as })
      expect(again.items).toMatchObject([final])
    }
    expect(await itemOf(gate, task)).toMatchObject(final)
    expect(await receiptTypes(gate, task)).toEqual([
      'task.assigned',
      'task.accepted',
      'task.completed',
      'task.result_ready',
    ])
  })

  it('list_inbox filters by state', async () => {
    const { gate } = await open()
    const [fresh, seen, read, fetched, promoted, archived] = await askMany(gate, 6)
    for (const offer of await claim(gate, { max_tasks: 6 })) await finish(gate, offer)
    const mark = (task: string | undefined, as: string) => gate.markInbox(agent(), { task_ids: [task], as })
    // With newest first, the oldest item is not delivered yet.
    await gate.listInbox(agent(), { order: 'newest', limit: 5 })
    await mark(read, 'read')
    await gate.getTask(agent(), { task_id: fetched })
    await mark(promoted, 'promoted')
    await mark(archived, 'archived')
    const list = async (state: string) => tasksOf(await gate.listInbox(admin(), { ...ALICE, state }))
    expect(await list('unread')).toEqual([fresh, seen])
    expect(await list('delivered')).toEqual([seen])
    expect(await list('read')).toEqual([read])
    expect(await list('fetched')).toEqual([fetched])
    expect(await list('promoted')).toEqual([promoted])
    expect(await list('archived')).toEqual([archived])
    expect(await list('all')).toEqual([fresh, seen, read, fetched, promoted, archived])
    expect(tasksOf(await gate.listInbox(agent(), {}))).toEqual([fresh, seen])
    expect(await refusal(gate.listInbox(agent(), { state: 'lost' }))).toMatchObject({
      code: 'VALIDATION_ERROR',
    })
  })

  it('pages cover all matching items in both orders', async () => {
    const { gate } = await open()
    const ids = await askMany(gate, 7)
    for (const offer of await claim(gate, { max_tasks: 7 })) await finish(gate, offer)
    await gate.markInbox(agent(), { task_ids: [ids[1], ids[2]], as: 'archived' })
    for (const state of ['unread', 'all', 'archived']) {
      for (const order of ['oldest', 'newest']) {
        const found: (string | null)[] = []
        let cursor: string | null | undefined
        do {
          const asked = { state, order, limit: 2, ...(cursor && { cursor }) }
          const page = await gate.listInbox(agent(), asked)
          expect(page.items.length).toBeLessThanOrEqual(2)
          found.push(...tasksOf(page))
          cursor = page.next_cursor
        } while (cursor !== null)
        const wanted = ids.filter(
          (_, n) => state === 'all' || (n === 1 || n === 2) === (state === 'archived'),
        )
        expect(found).toEqual(order === 'oldest' ? wanted : wanted.toReversed())
      }
    }
    const { next_cursor: cursor } = await gate.listInbox(agent(), { limit: 2 })
    for (const other of [{ order: 'newest' }, { state: 'all' }]) {
      expect(await refusal(gate.listInbox(agent(), { ...other, cursor }))).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path: 'cursor' },
      })
    }
    expect(await refusal(gate.listInbox(agent('bob'), { cursor }))).toMatchObject({
      code: 'VALIDATION_ERROR',
    })
  })

  it('deliveries count until the item is read, and reads by admins do not count', async () => {
    const { gate } = await open()
    const task = await result(gate)
    await gate.bootstrap(agent())
    await gate.listInbox(agent())
    await gate.listInbox(admin(), ALICE)
    const { items } = await gate.listInbox(agent(), { state: 'all' })
    expect(items).toMatchObject([{ delivery_count: 3 }])
    await gate.markInbox(agent(), { task_ids: [task.task_id], as: 'read' })
    await gate.bootstrap(agent())
    await gate.listInbox(agent(), { state: 'all' })
    await gate.markInbox(agent(), { task_ids: [task.task_id], as: 'archived' })
    expect(await itemOf(gate, task)).toMatchObject({ delivery_count: 3 })
    const unread = await result(gate)
    await gate.markInbox(agent(), { task_ids: [unread.task_id], as: 'archived' })
    expect(await itemOf(gate, unread)).toMatchObject({ delivery_count: 0, delivered_at: null })
  })

  it('an acknowledged item is read and leaves the inbox', async () => {
    const { gate, clock } = await open()
    const task = await result(gate)
    const { receipt_id } = await itemOf(gate, task)
    clock.advance(5)
    await gate.ackReceipt(agent(), { receipt_id })
    const read_at = new Date(clock.now).toISOString()
    expect(await itemOf(gate, task)).toMatchObject({ state: 'archived', read_at, archived_at: read_at })
    expect(await gate.listInbox(agent())).toEqual({ items: [], next_cursor: null })
  })

  it('bootstrap returns inbox items until they are archived or promoted', async () => {
    const { gate } = await open()
    const tasks = [await result(gate), await result(gate), await result(gate)]
    const shown = async () => {
      const { attention } = await gate.bootstrap(agent())
      return attention.inbox_receipts.map((receipt) => receipt.task_id)
    }
    const [first, second, third] = tasks.map((task) => task.task_id)
    await gate.markInbox(agent(), { task_ids: [first], as: 'read' })
    await gate.getTask(agent(), { task_id: second })
    expect(await shown()).toEqual([first, second, third])
    await gate.markInbox(agent(), { task_ids: [first], as: 'promoted' })
    expect(await shown()).toEqual([second, third])
    await gate.markInbox(agent(), { task_ids: [second], as: 'archived' })
    expect(await shown()).toEqual([third])
  })

  it('owner and principal_ai have separate inbox items for one result', async () => {
    const { gate } = await open()
    const task = await result(gate, { principal_ai: 'bob' })
    expect(tasksOf(await gate.listInbox(agent()))).toEqual([task.task_id])
    expect(tasksOf(await gate.listInbox(agent('bob')))).toEqual([task.task_id])
    await gate.markInbox(agent('bob'), { task_ids: [task.task_id], as: 'archived' })
    expect(await itemOf(gate, task, agent('bob'))).toMatchObject({ state: 'archived', delivery_count: 1 })
    expect(await itemOf(gate, task)).toMatchObject({ state: 'delivered', archived_at: null })
    const { attention } = await gate.bootstrap(agent('bob'))
    expect(attention.inbox_receipts).toEqual([])
  })
})

const ALICE = { principal_kind: 'agent', principal_id: 'alice' }

describeGates('the fetch of a result', (open) => {
  it.each(['getTask', 'waitForTask', 'fetchTaskResult'] as const)(
    '%s marks the inbox item as read and fetched',
    async (verb) => {
      const { gate, clock } = await open()
      const task = await result(gate)
      clock.advance(3)
      const fetched_at = new Date(clock.now).toISOString()
      await gate[verb](agent(), { task_id: task.task_id })
      const { items } = await gate.listInbox(agent(), { state: 'fetched' })
      expect(items).toMatchObject([{ task_id: task.task_id, fetched_at, read_at: fetched_at }])
      expect(await gate.listInbox(agent())).toMatchObject({ items: [] })
    },
  )

  it('fetching a failed task sets fetched_at once', async () => {
    const { gate, clock } = await open()
    const task = await hold(gate)
    await failTask(gate, task)
    const fetched_at = new Date(clock.now).toISOString()
    for (let n = 0; n < 3; n++) {
      await gate.getTask(agent(), { task_id: task.task_id })
      expect(await itemOf(gate, task)).toMatchObject({ fetched_at })
      clock.advance(60)
    }
  })

  it('reads by others, listings and reads before the end do not count as a fetch', async () => {
    const { gate } = await open()
    const task = await hold(gate)
    await gate.getTask(agent(), { task_id: task.task_id })
    await finish(gate, task)
    await gate.getTask(admin(), { task_id: task.task_id })
    await gate.getTask(worker(), { task_id: task.task_id })
    await gate.fetchTaskResult(admin(), { task_id: task.task_id })
    await gate.listTasks(agent())
    await gate.bootstrap(agent())
    expect(await itemOf(gate, task)).toMatchObject({ fetched_at: null, read_at: null })
  })

  it('a fetch succeeds although its record fails, and the next fetch records it', async () => {
    let broken = false
    const { gate, errors } = await open({
      wrap: (store) =>
        override(store, {
          commit: (need, decide) =>
            broken && need.items.length > 0
              ? Promise.reject(new StoreError('unavailable', 'broken'))
              : store.commit(need, decide),
        }),
    })
    const task = await result(gate)
    broken = true
    expect(await gate.getTask(agent(), { task_id: task.task_id })).toMatchObject({ status: 'succeeded' })
    const listed = gate.listInbox(admin(), { ...ALICE, state: 'all' })
    expect((await listed).items).toMatchObject([{ fetched_at: null }])
    expect(errors).toHaveLength(1)
    broken = false
    await gate.getTask(agent(), { task_id: task.task_id })
    expect((await gate.listInbox(agent(), { state: 'fetched' })).items).toHaveLength(1)
  })

  it('a fetch is recorded although the gate closes immediately afterwards', async () => {
    const { gate, another } = await open()
    const task = await result(gate)
    await gate.getTask(agent(), { task_id: task.task_id })
    await gate.close()
    const { gate: second } = await another()
    expect((await second.listInbox(agent(), { state: 'fetched' })).items).toHaveLength(1)
  })

  it('concurrent fetches of many tasks are all recorded', async () => {
    const { gate } = await open()
    const ids = await askMany(gate, 30)
    for (const offer of await claim(gate, { max_tasks: 30 })) await finish(gate, offer)
    await Promise.all(ids.map((task_id) => gate.getTask(agent(), { task_id })))
    const { items } = await gate.listInbox(agent(), { state: 'fetched' })
    expect(tasksOf({ items })).toEqual(ids)
    expect(new Set(items.map((item) => item.fetched_at)).size).toBe(1)
  })
})

describeGates('mark_inbox', (open) => {
  it('only the owner of an inbox and admins may mark its items', async () => {
    const { gate } = await open()
    const task = await result(gate)
    const { receipt_id } = await itemOf(gate, task)
    for (const by of [agent('bob'), worker()]) {
      expect(await refusal(gate.markInbox(by, { receipt_ids: [receipt_id], as: 'read' }))).toMatchObject({
        code: 'FORBIDDEN',
        details: { required_role: 'admin', your_role: by.role },
      })
      const others = gate.markInbox(by, { ...ALICE, receipt_ids: [receipt_id], as: 'read' })
      expect(await refusal(others)).toMatchObject({ code: 'FORBIDDEN' })
      expect(await refusal(gate.listInbox(by, ALICE))).toMatchObject({ code: 'FORBIDDEN' })
      expect(await refusal(gate.inboxStats(by, ALICE))).toMatchObject({ code: 'FORBIDDEN' })
    }
    expect(await itemOf(gate, task)).toMatchObject({ read_at: null })
    await gate.markInbox(admin(), { receipt_ids: [receipt_id], as: 'read' })
    expect(await itemOf(gate, task)).toMatchObject({ read_at: expect.any(String), archived_at: null })
    await gate.markInbox(admin(), { ...ALICE, task_ids: [task.task_id], as: 'archived' })
    expect(await itemOf(gate, task)).toMatchObject({ archived_at: expect.any(String) })
  })

  it('mark_inbox by task marks all items about the task', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await gate.reportProgress(worker(), { ...held(offer), progress: { percent: 50 }, milestone: true })
    await finish(gate, offer)
    const { items } = await gate.markInbox(agent(), {
      task_ids: [offer.task_id, offer.task_id],
      as: 'archived',
    })
    expect(items).toHaveLength(2)
    expect(await gate.listInbox(agent())).toMatchObject({ items: [] })
  })

  it('mark_inbox marks all items or none', async () => {
    const { gate } = await open()
    const task = await result(gate)
    const { receipt_id } = await itemOf(gate, task)
    const { receipt_id: assigned } = await ask(gate)
    const theirs = await ask(gate, {}, agent('alice', 'other'))
    for (const absent of [assigned, theirs.receipt_id, 'nonsense', task.task_id]) {
      const marking = gate.markInbox(agent(), { receipt_ids: [receipt_id, absent], as: 'read' })
      expect(await refusal(marking)).toMatchObject({
        code: 'RECEIPT_NOT_FOUND',
        details: { receipt_id: absent },
      })
    }
    const open_task = await ask(gate)
    const marking = gate.markInbox(agent(), { task_ids: [task.task_id, open_task.task_id], as: 'read' })
    expect(await refusal(marking)).toMatchObject({
      code: 'RECEIPT_NOT_FOUND',
      details: { task_id: open_task.task_id },
    })
    expect(await itemOf(gate, task)).toMatchObject({ read_at: null })
  })

  it.each([
    [{ as: 'read' }, 'receipt_ids'],
    [{ as: 'read', receipt_ids: [] }, 'receipt_ids'],
    [{ as: 'read', receipt_ids: ['a'], task_ids: ['00000000-0000-7000-8000-000000000000'] }, 'receipt_ids'],
    [{ as: 'delivered', receipt_ids: ['a'] }, 'as'],
    [{ as: 'fetched', receipt_ids: ['a'] }, 'as'],
    [{ as: 'read', receipt_ids: Array(201).fill('a') }, 'receipt_ids'],
  ])('mark_inbox rejects %j', async (input, path) => {
    const { gate } = await open()
    expect(await refusal(gate.markInbox(agent(), input))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path },
    })
  })
})

describeGates('inbox_stats', (open) => {
  it('inbox_stats counts the items of the last days by state', async () => {
    const { gate, clock } = await open()
    expect(await gate.inboxStats(agent())).toEqual({
      days: 7,
      items: 0,
      is_complete: true,
      states: { unread: 0, delivered: 0, read: 0, fetched: 0, promoted: 0, archived: 0 },
      delivered_unread: 0,
      fetched_not_promoted: 0,
      redelivered: 0,
      average_seconds_to_fetch: null,
      promotion_rate: null,
    })
    const old = await result(gate)
    await gate.markInbox(agent(), { task_ids: [old.task_id], as: 'promoted' })
    clock.advance(2 * 24 * 3600)
    const [quick, slow, , unseen] = [
      await result(gate),
      await result(gate),
      await result(gate),
      await result(gate),
    ]
    await gate.listInbox(agent(), { limit: 3 })
    await gate.listInbox(agent(), { limit: 1 })
    clock.advance(10)
    await gate.getTask(agent(), { task_id: quick.task_id })
    await gate.listInbox(agent(), { limit: 1, state: 'promoted' })
    clock.advance(20)
    await gate.getTask(agent(), { task_id: slow.task_id })
    await gate.markInbox(agent(), { task_ids: [slow.task_id], as: 'promoted' })
    expect(await gate.inboxStats(agent(), { days: 1 })).toEqual({
      days: 1,
      items: 4,
      is_complete: true,
      states: { unread: 1, delivered: 1, read: 0, fetched: 1, promoted: 1, archived: 0 },
      delivered_unread: 1,
      fetched_not_promoted: 1,
      redelivered: 1,
      average_seconds_to_fetch: 20,
      promotion_rate: 0.25,
    })
    expect(await gate.inboxStats(agent())).toMatchObject({ items: 5, promotion_rate: 0.4 })
    expect(await gate.inboxStats(admin(), { ...ALICE, days: 1 })).toMatchObject({ items: 4 })
    expect(await gate.inboxStats(agent('bob'))).toMatchObject({ items: 0 })
    expect((await itemOf(gate, unseen)).delivery_count).toBe(1)
    expect(await refusal(gate.inboxStats(agent(), { days: 0 }))).toMatchObject({ code: 'VALIDATION_ERROR' })
  })
})
