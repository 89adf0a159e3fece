import { expect, it } from 'vitest'
import { APPROVAL_WEBHOOK } from '../../../src/core/principal.ts'
import type { Gate } from '../../../src/features/gate.ts'
import type { Store } from '../../../src/store/store.ts'
import { admin, agent, type Bench, caller, describeGates, worker } from '../../support/gates.ts'
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
  receiptsOf,
  refusal,
} from '../../support/steps.ts'

const HOUR_SECONDS = 3600

async function totals(gate: Gate, tenant?: string) {
  await gate.usage.flush()
  return (await gate.getUsage(admin(tenant), {})).totals
}

/** The stored number of calls. Reading it is not a call. */
async function storedCalls({ gate, store }: Bench, tenantName = 'default'): Promise<number> {
  await gate.usage.flush()
  const { tenant } = await store.tenant(tenantName)
  const hours = await store.usage.hours(tenant, 0, Number.MAX_SAFE_INTEGER)
  return hours.reduce((sum, { calls }) => sum + calls, 0)
}

/** Rounded like the response. */
const hours = (seconds: number) => Math.round((seconds / HOUR_SECONDS) * 1e6) / 1e6

describeGates('usage', (open, storeName) => {
  it('every created task counts once, and repeated or refused requests do not', async () => {
    const { gate } = await open()
    await ask(gate)
    await askMany(gate, 5)
    const keyed = { idempotency_key: 'k' }
    await ask(gate, keyed)
    await ask(gate, keyed)
    const bulk = { tasks: [{ type: 'job', ...keyed }, { type: 'job', idempotency_key: 'l' }, { type: '' }] }
    await gate.createTasks(agent(), bulk)
    await gate.createTasks(agent(), bulk)
    await refusal(ask(gate, { priority: 'high' }))
    expect((await totals(gate)).tasks).toBe(1 + 5 + 1 + 1)
  })

  it('only admins of the tenant default read the usage of another tenant', async () => {
    const { gate } = await open()
    await gate.createTask(agent('alice', 'acme'), { type: 'job' })
    await gate.usage.flush()
    expect((await gate.getUsage(admin(), { tenant: 'acme' })).totals.tasks).toBe(1)
    expect((await gate.getUsage(admin())).totals.tasks).toBe(0)
    const origin = { request_id: null, ip: null, user_agent: null, forwarded_for: null }
    const remote = { ...admin('acme'), origin }
    expect((await gate.getUsage(remote, { tenant: 'acme' })).totals.tasks).toBe(1)
    expect(await refusal(gate.getUsage(remote, { tenant: 'default' }))).toMatchObject({ code: 'FORBIDDEN' })
  })

  it('a lease counts from its claim to its end, however it ends', async () => {
    const { gate, clock } = await open()
    const held7 = await hold(gate)
    clock.advance(7)
    await finish(gate, held7)
    expect((await totals(gate)).lease_hours).toBe(hours(7))

    const released = await hold(gate)
    clock.advance(11)
    await gate.releaseLease(worker(), held(released))
    expect((await totals(gate)).lease_hours).toBe(hours(18))
    await gate.cancelTask(admin(), { task_id: released.task_id })

    const failed = await hold(gate, { max_attempts: 1 })
    clock.advance(13)
    await failTask(gate, failed)
    expect((await totals(gate)).lease_hours).toBe(hours(31))

    const renewed = await hold(gate)
    clock.advance(60)
    await gate.renewLease(worker(), { ...held(renewed), extend_by_seconds: 120 })
    await gate.startTask(worker(), held(renewed))
    clock.advance(60)
    await finish(gate, renewed)
    expect((await totals(gate)).lease_hours).toBe(hours(151))
    expect((await totals(gate)).tasks).toBe(4)
  })

  it('an expired lease counts up to its expiry, not to the sweep', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate, {}, { lease_ttl_seconds: 60 })
    clock.advance(1_000)
    await expire(gate, clock)
    expect((await totals(gate)).lease_hours).toBe(hours(60))
    await gate.cancelTask(admin(), { task_id: offer.task_id })
    expect((await totals(gate)).lease_hours).toBe(hours(60))
  })

  it('the lease of a canceled task and of a task that asks counts until then', async () => {
    const { gate, clock } = await open()
    const canceled = await hold(gate)
    clock.advance(20)
    await gate.cancelTask(agent(), { task_id: canceled.task_id })
    await gate.reportCancel(worker(), { ...held(canceled), stage: 'stopped' }).catch(() => {})
    expect((await totals(gate)).lease_hours).toBe(hours(20))
    const asking = await hold(gate)
    clock.advance(5)
    await gate.ask(worker(), { ...held(asking), kind: 'approval', request: { title: 'Go on?' } })
    expect((await totals(gate)).lease_hours).toBe(hours(25))
  })

  it('leases that are held together count separately, and open ones not yet', async () => {
    const { gate, clock } = await open()
    await askMany(gate, 3)
    const offers = await claim(gate, { max_tasks: 3 })
    clock.advance(10)
    await finish(gate, at(offers, 0))
    clock.advance(10)
    await finish(gate, at(offers, 1))
    expect((await totals(gate)).lease_hours).toBe(hours(30))
  })

  it('the bytes of all receipts of the tenant are stored', async () => {
    const { gate } = await open()
    const offer = await hold(gate, { summary: 'Grüße' })
    await finish(gate, offer)
    const receipts = await receiptsOf(gate, offer)
    expect(receipts.length).toBeGreaterThan(2)
    const bytes = receipts.map(({ body }) => Buffer.byteLength(JSON.stringify(body)))
    const { receipt_bytes } = await gate.getUsage(admin(), {})
    expect(receipt_bytes).toBe(bytes.reduce((sum, size) => sum + size, 0))
  })

  it('calls of clients count if they are allowed and valid, and calls of the server itself do not', async () => {
    const bench = await open()
    const { gate } = bench
    await ask(gate)
    await gate.listTasks(agent(), {})
    await refusal(gate.getTask(agent(), { task_id: '00000000-0000-7000-8000-000000000000' }))
    await refusal(gate.createTask(worker(), { type: 'job' }))
    await refusal(gate.listTasks(agent(), { limit: 'x' }))
    await gate.listApprovals({ tenant: 'default', principal: APPROVAL_WEBHOOK, role: 'admin' }, {})
    expect(await storedCalls(bench)).toBe(3)
    await gate.getUsage(admin(), {})
    expect(await storedCalls(bench)).toBe(4)
  })

  it('a tenant sees only its own usage, and only admins see it', async () => {
    const bench = await open()
    const { gate } = bench
    await ask(gate, {}, agent('alice', 'acme'))
    await askMany(gate, 2)
    await gate.listTasks(agent(), {})
    expect(await storedCalls(bench, 'acme')).toBe(1)
    expect(await storedCalls(bench)).toBe(2)
    expect(await totals(gate, 'acme')).toMatchObject({ tasks: 1 })
    expect(await totals(gate)).toMatchObject({ tasks: 2 })
    for (const by of [agent(), worker(), caller('human', 'vic', 'viewer')]) {
      expect(await refusal(gate.getUsage(by, {}))).toMatchObject({ code: 'FORBIDDEN' })
    }
    expect(await refusal(gate.getUsage(admin(), { tenant_id: 'acme' }))).toMatchObject({
      code: 'VALIDATION_ERROR',
    })
  })

  it('rows are hours or days of the requested period', async () => {
    const { gate } = await open()
    await ask(gate)
    const now = Date.now()
    const day = new Date(now).toISOString().slice(0, 10)
    const byDay = await gate.getUsage(admin(), { from: `${day}T00:00:00Z` })
    expect(byDay).toMatchObject({ granularity: 'day', rows: [{ tasks: 1, from: `${day}T00:00:00.000Z` }] })
    const from = new Date(now - 30 * 60_000).toISOString()
    const byHour = await gate.getUsage(admin(), { from, granularity: 'hour' })
    expect(byHour.rows.at(-1)).toMatchObject({ tasks: 1 })
    expect(Date.parse(byHour.from) % 3_600_000).toBe(0)
    expect(Date.parse(byHour.to)).toBeGreaterThan(now)
    const before = await gate.getUsage(admin(), { from: '2020-01-01T00:00:00Z', to: '2020-02-01T00:00:00Z' })
    expect(before).toMatchObject({ rows: [], totals: { tasks: 0, calls: 0, receipt_byte_hours: 0 } })
  })

  it.each([
    [{ from: 'yesterday' }, 'from'],
    [{ from: '2020-01-02T00:00:00Z', to: '2020-01-01T00:00:00Z' }, 'from'],
    [{ from: '2999-01-01T00:00:00Z' }, 'from'],
    [{ from: '2018-01-01T00:00:00Z', to: '2020-01-01T00:00:00Z' }, 'from'],
    [{ from: '2020-01-01T00:00:00Z', to: '2020-02-02T00:00:00Z', granularity: 'hour' }, 'from'],
    [{ granularity: 'week' }, 'granularity'],
  ])('the period %o is refused', async (period, path) => {
    const { gate } = await open()
    expect(await refusal(gate.getUsage(admin(), period))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path },
    })
  })

  it('a write whose outcome is unknown is repeated and counts once', async () => {
    let failures = 0
    const { gate, errors } = await open({
      wrap: (store) => losingResponses(store, () => failures++ < 3),
    })
    await askMany(gate, 3)
    await gate.usage.flush()
    await ask(gate)
    await gate.usage.flush()
    expect(failures).toBe(2)
    await gate.usage.flush()
    await gate.usage.flush()
    expect(errors).toHaveLength(3)
    expect((await totals(gate)).tasks).toBe(4)
    await gate.usage.flush()
    expect((await totals(gate)).tasks).toBe(4)
  })

  it('what is counted is written when the gate closes', async () => {
    const first = await open()
    await ask(first.gate)
    await first.gate.close()
    const second = await first.another()
    await ask(second.gate)
    expect((await totals(second.gate)).tasks).toBe(2)
  })

  it.skipIf(storeName === 'sqlite')('the counts of two servers are added up', async () => {
    const first = await open({ settings: { instance_id: 'a' } })
    const second = await first.another({ settings: { instance_id: 'b' } })
    await Promise.all([askMany(first.gate, 3), askMany(second.gate, 4)])
    const offer = await lease(first.gate)
    first.clock.advance(30)
    await finish(second.gate, offer)
    await first.gate.usage.flush()
    // Two bulk requests, a claim and a completion.
    expect(await storedCalls(second)).toBe(4)
    const expected = { tasks: 7, lease_hours: hours(30) }
    expect(await totals(second.gate)).toMatchObject(expected)
    expect(await totals(first.gate)).toMatchObject(expected)
  })

  it('events are removed after their retention period, and the totals remain', async () => {
    const { gate } = await open()
    await ask(gate)
    const before = await totals(gate)
    const day = 86_400_000
    expect(await gate.usage.sweep(Date.now() + 399 * day)).toBe(0)
    expect(await gate.usage.sweep(Date.now() + 401 * day)).toBe(1)
    expect(await totals(gate)).toMatchObject({ tasks: before.tasks })
  })
})

/** Writes of usage happen, but their callers are told otherwise as long as `fails` says so. */
function losingResponses(store: Store, fails: () => boolean): Store {
  const usage: Store['usage'] = {
    ...store.usage,
    async add(...given) {
      await store.usage.add(...given)
      if (fails()) throw new Error('connection lost')
    },
  }
  return new Proxy(store, {
    get(target, name) {
      if (name === 'usage') return usage
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
