import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Offer } from '../../src/client/operations.ts'
import { Transport } from '../../src/client/transport.ts'
import { Calls } from '../../src/worker/calls.ts'
import { CancelReports } from '../../src/worker/cancel-reports.ts'
import type { TaskAborted, TaskContext } from '../../src/worker/index.ts'
import { task } from '../../src/worker/index.ts'
import { HeldLease } from '../../src/worker/lease.ts'
import { Leases } from '../../src/worker/leases.ts'
import { silentLogger, WorkerLog } from '../../src/worker/log.ts'
import { Metrics } from '../../src/worker/metrics.ts'
import { members } from '../http/support.ts'
import { look, only, receiptTypes } from '../support/steps.ts'
import { aborted, CLAIM, COMPLETE, Deferred, eventually, itemsOf, RENEW, workerBench } from './support.ts'

const KEY = { worker_id: 'w1', task_id: 't1', lease_id: 'l1' }

const OFFER: Offer = {
  ...KEY,
  fence: 1,
  type: 'job',
  summary: null,
  payload: {},
  payload_pointer: '',
  body: null,
  inputs: {},
  principal_ai: 'alice',
  priority: 0,
  attempt: 0,
  max_attempts: 2,
  expires_at: '',
  expires_in_ms: 30_000,
  timeout_seconds: null,
  deadline_at: null,
  requirements: { capabilities: [], tags: [] },
  success_criteria: null,
  result_delivery: 'return_payload',
  expected_outcome_kind: null,
  expected_artifact_mime: null,
  session_id: null,
  provenance: { parent_task_id: null, caused_by_receipt_id: null, dedupe_key: null },
}

/** A task that runs until the test ends it, and exposes its context. */
function held(options: { leaseSeconds?: number } = {}) {
  const begun = new Deferred<TaskContext>()
  const mayEnd = new Deferred()
  const definition = task('job', {
    ...options,
    async run(_, ctx) {
      begun.resolve(ctx)
      await Promise.race([mayEnd.promise, aborted(ctx.signal)])
      return 'done'
    },
  })
  return { begun: begun.promise, end: mayEnd.resolve, definition }
}

describe('lease times', () => {
  const lease = (expires_in_ms: number) => {
    return new HeldLease({ ...OFFER, expires_in_ms }, KEY, task('job', { run() {} }), 1000)
  }

  it('a lease is renewed after a third of its time, counted from the request', () => {
    const held = lease(30_000)
    expect(held).toMatchObject({ renewAt: 11_000, endsAt: 31_000 })
    held.renewed(11_000, 30_000, 9)
    expect(held).toMatchObject({ renewAt: 21_000, endsAt: 41_000 })
  })

  it('renewals are spread when few are left, and the limit is never exceeded', () => {
    const held = lease(30_000)
    held.renewed(21_000, 30_000, 7)
    expect(held).toMatchObject({ renewAt: 41_000, endsAt: 51_000 })
    held.renewed(41_000, 60_000, 0)
    expect(held).toMatchObject({ renewAt: Number.POSITIVE_INFINITY, endsAt: 101_000 })
  })

  it('a renewal never shortens the remaining time', () => {
    const since = performance.now()
    const held = new HeldLease(
      { ...OFFER, expires_in_ms: 90_000 },
      KEY,
      task('job', { leaseSeconds: 10, run() {} }),
      since,
    )
    expect(held.renewInput.extend_by_seconds).toBe(90)
  })
})

describe('renewal of all leases of a worker', () => {
  it('leases that are due at nearly the same time are renewed in one request', async () => {
    const sent = new Deferred<ReturnType<typeof itemsOf>>()
    const fetch = async (_: unknown, init: RequestInit = {}) => {
      const items = itemsOf([{ body: members(JSON.parse(String(init.body))) }])
      sent.resolve(items)
      return Response.json({ results: items.map(() => ({ expires_in_ms: 30_000, renewals_left: 9 })) })
    }
    const log = new WorkerLog(silentLogger, {})
    const calls = new Calls(new Transport({ url: 'http://127.0.0.1:1', fetch }), 'w1', () => {})
    const leases = new Leases({
      calls,
      cancelReports: new CancelReports(calls, log),
      log,
      metrics: new Metrics(['job']),
    })
    // The first lease is due now, the last half a second later.
    const since = performance.now() - 10_000
    for (let i = 0; i < 300; i++) {
      const key = { ...KEY, task_id: `t${i}`, lease_id: `l${i}` }
      leases.add(new HeldLease({ ...OFFER, ...key }, key, task('job', { run() {} }), since + (500 * i) / 300))
    }
    expect(await sent.promise).toHaveLength(300)
    leases.close()
  })
})

