import { describe, expect, it } from 'vitest'
import { DURATION_BOUNDS, type HistoryPeriod, STEPS, type Step } from '../../../src/store/history.ts'
import { NOW } from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

const MINUTE = NOW - (NOW % STEPS.hour)

/** Counts that differ from each other, multiplied. */
export function historyPeriod(step: Step, at: number, times = 1): HistoryPeriod {
  const ranges = (first: number) =>
    Array.from({ length: DURATION_BOUNDS.length + 1 }, (_, i) => (first + i) * times)
  return {
    ...{ step, at, created: 4 * times, succeeded: 3 * times, failed: 2 * times, canceled: times },
    waits: ranges(10),
    runs: ranges(50),
  }
}

export function describeHistory(subject: Subject): void {
  describe('history of tasks', () => {
    const add = (...periods: HistoryPeriod[]) => subject.store.history.add(subject.tenant, periods)
    const read = (step: Step, from = 0, before = Number.MAX_SAFE_INTEGER) =>
      subject.store.history.read(subject.tenant, step, from, before)

    it('counts are added up per period, also after a restart', async () => {
      await add(historyPeriod('minute', MINUTE), historyPeriod('hour', MINUTE))
      await add(historyPeriod('hour', MINUTE, 2), historyPeriod('minute', MINUTE + STEPS.minute))
      await subject.reopen()
      expect(await read('minute')).toEqual([
        historyPeriod('minute', MINUTE),
        historyPeriod('minute', MINUTE + STEPS.minute),
      ])
      expect(await read('hour')).toEqual([historyPeriod('hour', MINUTE, 3)])
    })

    it('servers that add to the same periods at once lose nothing', async () => {
      const periods = [0, 1, 2].map((i) => historyPeriod('minute', MINUTE + i * STEPS.minute))
      await Promise.all(Array.from({ length: 8 }, (_, i) => add(...(i % 2 ? periods : periods.toReversed()))))
      expect((await read('minute')).map(({ created }) => created)).toEqual([32, 32, 32])
    })

    it('a read is limited to its period and its tenant', async () => {
      await add(...[0, 1, 2].map((i) => historyPeriod('minute', MINUTE + i * STEPS.minute)))
      const found = await read('minute', MINUTE + STEPS.minute, MINUTE + 2 * STEPS.minute)
      expect(found.map(({ at }) => at)).toEqual([MINUTE + STEPS.minute])
      const { tenant } = await subject.store.tenant('other')
      expect(await subject.store.history.read(tenant, 'minute', 0, Number.MAX_SAFE_INTEGER)).toEqual([])
    })

    it('the oldest periods of a step are removed first', async () => {
      await add(...[0, 1, 2, 3].map((i) => historyPeriod('minute', MINUTE + i * STEPS.minute)))
      await add(historyPeriod('hour', MINUTE))
      const { history } = subject.store
      const before = MINUTE + 3 * STEPS.minute
      expect(await history.removeBefore(subject.tenant, 'minute', before, 2)).toBe(2)
      expect(await history.removeBefore(subject.tenant, 'minute', before, 2)).toBe(1)
      expect((await read('minute')).map(({ at }) => at)).toEqual([before])
      expect(await read('hour')).toHaveLength(1)
    })
  })
}
