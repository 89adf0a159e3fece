import type { Config } from '../../../config/index.ts'
import { openStore } from '../../../server/open-store.ts'
import type { Store } from '../../../store/store.ts'
import { HOUR_MS } from '../../../store/usage.ts'
import type { Finding } from './machine.ts'

const DAY_MS = 24 * HOUR_MS
/** The period over which growth is measured. */
const MEASURED_DAYS = 7
const MAX_COUNTED = 10_000

/** How fast the database has grown, from the recorded usage, and what retention would remove now. */
export async function checkGrowth({ database, settings }: Config): Promise<Finding[]> {
  const store = await openStore(database, { besideServer: true })
  try {
    const { tasks, bytes, due } = await measure(store)
    const growth = `${count(tasks)} tasks and ${size(bytes)} of receipts per day in the last ${MEASURED_DAYS} days`
    const isLimited = settings.task_retention_days > 0
    const removed = isLimited
      ? `${count(due)}${due >= MAX_COUNTED ? ' or more' : ''} ended tasks can be removed or archived now`
      : 'nothing is removed, because TASK_RETENTION_DAYS is 0'
    return [{ check: 'growth', ok: true, detail: `${growth}; ${removed}` }]
  } finally {
    await store.close()
  }
}

async function measure(store: Store): Promise<{ tasks: number; bytes: number; due: number }> {
  const now = await store.now()
  const sums = { tasks: 0, bytes: 0, due: 0 }
  for (const { tenant } of await store.tenants()) {
    for (const { tasks, receipt_bytes } of await store.usage.hours(
      tenant,
      now - MEASURED_DAYS * DAY_MS,
      now,
    )) {
      sums.tasks += tasks
      sums.bytes += receipt_bytes
    }
    const { clear, archive } = await store.retention.dueCounts(tenant, now, MAX_COUNTED)
    sums.due += clear + archive
  }
  return { tasks: sums.tasks / MEASURED_DAYS, bytes: sums.bytes / MEASURED_DAYS, due: sums.due }
}

function count(number: number): string {
  return number.toLocaleString('en-US', { maximumFractionDigits: number < 10 ? 1 : 0 })
}

function size(bytes: number): string {
  const megabytes = bytes / 1_000_000
  return megabytes >= 0.1 ? `${megabytes.toFixed(1)} MB` : `${(bytes / 1_000).toFixed(1)} kB`
}
