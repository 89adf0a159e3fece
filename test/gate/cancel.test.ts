import { expect, it } from 'vitest'
import { admin, agent, caller, describeGates, worker } from '../support/gates.ts'
import {
  ask,
  askMany,
  at,
  claim,
  failTask,
  finish,
  held,
  hold,
  look,
  openTasks,
  receiptsOf,
  receiptTypes,
  refusal,
  refusals,
  statusOf,
} from '../support/steps.ts'

describeGates('cancel', (open) => {
  it('ends a queued task', async () => {
    const { gate, clock } = await open()
    const task = await ask(gate)
    clock.advance(1)
    expect(await gate.cancel(agent(), { task_id: task.task_id, reason: 'not needed' })).toEqual({
      ok: true,
      status: 'canceled',
    })
    expect(await look(gate, task)).toMatchObject({
      status: 'canceled',
      result: {
        outcome: 'canceled',
        result: null,
        error: { code: 'CANCELED', message: 'not needed' },
        completed_at: new Date(clock.now).toISOString(),
      },
    })
    expect(await claim(gate)).toEqual([])
  })

  it('ends a delayed task', async () => {
    const { gate, clock } = await open()
    const task = await ask(gate, { delay_seconds: 60 })
    expect(await gate.cancel(agent(), { task_id: task.task_id })).toMatchObject({ ok: true })
    clock.advance(60)
    expect(await gate.sweep()).toBe(0)
    expect(await claim(gate)).toEqual([])
    expect(await statusOf(gate, task)).toBe('canceled')
  })

  it('ends a leased and a running task, and the worker is told at its next call', async () => {
    const { gate } = await open()
    for (const runs of [false, true]) {
      const offer = await hold(gate)
      if (runs) await gate.start(worker(), held(offer))
      expect(await gate.cancel(agent(), { task_id: offer.task_id })).toEqual({ ok: true, status: 'canceled' })
      const calls = [
        gate.renew(worker(), held(offer)),
        gate.progress(worker(), { ...held(offer), progress: {} }),
        finish(gate, offer),
        failTask(gate, offer, { retryable: true }),
        gate.release(worker(), held(offer)),
      ]
      for (const answer of await refusals(calls)) {
        expect(answer).toMatchObject({
          code: 'LEASE_INVALID_OR_EXPIRED',
          details: { task_status: 'canceled' },
        })
      }
      expect(await statusOf(gate, offer)).toBe('canceled')
    }
  })

  it('leaves the receipts that prove it, and closes the obligation', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await gate.cancel(agent(), { task_id: offer.task_id, reason: 'why' })
    const receipts = await receiptsOf(gate, offer)
    const parents = [at(receipts, 0).receipt_id]
    const owner = { kind: 'agent', id: 'alice' }
    expect(receipts.slice(2)).toMatchObject([
      {
        receipt_type: 'task.canceled',
        from: owner,
        to: owner,
        parents,
        lease_id: offer.lease_id,
        body: { reason: 'why', canceled_by: 'agent:alice' },
      },
      { receipt_type: 'task.result_ready', to: owner, parents, body: { status: 'canceled' } },
    ])
    expect(receipts).toHaveLength(4)
    expect(await openTasks(gate)).toEqual([])
  })

  it('of a task that has ended changes nothing and says how it ended', async () => {
    const { gate } = await open()
    const succeeded = await hold(gate)
    await finish(gate, succeeded)
    const failed = await hold(gate)
    await failTask(gate, failed)
    const canceled = await ask(gate)
    await gate.cancel(agent(), { task_id: canceled.task_id })
    for (const [task, status] of [
      [succeeded, 'succeeded'],
      [failed, 'failed'],
      [canceled, 'canceled'],
    ] as const) {
      const before = [await look(gate, task), await receiptTypes(gate, task)]
      expect(await gate.cancel(agent(), { task_id: task.task_id })).toEqual({ ok: false, status })
      expect([await look(gate, task), await receiptTypes(gate, task)]).toEqual(before)
    }
  })

  it('is for the owner, admins and the system', async () => {
    const { gate } = await open()
    const [one, two] = [await ask(gate, { principal_ai: 'bob' }), await ask(gate)]
    for (const by of [agent('bob'), caller('human', 'alice', 'agent')]) {
      expect(await refusal(gate.cancel(by, { task_id: one.task_id }))).toMatchObject({
        code: 'FORBIDDEN',
        details: { required_role: 'admin', your_role: 'agent' },
      })
    }
    expect(await statusOf(gate, one)).toBe('queued')
    expect(await gate.cancel(admin(), { task_id: one.task_id })).toMatchObject({ ok: true })
    expect(at(await receiptsOf(gate, one), 1)).toMatchObject({ from: { kind: 'human', id: 'root' } })
    const system = caller('system', 'reaper', 'system')
    expect(await gate.cancel(system, { task_id: two.task_id })).toMatchObject({ ok: true })
  })

  it('finds no task that is not there or of another tenant', async () => {
    const { gate } = await open()
    const theirs = await ask(gate, {}, agent('alice', 'other'))
    for (const task_id of [theirs.task_id, '01234567-89ab-7def-8123-456789abcdef', 'nonsense']) {
      expect(await refusal(gate.cancel(admin(), { task_id }))).toMatchObject({ code: 'TASK_NOT_FOUND' })
    }
  })
})

