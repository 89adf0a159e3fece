import { HOUR_MS, hourOf, type UsageHour } from '../../store/usage.ts'

export const GRANULARITIES = ['hour', 'day'] as const
export type Granularity = (typeof GRANULARITIES)[number]

const LENGTHS: Readonly<Record<Granularity, number>> = { hour: HOUR_MS, day: 24 * HOUR_MS }

export interface Usage {
  tasks: number
  lease_ms: number
  /** Stored receipt bytes times the milliseconds for which they were stored. */
  receipt_byte_ms: number
  calls: number
}

export interface UsageSummary {
  readonly totals: Usage
  /** Periods without any usage are left out. */
  readonly rows: readonly (Usage & { readonly from: number })[]
  /** Bytes of all receipts that were stored before `to`. */
  readonly receipt_bytes: number
}

interface Range {
  /** The start of an hour. */
  readonly from: number
  /** The start of an hour. */
  readonly to: number
  /** Receipts are counted as stored up to here. */
  readonly now: number
  readonly granularity: Granularity
}

/** The usage between two times. `storedBefore`: the bytes of the receipts that were stored before `from`. */
export function summarize(hours: readonly UsageHour[], storedBefore: number, range: Range): UsageSummary {
  const { from, to, now, granularity } = range
  const known = new Map(hours.map((hour) => [hour.hour, hour]))
  const totals = nothing()
  const rows: (Usage & { readonly from: number })[] = []
  let receipt_bytes = Math.max(0, storedBefore)
  let row = { from, ...nothing() }
  for (let hour = from; hour < to && hour <= now; hour += HOUR_MS) {
    if (hour % LENGTHS[granularity] === 0) {
      if (hasUsage(row)) rows.push(row)
      row = { from: hour, ...nothing() }
    }
    const end = Math.min(hour + HOUR_MS, now)
    const counts = known.get(hour)
    let receipt_byte_ms = receipt_bytes * (end - hour)
    if (counts !== undefined) {
      // The stored product counts to the end of the hour, which may be in the future.
      const rest = counts.receipt_bytes * (hour + HOUR_MS - end)
      receipt_byte_ms += counts.receipt_byte_seconds * 1000 - rest
      // Receipts from before counting began may have been erased.
      receipt_bytes = Math.max(0, receipt_bytes + counts.receipt_bytes)
      receipt_byte_ms = Math.max(0, receipt_byte_ms)
    }
    for (const sum of [row, totals]) {
      sum.tasks += counts?.tasks ?? 0
      sum.lease_ms += counts?.lease_ms ?? 0
      sum.receipt_byte_ms += receipt_byte_ms
      sum.calls += counts?.calls ?? 0
    }
  }
  if (hasUsage(row)) rows.push(row)
  return { totals, rows, receipt_bytes }
}

function nothing(): Usage {
  return { tasks: 0, lease_ms: 0, receipt_byte_ms: 0, calls: 0 }
}

function hasUsage({ tasks, lease_ms, receipt_byte_ms, calls }: Usage): boolean {
  return tasks + lease_ms + receipt_byte_ms + calls > 0
}

/** The start of the first hour that does not begin before this time. */
export function hourFrom(at: number): number {
  return hourOf(at + HOUR_MS - 1)
}
