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

describeGates('claim order', (open) => {
  it('tasks are claimed by priority, then in the order of creation', async () => {
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

  it('the claim order is the same one by one, and across types and capabilities', async () => {
    const { gate } = await open()
    for (let n = 0; n < 6; n++) {
      await ask(gate, { payload: n, type: `t${n % 3}`, requirements: { capabilities: n % 2 ? ['gpu'] : [] } })
    }
    const order = []
    for (let n = 0; n < 6; n++) order.push((await lease(gate, { capabilities: ['gpu'] })).payload)
    expect(order).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('a thousand tasks of one owner never delay the first task of another', async () => {
    const { gate } = await open()
    await askMany(gate, 1000, {}, agent('alice'))
    const bobs = await ask(gate, {}, agent('bob'))
    const first = await claim(gate, { max_tasks: 2 })
    expect(first.map((task) => task.task_id)).toContain(bobs.task_id)
  })

  it('a claim hands out at most 8 MiB of input, unless one task has more', async () => {
    const { gate } = await open()
    for (let n = 0; n < 10; n++) await ask(gate, { payload: 'x'.repeat(1_000_000) })
    expect(await claim(gate, { max_tasks: 10 })).toHaveLength(8)
    expect(await claim(gate, { max_tasks: 10 })).toHaveLength(2)
  })

  it('owners take turns while both have tasks', async () => {
    const { gate } = await open()
    await askMany(gate, 10, {}, agent('alice'))
    await claim(gate, { max_tasks: 5 })
    await askMany(gate, 5, {}, agent('bob'))
    const owners = (await claim(gate, { max_tasks: 10 })).map((task) => task.principal_ai)
    expect(owners.slice(0, 4).sort()).toEqual(['alice', 'alice', 'bob', 'bob'])
    expect(owners.filter((owner) => owner === 'bob')).toHaveLength(5)
  })

  it('priority ranks above fairness', async () => {
    const { gate } = await open()
    await askMany(gate, 3, { priority: 1 }, agent('alice'))
    await ask(gate, {}, agent('bob'))
    const owners = (await claim(gate, { max_tasks: 4 })).map((task) => task.principal_ai)
    expect(owners).toEqual(['alice', 'alice', 'alice', 'bob'])
  })

  it('a task of lower priority is claimed only when none is higher, or if its type is preferred', async () => {
    const { gate } = await open()
    const { task_id } = await ask(gate, { type: 'report' }, agent('bob'))
    for (let n = 0; n < 20; n++) {
      await ask(gate, { priority: 1000 })
      expect(await lease(gate)).toMatchObject({ type: 'job' })
    }
    await ask(gate, { priority: 1000 })
    expect(await lease(gate, { preferred_types: ['report'] })).toMatchObject({ task_id })
  })

  it('fairness can be turned off: tasks are then claimed in the order of creation', async () => {
    const { gate } = await open({ settings: { claim_order: 'fifo' } })
    const ids = [
      ...(await askMany(gate, 5, {}, agent('alice'))),
      (await ask(gate, {}, agent('bob'))).task_id,
      ...(await askMany(gate, 2, {}, agent('alice'))),
    ]
    expect((await claim(gate, { max_tasks: 8 })).map((task) => task.task_id)).toEqual(ids)
  })

  it('preferred types are claimed first, above priority, without excluding others', async () => {
    const { gate } = await open()
    await ask(gate, { type: 'x', priority: 5 })
    await ask(gate, { type: 'y' })
    await ask(gate, { type: 'z' })
    await ask(gate, { type: 'y' })
    const tasks = await claim(gate, { preferred_types: ['y', 'nowhere'], max_tasks: 10 })
    expect(tasks.map((task) => task.type)).toEqual(['y', 'y', 'x', 'z'])
  })
})

describeGates('claim matching', (open) => {
  it('a task is claimed only by a worker that has all of its capabilities', async () => {
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

  it('a matching task is found behind many that need other capabilities', async () => {
    const { gate } = await open()
    await askMany(gate, 1200, { requirements: { capabilities: ['gpu'] } })
    const task = await ask(gate)
    expect(await lease(gate)).toMatchObject({ task_id: task.task_id })
    expect(await claim(gate)).toEqual([])
  })

  it('the order and repetition of capabilities do not matter', async () => {
    const { gate } = await open()
    await ask(gate, { requirements: { capabilities: ['b', 'a', 'b'] } })
    expect(await lease(gate, { capabilities: ['a', 'b'] })).toMatchObject({
      requirements: { capabilities: ['b', 'a', 'b'] },
    })
  })

  it('accept_types limits a claim to these types', async () => {
    const { gate } = await open()
    for (const type of ['x', 'y', 'z', 'X']) await ask(gate, { type })
    const types = async (input: object) =>
      (await claim(gate, { max_tasks: 10, ...input })).map((task) => task.type)
    expect(await types({ accept_types: ['nowhere'] })).toEqual([])
    expect(await types({ accept_types: ['z', 'x'], preferred_types: ['z'] })).toEqual(['z', 'x'])
    expect(await types({})).toEqual(['y', 'X'])
  })

  it('a claim returns at most max_tasks, and one by default', async () => {
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

  it('a delayed task can be claimed as soon as it is due, without a sweep', async () => {
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

  it('a delayed task keeps its place in the order of creation', async () => {
    const { gate, clock } = await open()
    const delayed = await ask(gate, { delay_seconds: 60 })
    await ask(gate)
    clock.advance(60)
    expect(at(await claim(gate, { max_tasks: 2 }), 0).task_id).toBe(delayed.task_id)
  })

  it('a claim finds a task of a type that this process has not seen before', async () => {
    const { gate } = await open()
    await hold(gate)
    await ask(gate, { type: 'new', requirements: { capabilities: ['new'] }, priority: 3 })
    expect(await lease(gate, { accept_types: ['new'], capabilities: ['new'] })).toMatchObject({ type: 'new' })
  })
})

describeGates('lease of a claim', (open) => {
  it('a lease lasts as long as requested, up to the maximum, or the default', async () => {
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

  it('a lease never exceeds the absolute lifetime of leases', async () => {
    const { gate } = await open({ settings: { max_lease_lifetime_seconds: 60 } })
    expect(await hold(gate)).toMatchObject({ expires_in_ms: 60_000 })
  })

  it('each lease of a task has a higher fence and another id', async () => {
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

  it('the owner sees the lease without its id', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const task = await gate.getTask(agent(), { task_id: offer.task_id })
    expect(task).toMatchObject({ status: 'leased', lease: { worker_id: 'w1', expires_at: offer.expires_at } })
    expect(JSON.stringify(task)).not.toContain(offer.lease_id)
  })

  it('an ended task shows no lease', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await finish(gate, offer)
    expect(await statusOf(gate, offer)).toBe('succeeded')
    expect(await look(gate, offer)).not.toHaveProperty('lease')
  })
})
