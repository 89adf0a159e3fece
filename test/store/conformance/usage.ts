import { describe, expect, it } from 'vitest'
import { HOUR_MS, hourOf, type UsageEvent } from '../../../src/store/usage.ts'
import { NOW } from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

const HOUR = hourOf(NOW)

export function usageEvent(tenant: number, n: number, members: Partial<UsageEvent> = {}): UsageEvent {
  return {
    tenant,
    id: String(n).padStart(28, '0'),
    from_at: HOUR + n,
    to_at: HOUR + n + 1,
    instance: 'a',
    tasks: 1,
    lease_ms: 20,
    receipt_bytes: 300,
    receipt_byte_seconds: 4_000,
    calls: 5,
    ...members,
  }
}

/** The sum of this many such events in an hour. */
function sumOf(count: number, hour = HOUR) {
  return {
    hour,
    tasks: count,
    lease_ms: 20 * count,
    receipt_bytes: 300 * count,
    receipt_byte_seconds: 4_000 * count,
    calls: 5 * count,
  }
}

/** Above every id of these tests. */
const END = 'f'

export function describeUsage(subject: Subject): void {
  describe('usage', () => {
    const add = (n: number, members: Partial<UsageEvent> = {}, isUnsent = false) =>
      subject.store.usage.add(usageEvent(subject.tenant, n, members), isUnsent)
    const hours = (from = 0, before = Number.MAX_SAFE_INTEGER) =>
      subject.store.usage.hours(subject.tenant, from, before)

    it('events are added up per hour, also after a restart', async () => {
      await add(1)
      await add(2, { instance: 'b' })
      await add(3, { from_at: HOUR + HOUR_MS - 1 })
      await add(4, { from_at: HOUR + HOUR_MS })
      await subject.reopen()
      expect(await hours()).toEqual([sumOf(3), sumOf(1, HOUR + HOUR_MS)])
    })

    it('an event that is written again counts once', async () => {
      await add(1, {}, true)
      await add(1, {}, true)
      await add(1, { tasks: 7 }, false)
      expect(await hours()).toEqual([sumOf(1)])
      expect(await subject.store.usage.unsent(subject.tenant, 10)).toEqual([usageEvent(subject.tenant, 1)])
    })

    it('a range of hours contains its start and not its end', async () => {
      for (const n of [0, 1, 2, 3]) await add(n, { from_at: HOUR + n * HOUR_MS })
      expect(await hours(HOUR + HOUR_MS, HOUR + 3 * HOUR_MS)).toEqual([
        sumOf(1, HOUR + HOUR_MS),
        sumOf(1, HOUR + 2 * HOUR_MS),
      ])
      const bytesBefore = (hour: number) => subject.store.usage.receiptBytesBefore(subject.tenant, hour)
      expect(await bytesBefore(HOUR)).toBe(0)
      expect(await bytesBefore(HOUR + 2 * HOUR_MS)).toBe(600)
      expect(await bytesBefore(HOUR + 9 * HOUR_MS)).toBe(1_200)
    })

    it('large counts are stored exactly', async () => {
      const large = 2 ** 52
      await add(1, { lease_ms: large, receipt_bytes: large, receipt_byte_seconds: large })
      expect(await hours()).toMatchObject([
        { lease_ms: large, receipt_bytes: large, receipt_byte_seconds: large },
      ])
    })

    it('unsent events are listed oldest first until they are sent', async () => {
      const { store, tenant } = subject
      await add(3, {}, true)
      await add(1, {}, true)
      await add(2, {}, false)
      const ids = async (limit = 10) => (await store.usage.unsent(tenant, limit)).map(({ id }) => Number(id))
      expect(await ids()).toEqual([1, 3])
      expect(await ids(1)).toEqual([1])
      await store.usage.sent(tenant, usageEvent(tenant, 1).id)
      expect(await ids()).toEqual([3])
      expect(await hours()).toEqual([sumOf(3)])
    })

    it('removed events stay in the sums of their hours', async () => {
      const { store, tenant } = subject
      for (const n of [1, 2, 3, 4]) await add(n, {}, true)
      const before = usageEvent(tenant, 4).id
      expect(await store.usage.removeBefore(tenant, before, 2)).toBe(2)
      expect(await store.usage.removeBefore(tenant, before, 2)).toBe(1)
      expect(await store.usage.removeBefore(tenant, before, 2)).toBe(0)
      expect(await store.usage.unsent(tenant, 10)).toEqual([usageEvent(tenant, 4)])
      expect(await hours()).toEqual([sumOf(4)])
    })

    it('tenants have separate usage', async () => {
      const { store, tenant } = subject
      const other = (await store.tenant('other')).tenant
      await add(1, {}, true)
      await store.usage.add(usageEvent(other, 1, { tasks: 9 }), true)
      expect(await hours()).toEqual([sumOf(1)])
      expect(await store.usage.hours(other, 0, Number.MAX_SAFE_INTEGER)).toEqual([{ ...sumOf(1), tasks: 9 }])
      await store.usage.sent(other, usageEvent(other, 1).id)
      expect(await store.usage.removeBefore(other, END, 10)).toBe(1)
      expect(await store.usage.unsent(tenant, 10)).toEqual([usageEvent(tenant, 1)])
    })
  })
}
