import { expect, it } from 'vitest'
import { agent, describeGates, worker } from '../../support/gates.ts'
import {
  ask,
  askMany,
  at,
  claim,
  finish,
  held,
  hold,
  lease,
  look,
  refusal,
  statusOf,
} from '../../support/steps.ts'

describeGates('the order of claims', (open) => {
  it('is by priority, then first come first served', async () => {
    const { gate } = await open()
    for (const [payload, priority] of [
      ['b1', 0],
      ['c', -5],
      ['a1', 9],
      ['b2', 0],
      ['a2', 9],
    ]) {
      await ask(gate, { payload, priority })
    }
    const order = (await claim(gate, { max_tasks: 10 })).map((task) => task.payload)
    expect(order).toEqual(['a1', 'a2', 'b1', 'b2', 'c'])
  })

  it('is the same one by one, and over types and capabilities', async () => {
    const { gate } = await open()
    for (let n = 0; n < 6; n++) {
      await ask(gate, { payload: n, type: `t${n % 3}`, requirements: { capabilities: n % 2 ? ['gpu'] : [] } })
    }
    const order = []
    for (let n = 0; n < 6; n++) order.push((await lease(gate, { capabilities: ['gpu'] })).payload)
    expect(order).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('gives owners fair turns: a thousand tasks of one never stand before the first of another', async () => {
    const { gate } = await open()
    await askMany(gate, 1000, {}, agent('alice'))
    const bobs = await ask(gate, {}, agent('bob'))
    const first = await claim(gate, { max_tasks: 2 })
    expect(first.map((task) => task.task_id)).toContain(bobs.task_id)
  })

  it('goes on taking turns while both have tasks', async () => {
    const { gate } = await open()
    await askMany(gate, 10, {}, agent('alice'))
    await claim(gate, { max_tasks: 5 })
    await askMany(gate, 5, {}, agent('bob'))
    const owners = (await claim(gate, { max_tasks: 10 })).map((task) => task.principal_ai)
    expect(owners.slice(0, 4).sort()).toEqual(['alice', 'alice', 'bob', 'bob'])
    expect(owners.filter((owner) => owner === 'bob')).toHaveLength(5)
  })

  it('puts priority above fairness', async () => {
    const { gate } = await open()
    await askMany(gate, 3, { priority: 1 }, agent('alice'))
    await ask(gate, {}, agent('bob'))
    const owners = (await claim(gate, { max_tasks: 4 })).map((task) => task.principal_ai)
    expect(owners).toEqual(['alice', 'alice', 'alice', 'bob'])
  })

  it('is never one of lower priority while higher ones keep coming, unless the worker prefers its type', async () => {
    const { gate } = await open()
    const { task_id } = await ask(gate, { type: 'report' }, agent('bob'))
    for (let n = 0; n < 20; n++) {
      await ask(gate, { priority: 1000 })
      expect(await lease(gate)).toMatchObject({ type: 'job' })
    }
    await ask(gate, { priority: 1000 })
    expect(await lease(gate, { preferred_types: ['report'] })).toMatchObject({ task_id })
  })

  it('is strictly first come first served where the operator wants that', async () => {
    const { gate } = await open({ settings: { claim_order: 'fifo' } })
    const ids = [
      ...(await askMany(gate, 5, {}, agent('alice'))),
      (await ask(gate, {}, agent('bob'))).task_id,
      ...(await askMany(gate, 2, {}, agent('alice'))),
    ]
    expect((await claim(gate, { max_tasks: 8 })).map((task) => task.task_id)).toEqual(ids)
  })

  it('prefers types without leaving out the others, above priority', async () => {
    const { gate } = await open()
    await ask(gate, { type: 'x', priority: 5 })
    await ask(gate, { type: 'y' })
    await ask(gate, { type: 'z' })
    await ask(gate, { type: 'y' })
    const tasks = await claim(gate, { preferred_types: ['y', 'nowhere'], max_tasks: 10 })
    expect(tasks.map((task) => task.type)).toEqual(['y', 'y', 'x', 'z'])
  })
})

describeGates('what a claim may take', (open) => {
  it('is what needs no more capabilities than the worker has', async () => {
    const { gate } = await open()
    const needs = [[], ['gpu'], ['gpu', 'cuda'], ['GPU'], ['cuda']]
    for (const capabilities of needs)
      await ask(gate, { payload: capabilities, requirements: { capabilities } })
    const taken = async (capabilities?: string[]) => {
      const tasks = await claim(gate, { capabilities, max_tasks: 10 })
      for (const task of tasks) await gate.releaseLease(worker(), held(task))
      return tasks.map((task) => task.payload)
    }
    expect(await taken(undefined)).toEqual([[]])
    expect(await taken(['gpu'])).toEqual([[], ['gpu']])
    expect(await taken(['GPU', 'other'])).toEqual([[], ['GPU']])
    expect(await taken(['cuda', 'gpu'])).toEqual([[], ['gpu'], ['gpu', 'cuda'], ['cuda']])
  })

  it('is not hidden behind many tasks that need something else', async () => {
    const { gate } = await open()
    await askMany(gate, 1200, { requirements: { capabilities: ['gpu'] } })
    const task = await ask(gate)
    expect(await lease(gate)).toMatchObject({ task_id: task.task_id })
    expect(await claim(gate)).toEqual([])
  })

  it('is one capability set however it is written', async () => {
    const { gate } = await open()
    await ask(gate, { requirements: { capabilities: ['b', 'a', 'b'] } })
    expect(await lease(gate, { capabilities: ['a', 'b'] })).toMatchObject({
      requirements: { capabilities: ['b', 'a', 'b'] },
    })
  })

  it('is of an accepted type where the worker names types', async () => {
    const { gate } = await open()
    for (const type of ['x', 'y', 'z', 'X']) await ask(gate, { type })
    const types = async (input: object) =>
      (await claim(gate, { max_tasks: 10, ...input })).map((task) => task.type)
    expect(await types({ accept_types: ['nowhere'] })).toEqual([])
    expect(await types({ accept_types: ['z', 'x'], preferred_types: ['z'] })).toEqual(['z', 'x'])
    expect(await types({})).toEqual(['y', 'X'])
  })

  it('is never more than it asked for, and one if it did not say', async () => {
    const { gate } = await open()
    await askMany(gate, 6)
    expect(await claim(gate)).toHaveLength(1)
    expect(await claim(gate, { max_tasks: 3 })).toHaveLength(3)
    expect(await claim(gate, { max_tasks: 3 })).toHaveLength(2)
    expect(await claim(gate, { max_tasks: 3 })).toEqual([])
    for (const max_tasks of [0, -1, 101, 1.5, '2']) {
      expect(await refusal(claim(gate, { max_tasks }))).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path: 'max_tasks' },
      })
    }
  })

  it('is a delayed task from its time on, without a sweep', async () => {
    const { gate, clock } = await open()
    const task = await ask(gate, { delay_seconds: 60 })
    expect(await look(gate, task)).toMatchObject({
      status: 'queued',
      next_eligible_at: new Date(clock.now + 60_000).toISOString(),
    })
    clock.advance(59.999)
    expect(await claim(gate)).toEqual([])
    clock.advance(0.001)
    expect(await lease(gate)).toMatchObject({ task_id: task.task_id })
  })

  it('is a delayed task in the place it had when it was created', async () => {
    const { gate, clock } = await open()
    const delayed = await ask(gate, { delay_seconds: 60 })
    await ask(gate)
    clock.advance(60)
    expect(at(await claim(gate, { max_tasks: 2 }), 0).task_id).toBe(delayed.task_id)
  })

  it('is a task of a type that this process has not seen before', async () => {
    const { gate } = await open()
    await hold(gate)
    await ask(gate, { type: 'new', requirements: { capabilities: ['new'] }, priority: 3 })
    expect(await lease(gate, { accept_types: ['new'], capabilities: ['new'] })).toMatchObject({ type: 'new' })
  })
})

