import { afterEach, expect, it, vi } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import type { WorkerView } from '../../../src/features/workers/shape.ts'
import { admin, agent, caller, describeGates, worker } from '../../support/gates.ts'
import {
  ask,
  askMany,
  claim,
  failTask,
  finish,
  held,
  hold,
  lease,
  only,
  override,
  refusal,
  soon,
} from '../../support/steps.ts'

type Fields = Readonly<Record<string, unknown>>

async function workers(gate: Gate, input: Fields = {}): Promise<readonly WorkerView[]> {
  return (await gate.listWorkers(agent(), input)).workers
}

async function workerOf(gate: Gate, worker_id = 'w1'): Promise<WorkerView> {
  return only((await workers(gate)).filter((found) => found.worker_id === worker_id))
}

const drain = (gate: Gate, on = true, worker_id = 'w1') => gate.drainWorker(admin(), { worker_id, drain: on })

/** The limit is generous, for a busy machine. */
const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 20_000, interval: 20 })

afterEach(() => {
  vi.useRealTimers()
})

describeGates('worker registry', (open, storeName) => {
  it('claims register a worker with its capabilities, leases and counts', async () => {
    const { gate } = await open()
    expect(await workers(gate)).toEqual([])
    await askMany(gate, 4, { requirements: { capabilities: ['gpu'] } })
    const [first, second, third] = await claim(gate, {
      capabilities: ['gpu'],
      accept_types: ['job'],
      max_tasks: 3,
    })
    if (!first || !second || !third) return expect.unreachable()
    await gate.startTask(worker(), held(first))
    expect(await workerOf(gate)).toEqual({
      worker_id: 'w1',
      state: 'busy',
      drain: false,
      principal: { kind: 'worker', id: 'w1' },
      worker_type: null,
      version: null,
      instance_id: null,
      capabilities: ['gpu'],
      accept_types: ['job'],
      leased: 2,
      running: 1,
      next_expires_at: second.expires_at,
      claimed: 3,
      completed: 0,
      failed: 0,
      first_seen_at: expect.any(String),
      last_seen_at: expect.any(String),
    })
    await finish(gate, first)
    await finish(gate, first)
    await failTask(gate, second, { retryable: true })
    await gate.releaseLease(worker(), held(third))
    expect(await workerOf(gate)).toMatchObject({
      state: 'idle',
      leased: 0,
      running: 0,
      next_expires_at: null,
      claimed: 3,
      completed: 1,
      failed: 1,
    })
  })

  it('accept_types is null for any type, and changed capabilities replace earlier ones', async () => {
    const { gate } = await open()
    await claim(gate)
    expect(await workerOf(gate)).toMatchObject({ capabilities: [], accept_types: null, state: 'idle' })
    await claim(gate, { capabilities: ['a'], accept_types: ['x'] })
    expect(await workerOf(gate)).toMatchObject({ capabilities: ['a'], accept_types: ['x'] })
    await claim(gate)
    expect(await workerOf(gate)).toMatchObject({ capabilities: [], accept_types: null })
  })

  it('a worker without leases that was not seen recently is offline', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { gate } = await open({ settings: { worker_offline_seconds: 60 } })
    await hold(gate)
    await claim(gate, {}, worker('w2'))
    vi.setSystemTime(Date.now() + 61_000)
    expect((await workers(gate)).map(({ state }) => state)).toEqual(['busy', 'offline'])
    expect((await workers(gate, { state: 'offline' })).map(({ worker_id }) => worker_id)).toEqual(['w2'])
    expect(await gate.workerHeartbeat(worker('w2'), { worker_id: 'w2' })).toEqual({
      ok: true,
      heartbeat_seconds: 20,
    })
    expect(await workerOf(gate, 'w2')).toMatchObject({
      state: 'idle',
      last_seen_at: new Date().toISOString(),
    })
    const { workers: states } = await gate.stats()
    expect(states).toEqual({ idle: 1, busy: 1, offline: 0 })
  })

  it('every call about a lease counts as a sighting of the worker', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { gate } = await open()
    const [first, second] = await askMany(gate, 2).then(() => claim(gate, { max_tasks: 2 }))
    if (!first || !second) return expect.unreachable()
    const calls: (() => Promise<unknown>)[] = [
      () => gate.renewLease(worker(), held(first)),
      () => gate.reportProgress(worker(), { ...held(first), progress: { percent: 1 } }),
      () => finish(gate, first),
      () => failTask(gate, second),
      () => gate.workerHeartbeat(worker(), { worker_id: 'w1' }),
    ]
    for (const call of calls) {
      vi.setSystemTime(Date.now() + 10_000)
      await call()
      expect(await workerOf(gate)).toMatchObject({ last_seen_at: new Date().toISOString() })
    }
  })

  it('register_worker stores the profile and shows config to admins only', async () => {
    const { gate } = await open()
    const input = {
      worker_id: 'w1',
      worker_type: 'model_api',
      version: '1.4.0',
      capabilities: ['embeddings'],
      accept_types: ['embed'],
      config: { max_concurrent: 3 },
    }
    expect(await gate.registerWorker(worker(), input)).toEqual({ ok: true, heartbeat_seconds: 40 })
    expect(await workerOf(gate)).toMatchObject({
      state: 'idle',
      worker_type: 'model_api',
      version: '1.4.0',
      capabilities: ['embeddings'],
      accept_types: ['embed'],
    })
    expect(await workerOf(gate)).not.toHaveProperty('config')
    const shown = await gate.listWorkers(admin())
    expect(shown.workers).toMatchObject([{ config: { max_concurrent: 3 } }])
    const wrong = { worker_id: 'w1', config: { text: 'x'.repeat(5000) } }
    expect(await refusal(gate.registerWorker(worker(), wrong))).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      details: { path: 'config' },
    })
  })

  it('list_workers finds one worker by its name', async () => {
    const { gate } = await open()
    for (const worker_id of ['w1', 'w2']) await gate.registerWorker(worker(worker_id), { worker_id })
    const found = await gate.listWorkers(admin(), { worker_id: 'w2' })
    expect(found).toMatchObject({ workers: [{ worker_id: 'w2' }], next_cursor: null })
    expect((await gate.listWorkers(admin(), { worker_id: 'w' })).workers).toEqual([])
    expect((await gate.listWorkers(admin(), { worker_id: 'w2', state: 'busy' })).workers).toEqual([])
  })

  it('the worker itself or an admin can unregister it', async () => {
    const { gate } = await open()
    await claim(gate)
    await workers(gate)
    const stranger = caller('worker', 'other', 'worker')
    expect(await refusal(gate.unregisterWorker(stranger, { worker_id: 'w1' }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await gate.unregisterWorker(worker(), { worker_id: 'w1' })).toEqual({ ok: true })
    expect(await workers(gate)).toEqual([])
    expect(await gate.unregisterWorker(worker(), { worker_id: 'w1' })).toEqual({ ok: true })
    await claim(gate)
    await gate.unregisterWorker(admin(), { worker_id: 'w1' })
    expect(await workers(gate)).toEqual([])
  })

  it('list_workers pages by id within a tenant', async () => {
    const { gate } = await open()
    for (const id of ['c', 'a', 'b']) await claim(gate, {}, worker(id))
    await claim(gate, {}, worker('x', 'other'))
    const page = await gate.listWorkers(agent(), { limit: 2 })
    expect(page.workers.map(({ worker_id }) => worker_id)).toEqual(['a', 'b'])
    const rest = await gate.listWorkers(agent(), { limit: 2, cursor: page.next_cursor })
    expect(rest.workers.map(({ worker_id }) => worker_id)).toEqual(['c'])
    expect(rest.next_cursor).toBeNull()
  })

  it('workers and their counts survive a restart', async () => {
    const { gate, another } = await open()
    await finish(gate, await hold(gate, {}, { capabilities: ['a'] }))
    await gate.close()
    const { gate: next } = await another()
    await hold(next, {}, { capabilities: ['a'] })
    expect(await workerOf(next)).toMatchObject({ claimed: 2, completed: 1, capabilities: ['a'], leased: 1 })
  })

  it('a claim neither reads nor writes the registry', async () => {
    const used = vi.fn()
    const { gate } = await open({
      wrap: (store) =>
        override(store, {
          entries: {
            ...store.entries,
            get: (...args) => used() ?? store.entries.get(...args),
            put: (...args) => used() ?? store.entries.put(...args),
            list: (...args) => used() ?? store.entries.list(...args),
          },
        }),
    })
    const offer = await hold(gate)
    used.mockClear()
    await claim(gate)
    await gate.renewLease(worker(), held(offer))
    await gate.reportProgress(worker(), { ...held(offer), progress: {} })
    await finish(gate, offer)
    expect(used).not.toHaveBeenCalled()
  })

  it('a database outage while workers are written is reported and does not prevent closing', async () => {
    let isDown = false
    const { gate, errors } = await open({
      wrap: (store) =>
        override(store, {
          entries: {
            ...store.entries,
            put: (...args) => (isDown ? Promise.reject(new Error('down')) : store.entries.put(...args)),
          },
        }),
    })
    await claim(gate)
    isDown = true
    await gate.close()
    expect(errors).toMatchObject([{ message: 'down' }])
  })

  it('sightings are written in the background, not at every call', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] })
    const put = vi.fn()
    const { gate, store } = await open({
      wrap: (inner) =>
        override(inner, {
          entries: {
            ...inner.entries,
            put: (...args) => put() ?? inner.entries.put(...args),
            insertNew: (drafts) => put() ?? inner.entries.insertNew(drafts),
          },
        }),
    })
    const { tenant } = await store.tenant('default')
    const lastSeen = async () => {
      const entry = await store.entries.get(tenant, 'worker', 'w1')
      return entry && JSON.parse(entry.value).last_seen_at
    }
    await claim(gate)
    expect(await lastSeen()).toBeUndefined()
    const first = Date.now()
    vi.advanceTimersByTime(5000)
    await eventually(async () => expect(await lastSeen()).toBe(first))
    await claim(gate)
    vi.advanceTimersByTime(5000)
    await claim(gate)
    const latest = Date.now()
    vi.advanceTimersByTime(60_000)
    await eventually(async () => expect(await lastSeen()).toBe(latest))
    expect(put).toHaveBeenCalledTimes(2)
  })

  it('new workers are written in one transaction, and reading statistics writes none', async () => {
    const writes: string[] = []
    const { gate, store } = await open({
      wrap: (inner) =>
        override(inner, {
          entries: {
            ...inner.entries,
            put: (...asked) => {
              writes.push('put')
              return inner.entries.put(...asked)
            },
            insertNew: (drafts) => {
              writes.push(`insert ${drafts.length}`)
              return inner.entries.insertNew(drafts)
            },
          },
        }),
    })
    const ids = Array.from({ length: 300 }, (_, n) => `made-up-${n}`)
    await Promise.all(ids.map((worker_id) => gate.leaseNext(worker(worker_id), { worker_id })))
    expect((await gate.stats()).workers).toEqual({ idle: 300, busy: 0, offline: 0 })
    expect(writes).toEqual([])
    expect(await workers(gate, { limit: 200 })).toHaveLength(200)
    expect(writes).toEqual(['insert 300'])
    expect((await gate.stats()).workers).toEqual({ idle: 300, busy: 0, offline: 0 })
    const { tenant } = await store.tenant('default')
    expect(await store.entries.count(tenant, 'worker', 1000)).toBe(300)
  })

  it('the number of stored workers is limited and those seen longest ago are deleted', async () => {
    const { gate, store } = await open()
    await gate.leaseNext(worker(), { worker_id: 'w1' })
    const { tenant } = await store.tenant('default')
    await workers(gate)
    const value = (await store.entries.get(tenant, 'worker', 'w1'))?.value ?? ''
    const made = Array.from({ length: 10_000 }, (_, n) => ({
      tenant,
      kind: 'worker',
      name: `made-up-${String(n).padStart(5, '0')}`,
      value,
      due_at: n + 1,
    }))
    await store.entries.insertNew(made)
    await gate.leaseNext(worker('w2'), { worker_id: 'w2' })
    expect(await workerOf(gate, 'w2').catch(() => undefined)).toBeUndefined()
    const page = await workers(gate, { limit: 5, cursor: 'w' })
    expect(page.map(({ worker_id }) => worker_id)).toEqual(['w1', 'w2'])
    expect(await store.entries.count(tenant, 'worker', 20_000)).toBe(10_000)
    expect(await store.entries.get(tenant, 'worker', 'made-up-00001')).toBeUndefined()
    const { idle, offline } = (await gate.stats()).workers
    expect(idle + offline).toBe(10_000)
  })

  it('a worker that was not seen for a day is deleted with its drain order', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] })
    const { gate } = await open()
    await claim(gate)
    await drain(gate)
    await claim(gate, {}, worker('w2'))
    vi.advanceTimersByTime(5000)
    await eventually(async () => expect(await workers(gate)).toHaveLength(2))
    vi.setSystemTime(Date.now() + 24 * 3600_000)
    await claim(gate, {}, worker('w2'))
    await eventually(async () => {
      vi.advanceTimersByTime(5000)
      expect((await workers(gate)).map(({ worker_id }) => worker_id)).toEqual(['w2'])
    })
    await ask(gate)
    // The drain order is deleted right after the worker.
    await eventually(async () =>
      expect(await gate.leaseNext(worker(), { worker_id: 'w1' })).toMatchObject({ tasks: [{ type: 'job' }] }),
    )
  })

  it.runIf(storeName === 'postgres')('counts of one worker from several processes are added', async () => {
    const { gate, another } = await open()
    const { gate: elsewhere } = await another()
    await askMany(gate, 3)
    await finish(gate, await lease(gate))
    await finish(elsewhere, await lease(elsewhere))
    const third = await lease(gate)
    expect(await workerOf(elsewhere)).toMatchObject({ claimed: 1, leased: 1 })
    await finish(elsewhere, third)
    await gate.close()
    await elsewhere.close()
    const { gate: next } = await another()
    expect(await workerOf(next)).toMatchObject({ claimed: 3, completed: 3, leased: 0 })
  })
})

