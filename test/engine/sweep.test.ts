import { expect, it } from 'vitest'
import { isNeed, StoreError } from '../../src/store/store.ts'
import { seededRandom } from '../../src/util/random.ts'
import { agent, describeGates, worker } from '../support/gates.ts'
import {
  anomalies,
  ask,
  askMany,
  at,
  claim,
  expire,
  finish,
  held,
  hold,
  lease,
  look,
  openTasks,
  override,
  receiptsOf,
  receiptTypes,
  soon,
  statusOf,
} from '../support/steps.ts'

describeGates('sweep', (open) => {
  it('a sweep processes the other tasks when one wake fails, and reports the failure', async () => {
    const stranger = { tenant: 999_999, task_id: '018f0000-0000-7000-8000-000000000001' }
    const { gate, clock, errors } = await open({
      wrap: (store) => override(store, { due: async (limit) => [stranger, ...(await store.due(limit))] }),
    })
    const offer = await hold(gate)
    clock.advance(120)
    await expect(gate.sweep()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    expect(await statusOf(gate, offer)).toBe('queued')
    expect(errors).toHaveLength(1)
  })

  it('a sweep and a claim skip tasks that can never be woken', async () => {
    const broken = new Set<string>()
    const { gate, clock } = await open({
      wrap: (store) =>
        override(store, {
          commit: (need, decide) =>
            store.commit(need, (loaded) => {
              const decided = decide(loaded)
              if (isNeed(decided) || !decided.updated.some((task) => broken.has(task.task_id))) return decided
              throw new StoreError('refused', 'a row that the database refuses')
            }),
        }),
    })
    // More than one batch of a sweep or a claim.
    for (const id of await askMany(gate, 110, { delay_seconds: 10 })) broken.add(id)
    const ids = await askMany(gate, 3, { type: 'other', delay_seconds: 20 })
    await ask(gate, { type: 'third' })
    clock.advance(20)
    expect(await lease(gate, { accept_types: ['third'] })).toMatchObject({ type: 'third' })
    await expect(gate.sweep()).rejects.toMatchObject({ code: 'INTERNAL_ERROR' })
    const offers = await claim(gate, { max_tasks: 5 })
    expect(offers.map((offer) => offer.task_id)).toEqual(ids)
  })

  it('a sweep requeues a task with an expired lease, with jitter and without counting an attempt', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate, { max_attempts: 1 })
    clock.advance(119.999)
    expect(await gate.sweep()).toBe(0)
    expect(await statusOf(gate, offer)).toBe('leased')
    clock.advance(0.001)
    expect(await gate.sweep()).toBeGreaterThan(0)
    const task = await look(gate, offer)
    expect(task).toMatchObject({ status: 'queued', attempt: 0, expiry_count: 1 })
    expect(task).not.toHaveProperty('lease')
    const wait = Date.parse(task.next_eligible_at ?? '') - clock.now
    expect(wait).toBeGreaterThanOrEqual(0)
    expect(wait).toBeLessThan(5000)
    clock.advance(5)
    expect(await lease(gate)).toMatchObject({ task_id: offer.task_id, attempt: 0, fence: 2 })
  })

  it('tasks whose leases expire together are spread over five seconds', async () => {
    const { gate, clock } = await open({ random: seededRandom(1) })
    await askMany(gate, 40)
    const offers = await claim(gate, { max_tasks: 40 })
    clock.advance(120)
    await gate.sweep()
    const waits = await Promise.all(
      offers.map(async (offer) => Date.parse((await look(gate, offer)).next_eligible_at ?? '') - clock.now),
    )
    expect(new Set(waits).size).toBeGreaterThan(30)
    expect(Math.min(...waits)).toBeLessThan(1000)
    expect(Math.max(...waits)).toBeGreaterThan(4000)
    expect(Math.max(...waits)).toBeLessThan(5000)
  })

  it('the owner receives lease.expired for a lost lease', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    await expire(gate, clock)
    const [assigned, , expired, ...more] = await receiptsOf(gate, offer)
    expect(expired).toMatchObject({
      receipt_type: 'lease.expired',
      from: { kind: 'service', id: 'asyncgate' },
      to: { kind: 'agent', id: 'alice' },
      parents: [assigned?.receipt_id],
      lease_id: offer.lease_id,
      body: { attempt: 0, expiry_count: 1, previous_worker_id: 'w1', requeued: true },
    })
    expect(more).toEqual([])
    expect(await openTasks(gate)).toEqual([offer.task_id])
  })

  it('a repeated sweep changes nothing', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    await expire(gate, clock)
    await gate.sweep()
    const before = [await look(gate, offer), await receiptTypes(gate, offer)]
    expect(await gate.sweep()).toBe(0)
    expect(await gate.sweep()).toBe(0)
    expect([await look(gate, offer), await receiptTypes(gate, offer)]).toEqual(before)
  })

  it('a sweep does not affect renewed leases and ended tasks', async () => {
    const { gate, clock } = await open()
    await askMany(gate, 2)
    const [renewed, done] = await claim(gate, { max_tasks: 2 })
    if (!renewed || !done) return expect.unreachable()
    clock.advance(60)
    await gate.renewLease(worker(), held(renewed))
    await finish(gate, done)
    clock.advance(60)
    expect(await gate.sweep()).toBe(0)
    expect(await statusOf(gate, renewed)).toBe('leased')
    expect(await statusOf(gate, done)).toBe('succeeded')
  })

  it('the fourth expiry writes the only anomaly receipt', async () => {
    const { gate, clock } = await open()
    const { task_id } = await ask(gate)
    for (let n = 1; n <= 6; n++) {
      await lease(gate)
      await expire(gate, clock)
      expect(await anomalies(gate, { task_id })).toEqual(n < 4 ? [] : ['repeated_lease_expiry'])
    }
    expect(await look(gate, { task_id })).toMatchObject({ status: 'queued', attempt: 0, expiry_count: 6 })
  })

  it('a task fails as a dead letter when it reaches max_expiries', async () => {
    const { gate, clock } = await open()
    const { task_id, receipt_id } = await ask(gate, { max_expiries: 2 })
    await lease(gate)
    await expire(gate, clock)
    const last = await lease(gate)
    await expire(gate, clock)
    expect(await look(gate, { task_id })).toMatchObject({
      status: 'failed',
      dead_letter: true,
      attempt: 0,
      expiry_count: 2,
      result: { outcome: 'failed', error: { code: 'LEASE_EXPIRY_LIMIT' } },
    })
    const receipts = await receiptsOf(gate, { task_id })
    expect(receipts.map((receipt) => receipt.receipt_type)).toEqual([
      'task.assigned',
      'task.accepted',
      'lease.expired',
      'task.accepted',
      'lease.expired',
      'task.failed',
      'task.result_ready',
    ])
    expect(at(receipts, -3)).toMatchObject({ lease_id: last.lease_id, body: { requeued: false } })
    expect(at(receipts, -2)).toMatchObject({
      parents: [receipt_id],
      body: { error: { code: 'LEASE_EXPIRY_LIMIT' } },
    })
    expect(await openTasks(gate)).toEqual([])
    expect(await claim(gate)).toEqual([])
  })

  it('a task fails at the tenth expiry by default, or at the configured number', async () => {
    const { gate, clock } = await open()
    const { task_id } = await ask(gate)
    for (let n = 1; n <= 10; n++) {
      expect(await statusOf(gate, { task_id })).toBe('queued')
      await lease(gate)
      await expire(gate, clock)
    }
    expect(await statusOf(gate, { task_id })).toBe('failed')
    const other = await open({ settings: { max_lease_expiries: 1 } })
    const offer = await hold(other.gate)
    await expire(other.gate, other.clock)
    expect(await statusOf(other.gate, offer)).toBe('failed')
  })

  it('a sweep makes delayed tasks ready when they are due', async () => {
    const { gate, clock } = await open()
    const delayed = await ask(gate, { delay_seconds: 30 })
    clock.advance(30)
    expect(await gate.sweep()).toBe(1)
    expect(await look(gate, delayed)).toMatchObject({ status: 'queued', next_eligible_at: null })
    expect(await receiptTypes(gate, delayed)).toEqual(['task.assigned'])
    expect(await lease(gate)).toMatchObject({ task_id: delayed.task_id })
  })

  it('a sweep covers all tenants and more tasks than one batch', async () => {
    const { gate, clock } = await open()
    await askMany(gate, 150)
    await askMany(gate, 3, {}, agent('alice', 'other'))
    const mine = [...(await claim(gate, { max_tasks: 100 })), ...(await claim(gate, { max_tasks: 100 }))]
    const theirs = await claim(gate, { max_tasks: 100 }, worker('w1', 'other'))
    clock.advance(120)
    expect(await gate.sweep()).toBeGreaterThanOrEqual(153)
    expect(await Promise.all(mine.map((task) => statusOf(gate, task)))).toEqual(Array(150).fill('queued'))
    for (const { task_id } of theirs) {
      const task = await gate.getTask(agent('alice', 'other'), { task_id })
      expect(task).toMatchObject({ status: 'queued', expiry_count: 1 })
    }
  })

  it('a claim processes expired leases without a sweep', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    clock.advance(120)
    await claim(gate)
    expect(await look(gate, offer)).toMatchObject({ expiry_count: 1 })
    clock.advance(5)
    expect(await lease(gate, {}, worker('w2'))).toMatchObject({ task_id: offer.task_id })
    expect(await receiptTypes(gate, offer)).toEqual([
      'task.assigned',
      'task.accepted',
      'lease.expired',
      'task.accepted',
    ])
  })

  it('the gate sweeps periodically', async () => {
    const settings = { lease_sweep_interval_seconds: 0.05 }
    const { gate } = await open({ realTime: true, sweeping: true, settings })
    await hold(gate, { max_expiries: 1 }, { lease_ttl_seconds: 1 })
    const ended = new Promise((resolve) =>
      gate.onTask((event) => event.status === 'failed' && resolve(event)),
    )
    expect(await soon(ended)).toMatchObject({ status: 'failed' })
  })
})
