import { describe, expect, it } from 'vitest'
import { summarize } from '../../../src/features/usage/summarize.ts'
import { UsagePeriod } from '../../../src/features/usage/usage-period.ts'
import { HOUR_MS, type UsageHour } from '../../../src/store/usage.ts'

const DAY = Date.UTC(2026, 0, 2)
const LATER = DAY + 100 * HOUR_MS

const hour = (n: number, members: Partial<UsageHour> = {}): UsageHour => ({
  hour: DAY + n * HOUR_MS,
  tasks: 1,
  lease_ms: 10,
  receipt_bytes: 0,
  receipt_byte_seconds: 0,
  calls: 2,
  ...members,
})

describe('a summary of usage', () => {
  it('receipts count for as long as they are stored, in hours without usage too', () => {
    const range = { from: DAY, to: DAY + 3 * HOUR_MS, now: LATER, granularity: 'hour' } as const
    // 100 bytes were stored in the middle of the first hour.
    const hours = [hour(0, { receipt_bytes: 100, receipt_byte_seconds: 100 * 1_800 })]
    const { rows, totals, receipt_bytes } = summarize(hours, 10, range)
    expect(rows.map((row) => row.receipt_byte_ms / HOUR_MS)).toEqual([60, 110, 110])
    expect(totals.receipt_byte_ms / HOUR_MS).toBe(280)
    expect(receipt_bytes).toBe(110)
    expect(totals).toMatchObject({ tasks: 1, lease_ms: 10, calls: 2 })
  })

  it('the current hour counts up to now', () => {
    const now = DAY + 0.75 * HOUR_MS
    const range = { from: DAY, to: DAY + HOUR_MS, now, granularity: 'hour' } as const
    const hours = [hour(0, { receipt_bytes: 100, receipt_byte_seconds: 100 * 1_800 })]
    // 10 bytes for three quarters, 100 bytes for one quarter.
    expect(summarize(hours, 10, range).totals.receipt_byte_ms / HOUR_MS).toBe(32.5)
  })

  it('receipts that are erased or archived count until then', () => {
    const range = { from: DAY, to: DAY + 3 * HOUR_MS, now: LATER, granularity: 'hour' } as const
    const hours = [
      hour(0, { receipt_bytes: 100, receipt_byte_seconds: 100 * 3_600 }),
      hour(1, { receipt_bytes: -60, receipt_byte_seconds: -60 * 1_800 }),
    ]
    const { rows, receipt_bytes } = summarize(hours, 0, range)
    expect(rows.map((row) => row.receipt_byte_ms / HOUR_MS)).toEqual([100, 70, 40])
    expect(receipt_bytes).toBe(40)
  })

  it('days are days in UTC, and a first day that is cut starts at the start of the period', () => {
    const from = DAY - 2 * HOUR_MS
    const range = { from, to: DAY + 48 * HOUR_MS, now: LATER, granularity: 'day' } as const
    const { rows } = summarize([hour(-1), hour(0), hour(23), hour(24)], 0, range)
    expect(rows.map(({ from, tasks }) => [from, tasks])).toEqual([
      [from, 1],
      [DAY, 2],
      [DAY + 24 * HOUR_MS, 1],
    ])
  })

  it('periods without usage are left out', () => {
    const range = { from: DAY, to: DAY + 5 * HOUR_MS, now: LATER, granularity: 'hour' } as const
    expect(summarize([hour(3)], 0, range).rows.map(({ from }) => from)).toEqual([DAY + 3 * HOUR_MS])
    expect(summarize([], -5, range)).toMatchObject({ receipt_bytes: 0 })
    expect(summarize([], 0, range)).toMatchObject({ rows: [], totals: { tasks: 0 }, receipt_bytes: 0 })
  })
})

describe('a period', () => {
  const usage = { tenant: 1, tasks: 1, lease_ms: 5, receipt_bytes: 100 }
  const numberOf = async () => 1

  it('receipt bytes are weighted by what is left of the hour', async () => {
    const period = new UsagePeriod(DAY)
    period.committed(usage, DAY + 600_000)
    period.committed(usage, DAY + 3_599_000)
    period.end(DAY + 3_599_500)
    expect(await period.events('a', numberOf)).toMatchObject([
      { receipt_bytes: 200, receipt_byte_seconds: 100 * 3_000 + 100, tasks: 2, lease_ms: 10 },
    ])
  })

  it('a period ends with its hour at the latest', async () => {
    const period = new UsagePeriod(DAY + 1)
    period.called('default')
    expect([period.isOver(DAY + HOUR_MS - 1), period.isOver(DAY + HOUR_MS)]).toEqual([false, true])
    period.end(DAY + 2 * HOUR_MS)
    expect(await period.events('a', numberOf)).toMatchObject([
      { from_at: DAY + 1, to_at: DAY + HOUR_MS, calls: 1 },
    ])
  })

  it('calls are not lost or repeated if a tenant cannot be looked up at first', async () => {
    const period = new UsagePeriod(DAY)
    period.called('a')
    period.called('b')
    let isDown = true
    const lookUp = async (name: string) => {
      if (name === 'b' && isDown) throw new Error('down')
      return name === 'a' ? 1 : 2
    }
    await expect(period.events('x', lookUp)).rejects.toThrow('down')
    isDown = false
    const events = await period.events('x', lookUp)
    expect(events.map(({ tenant, calls }) => [tenant, calls])).toEqual([
      [1, 1],
      [2, 1],
    ])
    expect((await period.events('x', lookUp)).map(({ id }) => id)).toEqual(events.map(({ id }) => id))
  })

  it('a commit without usage counts nothing', () => {
    const period = new UsagePeriod(DAY)
    period.committed({ tenant: 1, tasks: 0, lease_ms: 0, receipt_bytes: 0 }, DAY)
    expect(period.isEmpty).toBe(true)
  })
})