describeGates('drain_worker', (open, storeName) => {
  it('a drained worker gets drain in its next responses and no more tasks', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await ask(gate)
    expect(await drain(gate)).toEqual({ worker_id: 'w1', drain: true })
    expect(await gate.leaseNext(worker(), { worker_id: 'w1', wait_seconds: 50 })).toEqual({
      tasks: [],
      drain: true,
    })
    expect(await gate.renewLease(worker(), held(offer))).toMatchObject({ ok: true, drain: true })
    expect(await gate.renewMany(worker(), { items: [held(offer)] })).toMatchObject({
      results: [{ ok: true, drain: true }],
    })
    expect(await gate.reportProgress(worker(), { ...held(offer), progress: {} })).toMatchObject({
      drain: true,
    })
    expect(await gate.workerHeartbeat(worker(), { worker_id: 'w1' })).toMatchObject({ drain: true })
    expect(await gate.registerWorker(worker(), { worker_id: 'w1' })).toMatchObject({ drain: true })
    expect(await workerOf(gate)).toMatchObject({ drain: true, state: 'busy' })
    expect(await finish(gate, offer)).toMatchObject({ ok: true })
    expect(await claim(gate, {}, worker('w2'))).toHaveLength(1)
  })

  it('other workers get no drain', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await claim(gate, {}, worker('w2'))
    await drain(gate, true, 'w2')
    expect(await gate.renewLease(worker(), held(offer))).not.toHaveProperty('drain')
    expect(await gate.leaseNext(worker(), { worker_id: 'w1' })).toEqual({ tasks: [] })
    expect(await gate.leaseNext(worker('w2', 'other'), { worker_id: 'w2' })).toEqual({ tasks: [] })
  })

  it('drain ends a waiting lease_next', async () => {
    const { gate } = await open()
    await claim(gate)
    const waiting = gate.leaseNext(worker(), { worker_id: 'w1', wait_seconds: 50 })
    const other = gate.leaseNext(worker('w2'), { worker_id: 'w2', wait_seconds: 50 })
    await eventually(async () => expect((await gate.stats()).waiting_claims).toBe(2))
    await drain(gate)
    expect(await soon(waiting)).toEqual({ tasks: [], drain: true })
    await ask(gate)
    expect(await soon(other)).toMatchObject({ tasks: [{ type: 'job' }] })
  })

  it('a worker gets tasks again after drain false or after it unregistered', async () => {
    const { gate } = await open()
    await askMany(gate, 2)
    await lease(gate)
    await drain(gate)
    await drain(gate, false)
    expect(await claim(gate)).toHaveLength(1)
    await drain(gate)
    await gate.unregisterWorker(worker(), { worker_id: 'w1' })
    expect(await gate.leaseNext(worker(), { worker_id: 'w1' })).toEqual({ tasks: [] })
  })

  it('drain_worker requires an admin and a known worker', async () => {
    const { gate } = await open()
    expect(await refusal(drain(gate))).toMatchObject({
      code: 'WORKER_NOT_FOUND',
      details: { worker_id: 'w1' },
    })
    await claim(gate)
    const by = [agent(), worker()]
    for (const caller of by) {
      expect(await refusal(gate.drainWorker(caller, { worker_id: 'w1' }))).toMatchObject({
        code: 'FORBIDDEN',
      })
    }
  })

  it('drain survives a restart', async () => {
    const { gate, another } = await open()
    await claim(gate)
    await drain(gate)
    await gate.close()
    const { gate: next } = await another()
    expect(await next.leaseNext(worker(), { worker_id: 'w1' })).toEqual({ tasks: [], drain: true })
  })

  it.runIf(storeName === 'postgres')('drain applies on every server', async () => {
    const { gate, another } = await open()
    const { gate: elsewhere } = await another()
    const offer = await hold(gate)
    const waiting = gate.leaseNext(worker(), { worker_id: 'w1', wait_seconds: 50 })
    await eventually(async () => expect((await gate.stats()).waiting_claims).toBe(1))
    // list_workers writes new workers to the store, so that other processes know them.
    await workers(gate)
    await drain(elsewhere)
    expect(await soon(waiting, 20)).toEqual({ tasks: [], drain: true })
    expect(await gate.renewLease(worker(), held(offer))).toMatchObject({ drain: true })
  })
})
