import { expect, it } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { admin, agent, describeGates } from '../../support/gates.ts'
import { ask, askMany, failTask, finish, hold, look, refusal, statusOf } from '../../support/steps.ts'

const NONE = '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c'

async function ended(gate: Gate, input: object, by = admin()) {
  const { bulk_id } = await gate.startBulkOperation(by, input)
  return gate.getBulkOperation(by, { bulk_id, wait_seconds: 50 })
}

describeGates('bulk operations', (open) => {
  it('a bulk cancel ends all open tasks that match, and leaves the others', async () => {
    const { gate } = await open()
    const others = await askMany(gate, 2, { type: 'other' })
    await askMany(gate, 450, { type: 'mail.send' })
    expect(await ended(gate, { action: 'cancel', query: 'type:mail.*', reason: 'wrong list' })).toMatchObject(
      {
        state: 'done',
        ...{ total: 450, is_total_exact: true, done: 450, skipped: 0, failed: 0, last_error: null },
        ...{ query: 'type:mail.*', reason: 'wrong list', requested_by: { kind: 'human', id: 'root' } },
      },
    )
    expect(await gate.countTasks(admin(), {})).toMatchObject({ canceled: 450, queued: 2 })
    expect(await statusOf(gate, { task_id: others[0] ?? '' })).toBe('queued')
  })

  it('a bulk retry creates one new task for each failed or canceled one, and none for the others', async () => {
    const { gate } = await open()
    const failed = await hold(gate, { payload: { n: 7 } })
    await failTask(gate, failed, { retryable: false })
    const canceled = await ask(gate)
    await gate.cancelTask(agent(), { task_id: canceled.task_id })
    await finish(gate, await hold(gate))
    expect(await ended(gate, { action: 'retry', all: true })).toMatchObject({ total: 2, done: 2, failed: 0 })
    const { tasks } = await gate.listTasks(admin(), { status: 'queued' })
    expect(tasks).toHaveLength(2)
    expect(tasks.map(({ payload }) => payload)).toContainEqual({ n: 7 })
    expect(tasks.map(({ created_by }) => created_by.id)).toEqual(['alice', 'alice'])
  })

  it('tasks are named by their ids, and those that cannot be changed are skipped', async () => {
    const { gate } = await open()
    const done = await hold(gate)
    await finish(gate, done)
    const { task_id } = await ask(gate)
    const task_ids = [task_id, task_id, done.task_id, NONE]
    expect(await ended(gate, { action: 'cancel', task_ids })).toMatchObject({
      ...{ total: 3, done: 1, skipped: 2, failed: 0 },
    })
    expect(await statusOf(gate, { task_id })).toBe('canceled')
  })

  it('a task that a rule blocks is counted as failed, with the reason', async () => {
    const { gate } = await open()
    await failTask(gate, await hold(gate, { type: 'pay' }), { retryable: false })
    await gate.putPolicy(admin(), { id: 'stop', action: 'BLOCK', scope: { type: 'pay' } })
    expect(await ended(gate, { action: 'retry', query: 'type:pay' })).toMatchObject({
      ...{ state: 'done', done: 0, failed: 1 },
      last_error: expect.stringContaining('stop'),
    })
  })

  it('an aborted operation stops, and keeps what it has done', async () => {
    const { gate } = await open()
    await askMany(gate, 1000)
    const { bulk_id } = await gate.startBulkOperation(admin(), { action: 'cancel', all: true })
    expect(await gate.abortBulkOperation(admin(), { bulk_id })).toMatchObject({ state: 'aborted' })
    await gate.settled()
    const { state, done, finished_at } = await gate.getBulkOperation(admin(), { bulk_id })
    expect(state).toBe('aborted')
    expect(finished_at).not.toBeNull()
    expect(await gate.countTasks(admin(), {})).toMatchObject({ canceled: done, queued: 1000 - done })
    expect(done).toBeLessThan(1000)
  })

  it('an operation that its server has left goes on elsewhere', async () => {
    const { gate, clock, another } = await open()
    await askMany(gate, 600)
    const { bulk_id } = await gate.startBulkOperation(admin(), { action: 'cancel', all: true })
    await gate.close()
    const { gate: next } = await another()
    clock.advance(120)
    await next.sweepBulkOperations()
    expect(await next.getBulkOperation(admin(), { bulk_id, wait_seconds: 50 })).toMatchObject({
      state: 'done',
    })
    expect(await next.countTasks(admin(), {})).toMatchObject({ canceled: 600, queued: 0 })
  })

  it('a repeated retry creates no second task', async () => {
    const { gate } = await open()
    const failed = await hold(gate)
    await failTask(gate, failed, { retryable: false })
    const { bulk_id } = await gate.startBulkOperation(admin(), { action: 'retry', all: true })
    await gate.getBulkOperation(admin(), { bulk_id, wait_seconds: 50 })
    const again = await gate.retryTask(admin(), {
      task_id: failed.task_id,
      idempotency_key: `bulk:${bulk_id}:${failed.task_id}`,
    })
    expect(again.is_duplicate).toBe(true)
  })

  it('agents change only their own tasks, and see only their own operations', async () => {
    const { gate } = await open()
    const mine = await ask(gate)
    const bobs = await ask(gate, {}, agent('bob'))
    const bulk = await ended(gate, { action: 'cancel', all: true }, agent())
    expect(bulk).toMatchObject({ done: 1 })
    expect([await statusOf(gate, mine), await statusOf(gate, bobs)]).toEqual(['canceled', 'queued'])
    const { bulk_id } = bulk
    expect(await refusal(gate.getBulkOperation(agent('bob'), { bulk_id }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await refusal(gate.abortBulkOperation(agent('bob'), { bulk_id }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await gate.listBulkOperations(agent('bob'), {})).toEqual({ bulk_operations: [] })
    expect(await gate.listBulkOperations(admin(), {})).toMatchObject({ bulk_operations: [{ bulk_id }] })
  })

  it('an operation that has ended is removed after a week', async () => {
    const { gate, clock } = await open()
    await ask(gate)
    const { bulk_id } = await ended(gate, { action: 'cancel', all: true })
    clock.advance(7 * 86_400)
    await gate.sweepBulkOperations()
    expect(await refusal(gate.getBulkOperation(admin(), { bulk_id }))).toMatchObject({
      code: 'BULK_OPERATION_NOT_FOUND',
    })
  })

  it('a request that selects nothing in particular is refused', async () => {
    const { gate } = await open()
    for (const input of [
      { action: 'cancel' },
      { action: 'erase', all: true },
      { action: 'cancel', all: true, type: 'x' },
      { action: 'cancel', task_ids: [NONE], type: 'x' },
      { action: 'retry', all: true, reason: 'why' },
      { action: 'cancel', query: 'nothing:x' },
    ]) {
      expect(await refusal(gate.startBulkOperation(admin(), input))).toMatchObject({
        code: 'VALIDATION_ERROR',
      })
    }
  })

  it('a retry with another payload leaves the original as it was', async () => {
    const { gate } = await open()
    const failed = await hold(gate, { payload: { n: 1 } })
    await failTask(gate, failed, { retryable: false })
    const created = await gate.retryTask(agent(), { task_id: failed.task_id, payload: { n: 2 } })
    expect((await look(gate, created)).payload).toEqual({ n: 2 })
    expect((await look(gate, failed)).payload).toEqual({ n: 1 })
  })
})