describeGates('the lease that a claim gives', (open) => {
  it('lasts as long as asked, up to the maximum, or the default', async () => {
    const { gate, clock } = await open()
    await askMany(gate, 4)
    for (const [lease_ttl_seconds, seconds] of [
      [undefined, 120],
      [1, 1],
      [1800, 1800],
      [86400, 1800],
    ]) {
      expect(await lease(gate, { lease_ttl_seconds })).toMatchObject({
        expires_at: new Date(clock.now + Number(seconds) * 1000).toISOString(),
        expires_in_ms: Number(seconds) * 1000,
      })
    }
    for (const lease_ttl_seconds of [0, -1, 0.5]) {
      expect(await refusal(claim(gate, { lease_ttl_seconds }))).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path: 'lease_ttl_seconds' },
      })
    }
  })

  it('never outlasts the absolute lifetime of leases', async () => {
    const { gate } = await open({ settings: { max_lease_lifetime_seconds: 60 } })
    expect(await hold(gate)).toMatchObject({ expires_in_ms: 60_000 })
  })

  it('has a higher fence and another id each time', async () => {
    const { gate, clock } = await open()
    const first = await hold(gate)
    await gate.releaseLease(worker(), held(first))
    const second = await lease(gate)
    clock.advance(120)
    await gate.sweep()
    clock.advance(5)
    const third = await lease(gate)
    expect([first.fence, second.fence, third.fence]).toEqual([1, 2, 3])
    expect(new Set([first.lease_id, second.lease_id, third.lease_id]).size).toBe(3)
  })

  it('is shown to the owner without its id, which is the secret of the worker', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const task = await gate.getTask(agent(), { task_id: offer.task_id })
    expect(task).toMatchObject({ status: 'leased', lease: { worker_id: 'w1', expires_at: offer.expires_at } })
    expect(JSON.stringify(task)).not.toContain(offer.lease_id)
  })

  it('is gone from the task when the task has ended', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await finish(gate, offer)
    expect(await statusOf(gate, offer)).toBe('succeeded')
    expect(await look(gate, offer)).not.toHaveProperty('lease')
  })
})