describe('leases of a worker', () => {
  const start = workerBench()

  it('a lease is renewed at a third of its time while the handler runs', async () => {
    const gate = await start()
    const { definition, end, begun } = held()
    gate.start([definition], { leaseSeconds: 2 })
    const task_id = await gate.ask('job')
    await begun
    const began = performance.now()
    const renewals = await gate.network.until(RENEW, 4)
    expect(renewals[0]?.body).toMatchObject({ items: [{ worker_id: 'w1', task_id, extend_by_seconds: 2 }] })
    expect(performance.now() - began, 'longer than the lease was').toBeGreaterThan(2000)
    end()
    expect(await gate.end(task_id)).toMatchObject({ status: 'succeeded', expiry_count: 0 })
  })

  it('a long task stays within the renewal limit without losing its lease', async () => {
    const gate = await start({ settings: { max_lease_renewals: 4 } })
    const { definition, end, begun } = held()
    gate.start([definition], { leaseSeconds: 1 })
    const task_id = await gate.ask('job')
    await begun
    // Renewals at a third of the time would keep a lease of 1 s for only 2.3 s.
    await delay(4000)
    end()
    expect(await gate.end(task_id)).toMatchObject({ status: 'succeeded', expiry_count: 0 })
    const lengths = itemsOf(gate.network.to(RENEW)).map((item) => Number(item.extend_by_seconds))
    expect(lengths.length).toBeLessThanOrEqual(4)
    expect(Math.max(...lengths)).toBeGreaterThan(2)
    expect(await receiptTypes(gate.gate, { task_id })).not.toContain('system.anomaly')
  })

  it('all leases of one claim are renewed in one request', async () => {
    const gate = await start()
    const ids = await Promise.all(Array.from({ length: 300 }, () => gate.ask('job')))
    const all = new Deferred()
    let running = 0
    const run = async () => {
      running++
      await all.promise
    }
    gate.start([task('job', { run })], { concurrency: 300, leaseSeconds: 6 })
    await eventually(() => running === 300)
    const renewed = () => new Set(itemsOf(gate.network.to(RENEW)).map((item) => item.lease_id))
    await eventually(() => renewed().size === 300)
    const known = new Set<unknown>()
    const firsts = gate.network.to(RENEW).filter((request) => {
      const before = known.size
      for (const { lease_id } of itemsOf([request])) known.add(lease_id)
      return known.size > before
    })
    // A claim returns at most 100 tasks.
    expect(firsts.length).toBeLessThanOrEqual(gate.network.to(CLAIM).length)
    all.resolve()
    for (const id of ids) expect(await gate.end(id)).toMatchObject({ status: 'succeeded', expiry_count: 0 })
  })

  it('a renewal without a response is retried soon', async () => {
    const gate = await start()
    const { definition, end, begun } = held()
    const restore = gate.network.cut(RENEW)
    gate.start([definition], { leaseSeconds: 3 })
    const task_id = await gate.ask('job')
    const { signal } = await begun
    await gate.network.until(RENEW, 4)
    restore()
    const renewals = gate.network.to(RENEW).length
    await gate.network.until(RENEW, renewals + 3)
    expect(signal.aborted).toBe(false)
    end()
    expect(await gate.end(task_id)).toMatchObject({ status: 'succeeded', expiry_count: 0 })
  })

  it('expires by the local clock when renewals fail, and the signal of the handler is aborted', async () => {
    const gate = await start()
    const { definition, begun } = held()
    const restore = gate.network.cut(RENEW)
    const started = gate.start([definition], { leaseSeconds: 1 })
    const task_id = await gate.ask('job')
    const { signal } = await begun
    await eventually(() => signal.aborted)
    expect(signal.reason).toMatchObject({ name: 'TaskAborted', kind: 'lease_lost' })
    await eventually(() => started.metrics().types.job?.lost === 1)
    expect(gate.network.to(COMPLETE)).toEqual([])
    restore()
    // The gate also expires the lease and requeues the task; no attempt is spent.
    await eventually(async () => (await look(gate.gate, { task_id })).expiry_count === 1)
    expect(await look(gate.gate, { task_id })).toMatchObject({ attempt: 0 })
  })

  it('a lease that another worker holds aborts the handler, and its result is not reported', async () => {
    const gate = await start()
    const begun = new Deferred<TaskContext>()
    let reason: TaskAborted | undefined
    const run = async (_: unknown, ctx: TaskContext) => {
      begun.resolve(ctx)
      await aborted(ctx.signal).catch((error: TaskAborted) => {
        reason = error
      })
      return 'too late'
    }
    const started = gate.start([task('job', { run })], { leaseSeconds: 3 })
    const task_id = await gate.ask('job')
    await begun.promise
    const { lease } = await look(gate.gate, { task_id })
    const { lease_id } = only(await gate.network.until(RENEW, 1).then(itemsOf))
    await gate.post('/v1/leases/release', { worker_id: lease?.worker_id, task_id, lease_id })
    await eventually(() => reason !== undefined)
    expect(reason?.kind).toBe('lease_lost')
    await eventually(() => started.metrics().types.job?.lost === 1)
    expect(gate.network.to(COMPLETE)).toEqual([])
  })

  it('a result is not reported if the lease expired while the event loop was blocked', async () => {
    const gate = await start()
    const run = async () => {
      const end = performance.now() + 1500
      while (performance.now() < end);
      return 'too late'
    }
    const started = gate.start([task('job', { run })], { leaseSeconds: 1 })
    await gate.ask('job', {}, { max_expiries: 1 })
    await eventually(() => started.metrics().types.job?.lost === 1)
    expect(gate.network.to(COMPLETE)).toEqual([])
  })

  it('ctx.extend extends the lease immediately and for all later renewals', async () => {
    const gate = await start()
    const { definition, end, begun } = held()
    gate.start([definition], { leaseSeconds: 2 })
    const task_id = await gate.ask('job')
    const ctx = await begun
    expect(await ctx.extend('1m')).toBe(true)
    expect(itemsOf(gate.network.to(RENEW)).at(-1)).toMatchObject({ task_id, extend_by_seconds: 60 })
    const expiresAt = async () => Date.parse((await look(gate.gate, { task_id })).lease?.expires_at ?? '')
    expect((await expiresAt()) - Date.now()).toBeGreaterThan(55_000)
    // The server limits a lease to half an hour and returns the time that it grants.
    expect(await ctx.extend('2h')).toBe(false)
    expect((await expiresAt()) - Date.now()).toBeGreaterThan(1_700_000)
    // A shorter time does not shorten the lease.
    expect(await ctx.extend(1000)).toBe(true)
    expect((await expiresAt()) - Date.now()).toBeGreaterThan(1_700_000)
    await expect(ctx.extend(JSON.parse('"nonsense"'))).rejects.toThrow('is not a duration')
    end()
    expect((await gate.end(task_id)).status).toBe('succeeded')
  })

  it('ctx.extend returns false for a lost lease', async () => {
    const gate = await start()
    const { definition, begun } = held()
    gate.start([definition])
    const task_id = await gate.ask('job')
    const ctx = await begun
    await gate.post(`/v1/tasks/${task_id}/cancel`, { principal_id: 'alice' })
    await eventually(() => ctx.signal.aborted)
    expect(await ctx.extend('10m')).toBe(false)
  })

  it('the lease has the length of its task before the handler begins, although all types are claimed together', async () => {
    const gate = await start()
    const { definition, begun, end } = held({ leaseSeconds: 600 })
    gate.start([definition, task('quick', { leaseSeconds: 5, run() {} })])
    const task_id = await gate.ask('job')
    await begun
    const { lease } = await look(gate.gate, { task_id })
    expect(Date.parse(lease?.expires_at ?? '') - Date.now()).toBeGreaterThan(500_000)
    end()
    expect((await gate.end(task_id)).status).toBe('succeeded')
  })

  it('a lease that ends with the task timeout aborts the handler in time', async () => {
    const gate = await start()
    const { definition, begun } = held()
    gate.start([definition])
    await gate.ask('job', {}, { timeout_seconds: 1 })
    const { signal } = await begun
    await eventually(() => signal.aborted, 5)
    expect(signal.reason.kind).toBe('lease_lost')
  })
})
