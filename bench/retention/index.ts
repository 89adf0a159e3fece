import { gunzipSync } from 'node:zlib'
import { type Gate, openGate } from '../../dist/features/gate.js'
import type { ArchiveStore } from '../../dist/features/retention/port.js'
import { openPostgresStore } from '../../dist/store/postgres/store.js'
import { openSqliteStore } from '../../dist/store/sqlite/store.js'
import { countOption } from '../arguments.ts'
import { type Database, Databases, type StoreName } from '../engine/databases.ts'
import { READS, type ReadName } from '../growth/cells.ts'
import { fill, tenantName } from '../growth/fill.ts'
import type { Contents } from '../growth/options.ts'
import type { Report } from '../report.ts'
import { withResources } from '../resources.ts'
import { median, times } from '../stats.ts'

const STORES: readonly StoreName[] = ['sqlite', 'postgres']
const MEASURED: readonly ReadName[] = ['claim', 'list by owner', 'list by status', 'unread inbox']
const DAY_MS = 24 * 3600 * 1000
/** The churn of two months: the first one only fills, in the second one as much is removed as is added. */
const DAYS = 60
const CALLS = 100
const OPEN = 1_000

/** An archive that only counts: the disk is not what is measured. */
class Counted implements ArchiveStore {
  readonly kind = 'disk'
  bytes = 0
  expanded = 0

  async put(_: string, content: Uint8Array): Promise<void> {
    this.bytes += content.length
    this.expanded += gunzipSync(content).length
  }

  async get(): Promise<undefined> {}

  async remove(): Promise<void> {}
}

/** Claims, lists and the sweep on a database after a month of churn with retention, against one without history. */
export async function retention(report: Report, [given]: readonly string[]): Promise<void> {
  const perDay = countOption('tasks per day', given, 10_000)
  await withResources(async ({ signal, defer }) => {
    const databases = await Databases.start()
    defer(() => databases.remove())
    for (const store of STORES) {
      const fresh = await measure(await databases.create(store), 0, perDay, signal)
      const churned = await measure(await databases.create(store), DAYS, perDay, signal)
      for (const name of MEASURED) {
        report.add({
          name: `${store}: ${name} after ${DAYS} days of ${perDay.toLocaleString('en')} tasks with retention`,
          value: (churned.ms.get(name) ?? Number.NaN) / (fresh.ms.get(name) ?? Number.NaN),
          unit: 'x',
          note: `${churned.ms.get(name)?.toFixed(2)} ms against ${fresh.ms.get(name)?.toFixed(2)} ms`,
          target: { atMost: 1.5 },
        })
      }
      report.add({
        name: `${store}: sweep of a day`,
        value: churned.sweepMs / perDay,
        unit: 'ms',
        note: 'per task that is cleared and per task that is archived',
      })
      report.add({
        name: `${store}: archive per task`,
        value: churned.archive.bytes / (perDay * (DAYS - 30)),
        unit: 'bytes',
        note: `${(churned.archive.expanded / Math.max(1, churned.archive.bytes)).toFixed(1)} times as much before compression`,
      })
    }
  })
}

async function measure(database: Database, days: number, perDay: number, signal: AbortSignal) {
  let now = Date.UTC(2026, 0, 1)
  const archive = new Counted()
  const gate = await openAt(database, () => now, archive)
  const sweeps: number[] = []
  try {
    for (let day = 0; day < days; day++) {
      await fill(gate, contents(perDay, 0), signal)
      now += DAY_MS
      sweeps.push(...(await times(1, () => gate.sweepRetention())))
    }
    const last = contents(perDay, OPEN)
    await fill(gate, last, signal)
    const ms = new Map<ReadName, number>()
    for (const name of MEASURED) {
      let i = 0
      ms.set(name, median(await times(CALLS, () => READS[name](gate, tenantName(0), i++, last))))
    }
    return { ms, archive, sweepMs: median(sweeps.slice(-10)) }
  } finally {
    await gate.close()
    await database.drop()
  }
}

async function openAt({ name, address }: Database, now: () => number, archive: ArchiveStore): Promise<Gate> {
  const store =
    name === 'sqlite'
      ? await openSqliteStore({ path: address, now })
      : await openPostgresStore({ url: address, now })
  return openGate({
    store,
    sweeping: false,
    settings: { task_retention_days: 7 },
    retention: { receiptDays: 30, archive },
    onError: (error) => console.error(error),
  })
}

function contents(finished: number, open: number): Contents {
  return { label: '', tenants: 1, types: 10, finished, open }
}
