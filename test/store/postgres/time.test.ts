import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Gate, openGate } from '../../../src/features/gate.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { NO_NEED, type Store, type TenantRef } from '../../../src/store/store.ts'
import { counters, look, NO_CHANGES, put } from '../../support/fixtures.ts'
import { agent, worker } from '../../support/gates.ts'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../../support/postgres.ts'
import { type SettableClock, settableClock } from '../../support/settable-clock.ts'

const HOUR = 3_600_000

/** Commits a change and resolves with its time. */
async function committedAt(store: Store, ref: TenantRef, seq: number): Promise<number> {
  let at = 0
  await store.commit({ ...NO_NEED, tenants: [ref.tenant] }, ({ now }) => {
    at = now
    return { ...NO_CHANGES, tenants: [counters(ref, { seq })] }
  })
  return at
}

describe.skipIf(!postgresUrl())('PostgreSQL clock', () => {
  let database: FreshDatabase
  let clock: SettableClock
  const closers: (() => Promise<unknown>)[] = []

  beforeEach(async () => {
    database = await freshDatabase('time')
    clock = await settableClock(database.url)
  })
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close()
    await clock.close()
    await database.drop()
  })

  const open = async (): Promise<Store> => {
    const store = await openPostgresStore({ url: database.url })
    closers.push(() => store.close())
    return store
  }

  describe('after the clock was set back', () => {
    it('time continues from the last commit on every server', async () => {
      const [one, other] = [await open(), await open()]
      const ref = await one.tenant('test')
      const before = await committedAt(one, ref, 1)
      await clock.step(-HOUR)
      const times = [before]
      for (let seq = 2; seq < 12; seq++) {
        times.push(await committedAt(seq % 2 === 0 ? one : other, ref, seq))
        times.push(await one.now(), await other.now())
      }
      expect(times).toEqual([...times].sort((a, b) => a - b))
      // The time advances, independent of the clock.
      await vi.waitFor(async () => expect(await other.now()).toBeGreaterThan(before + 200), {
        timeout: 10_000,
      })
      expect((await one.now()) - before).toBeLessThan(HOUR / 2)
    })

    it('time advances without commits', async () => {
      const store = await open()
      const ref = await store.tenant('test')
      await put(store, ref.tenant, { tenants: [counters(ref, { seq: 1 })] })
      const { now: before } = await look(store, ref.tenant)
      await clock.step(-HOUR)
      await vi.waitFor(
        async () => expect((await look(store, ref.tenant)).now).toBeGreaterThan(before + 100),
        { timeout: 10_000 },
      )
    })

    it('time converges to the clock', async () => {
      const store = await open()
      const ref = await store.tenant('test')
      await put(store, ref.tenant, { tenants: [counters(ref, { seq: 1 })] })
      await clock.step(-HOUR)
      await look(store, ref.tenant)
      const lead = async () => (await store.now()) - Date.now()
      const first = await lead()
      expect(first).toBeGreaterThan(-HOUR / 2)
      // Five hours later by the server clock.
      await clock.step(5 * HOUR)
      const later = (await lead()) - 4 * HOUR
      expect(later).toBeGreaterThan(HOUR / 4)
      expect(later).toBeLessThan((3 * HOUR) / 4)
      await clock.step(6 * HOUR)
      expect(Math.abs((await lead()) - 10 * HOUR)).toBeLessThan(HOUR / 100)
    })

    it('time continues from the last commit when the clock is set back again', async () => {
      const store = await open()
      const ref = await store.tenant('test')
      const times: number[] = []
      for (let seq = 1; seq < 6; seq++) {
        times.push(await committedAt(store, ref, seq))
        await clock.step(-HOUR)
      }
      expect(times).toEqual([...times].sort((a, b) => a - b))
      const last = times.at(-1) ?? 0
      await vi.waitFor(async () => expect((await look(store, ref.tenant)).now).toBeGreaterThan(last + 100), {
        timeout: 10_000,
      })
    })
  })

  describe.each(['one server', 'two servers'] as const)('with %s', (servers) => {
    const openGates = async (): Promise<[Gate, Gate]> => {
      const gate = openGate({ store: await open(), sweeping: false })
      closers.push(() => gate.close())
      if (servers === 'one server') return [gate, gate]
      const second = openGate({ store: await open(), sweeping: false })
      closers.push(() => second.close())
      return [gate, second]
    }
    const setBack = {
      before: async () => {
        const admin = new pg.Client({ connectionString: database.url })
        await admin.connect()
        await admin.query('UPDATE tenants SET committed_at = committed_at + $1', [HOUR])
        await admin.end()
      },
      after: () => clock.step(-HOUR),
    }

    it.each(['before', 'after'] as const)(
      'a lease and a delay end although the clock was set back %s they began',
      async (moment) => {
        const [first, second] = await openGates()
        await first.createTask(agent(), { type: 'other' })
        if (moment === 'before') await setBack.before()
        const held = await first.createTask(agent(), { type: 'held' })
        const delayed = await first.createTask(agent(), { type: 'delayed', delay_seconds: 1 })
        const request = { worker_id: 'w1', accept_types: ['held'], lease_ttl_seconds: 1 }
        const [offer] = (await first.leaseNext(worker(), request)).tasks
        expect(offer?.task_id).toBe(held.task_id)
        if (moment === 'after') await setBack.after()

        await vi.waitFor(
          async () => {
            await second.sweep()
            const task = await second.getTask(agent(), { task_id: held.task_id })
            expect([task.status, task.expiry_count]).toEqual(['queued', 1])
          },
          { timeout: 15_000, interval: 100 },
        )
        const late = { worker_id: 'w1', lease_id: offer?.lease_id, result: {} }
        await expect(first.complete(worker(), { task_id: held.task_id, ...late })).rejects.toMatchObject({
          code: 'LEASE_INVALID_OR_EXPIRED',
        })
        const another = { worker_id: 'w2', accept_types: ['delayed'], wait_seconds: 10 }
        const { tasks } = await second.leaseNext(worker('w2'), another)
        expect(tasks.map((task) => task.task_id)).toEqual([delayed.task_id])
      },
    )
  })
})
