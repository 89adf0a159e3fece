import { describe, expect, it } from 'vitest'
import { counters, look, NOW, put } from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

export function describeClock(subject: Subject): void {
  describe('clock', () => {
    it('the clock returns whole milliseconds', async () => {
      const before = Date.now()
      const { now } = await look(subject.store, subject.tenant)
      expect(Number.isInteger(now)).toBe(true)
      // A day of tolerance distinguishes milliseconds from any other unit without a race.
      expect(Math.abs(now - before)).toBeLessThan(24 * 60 * 60 * 1000)
    })

    it('the clock never goes back, also after the store is opened again', async () => {
      const times: number[] = []
      for (let round = 0; round < 3; round++) {
        for (let n = 0; n < 20; n++) times.push((await look(subject.store, subject.tenant)).now)
        await put(subject.store, subject.tenant, { tenants: [counters(subject.ref, { seq: round + 1 })] })
        await subject.reopen()
      }
      expect(times).toEqual([...times].sort((a, b) => a - b))
    })

    it('a given clock is used unchanged', async () => {
      let now = NOW
      await subject.reopen({ now: () => now })
      expect((await look(subject.store, subject.tenant)).now).toBe(NOW)
      now = NOW + 123_456
      expect((await look(subject.store, subject.tenant)).now).toBe(NOW + 123_456)
      await put(subject.store, subject.tenant, { tenants: [counters(subject.ref, { seq: 1 })] })
      now = NOW - 5
      expect((await look(subject.store, subject.tenant)).now).toBe(NOW - 5)
    })
  })
}