describeGates('cancel many', (open) => {
  it('ends the open tasks that fit a filter', async () => {
    const { gate } = await open()
    await askMany(gate, 3, { session_id: 's' })
    await claim(gate)
    const other = await ask(gate, { session_id: 't' })
    const done = await hold(gate, { type: 'done', session_id: 's' }, { accept_types: ['done'] })
    await finish(gate, done)
    expect(await gate.cancelMany(agent(), { session_id: 's', reason: 'over' })).toEqual({
      count: 3,
      more: false,
    })
    expect(await gate.cancelMany(agent(), { session_id: 's' })).toEqual({ count: 0, more: false })
    expect(await openTasks(gate)).toEqual([other.task_id])
    expect(await statusOf(gate, done)).toBe('succeeded')
  })

  it('fits by type, status, creator and labels', async () => {
    const { gate } = await open()
    const labelled = await ask(gate, { labels: { team: 'blue', env: 'x' } })
    const typed = await ask(gate, { type: 'special' })
    const bobs = await ask(gate, {}, agent('bob'))
    const offer = await hold(gate, { type: 'held' }, { accept_types: ['held'] })
    const cancel = (filter: object) => gate.cancelMany(admin(), filter)
    expect(await cancel({ labels: { team: 'red' } })).toMatchObject({ count: 0 })
    expect(await cancel({ labels: { team: 'blue' } })).toMatchObject({ count: 1 })
    expect(await statusOf(gate, labelled)).toBe('canceled')
    expect(await cancel({ type: 'special' })).toMatchObject({ count: 1 })
    expect(await statusOf(gate, typed)).toBe('canceled')
    expect(await cancel({ created_by: 'bob' })).toMatchObject({ count: 1 })
    expect(await statusOf(gate, bobs)).toBe('canceled')
    expect(await cancel({ status: 'leased' })).toMatchObject({ count: 1 })
    expect(await statusOf(gate, offer)).toBe('canceled')
  })

  it('ends those that are named, once each', async () => {
    const { gate } = await open()
    const ids = await askMany(gate, 3)
    await gate.cancel(agent(), { task_id: ids[0] })
    const unknown = '01234567-89ab-7def-8123-456789abcdef'
    expect(await gate.cancelMany(agent(), { task_ids: [...ids, unknown, ...ids] })).toEqual({
      count: 2,
      more: false,
    })
    for (const task_id of ids) {
      expect(await receiptTypes(gate, { task_id })).toEqual([
        'task.assigned',
        'task.canceled',
        'task.result_ready',
      ])
    }
  })

  it('ends only the own tasks of an agent', async () => {
    const { gate } = await open()
    const mine = await ask(gate, { session_id: 's' })
    const bobs = await ask(gate, { session_id: 's' }, agent('bob'))
    expect(await gate.cancelMany(agent('bob'), { task_ids: [mine.task_id] })).toEqual({
      count: 0,
      more: false,
    })
    expect(await gate.cancelMany(agent(), { session_id: 's' })).toEqual({ count: 1, more: false })
    expect(await statusOf(gate, mine)).toBe('canceled')
    expect(await statusOf(gate, bobs)).toBe('queued')
    expect(await refusal(gate.cancelMany(agent(), { created_by: 'bob' }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await gate.cancelMany(admin(), { session_id: 's' })).toEqual({ count: 1, more: false })
  })

  it('says when there may be more, and comes to an end', async () => {
    const { gate } = await open()
    await askMany(gate, 1300, { session_id: 's' })
    expect(await gate.cancelMany(agent(), { session_id: 's' })).toEqual({ count: 1000, more: true })
    expect(await gate.cancelMany(agent(), { session_id: 's' })).toEqual({ count: 300, more: false })
    expect(await openTasks(gate)).toEqual([])
  })

  it('refuses to cancel everything by an empty filter', async () => {
    const { gate } = await open()
    const task = await ask(gate)
    for (const input of [{}, { reason: 'x' }, { labels: {} }, { session_id: undefined }, { task_ids: [] }]) {
      expect(await refusal(gate.cancelMany(agent(), input))).toMatchObject({ code: 'VALIDATION_ERROR' })
    }
    expect(await statusOf(gate, task)).toBe('queued')
  })

  it('refuses a filter beside ids, of which one would have to be ignored', async () => {
    const { gate } = await open()
    const task = await ask(gate)
    const both = { task_ids: [task.task_id], session_id: 's' }
    expect(await refusal(gate.cancelMany(agent(), both))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'task_ids' },
    })
    expect(await statusOf(gate, task)).toBe('queued')
  })
})
