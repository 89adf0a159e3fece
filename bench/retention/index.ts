import { gunzipSync } from 'node:zlib'
import { type Gate, openGate } from '../../dist/features/gate.js'
import type { ArchiveStore } from '../../dist/features/retention/port.js'
import { openPostgresStore } from '../../dist/store/postgres/store.js'
import { openSqliteStore } from '../../dist/store/sqlite/store.js'
import { countOption, STORES } from '../arguments.ts'
import { type Database, Databases, type StoreName } from '../engine/databases.ts'
import { READS, type ReadName } from '../growth/cells.ts'
import { fill, tenantName } from '../growth/fill.ts'
import type { Contents } from '../growth/options.ts'
import type { Report } from '../report.ts'
import { withResources } from '../resources.ts'
import { median, quantile, times } from '../stats.ts'
import { sizesOf } from './sizes.ts'

const MEASURED: readonly ReadName[] = ['claim', 'list by owner', 'list by status', 'unread inbox']
const DAY_MS = 24 * 3600 * 1000
/** The churn of two months: the first one only fills, in the second one as much is removed as is added. */
const DAYS = 60
const TASK_DAYS = 7
const RECEIPT_DAYS = 30
/** The sizes of these days are compared: the first day on which something is archived, and the last day. */
const FULL_DAY = RECEIPT_DAYS + 1
/** Sweeps at the end that are measured. */
const SWEEPS = 10
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

/** Claims, lists and the sweep on a database after two months of churn with retention, against one without history. */
export async function retention(report: Report, [given]: readonly string[]): Promise<void> {
  const perDay = countOption('tasks per day', given, 10_000)
  await withResources(async (resources) => {
    const { signal } = resources
    const databases = await Databases.start()
    resources.defer(() => databases.remove())
    for (const store of STORES) {
      const fresh = await withDatabase(databases, store, (run) => measureFresh(run, perDay, signal))
      const churned = await withDatabase(databases, store, (run) => measureChurned(run, perDay, signal))
      for (const name of MEASURED) {
        addRatio(report, `${store}: ${name}`, perDay, churned.ms.get(name), fresh.ms.get(name), 'ms')
      }
      addRatio(report, `${store}: sweep of a day`, perDay, churned.sweepMs, fresh.sweepMs, 'ms')
      report.add({
        name: `${store}: sweep`,
        value: churned.sweepMs / perDay,
        unit: 'ms',
        note: 'per task that is cleared and per task that is archived',
      })
      report.add({
        name: `${store}: claim while a sweep runs`,
        value: median(churned.swept),
        unit: 'ms',
        note: `${quantile(churned.swept, 0.99).toFixed(1)} ms at p99 of ${churned.swept.length}`,
      })
      for (const kind of ['tables', 'files'] as const) {
        const [full, last] = [churned.full[kind], churned.last[kind]]
        report.add({
          name: `${store}: size of the ${kind} after day ${DAYS} against day ${FULL_DAY}`,
          value: last / full,
          unit: 'x',
          note: `${megabytes(last)} against ${megabytes(full)}`,
          target: { atMost: 1.1 },
        })
      }
      report.add({
        name: `${store}: archive per task`,
        value: churned.archive.bytes / (perDay * (DAYS - RECEIPT_DAYS)),
        unit: 'bytes',
        note: `${(churned.archive.expanded / Math.max(1, churned.archive.bytes)).toFixed(1)} times as much before compression`,
      })
    }
  })
}

function addRatio(
  report: Report,
  name: string,
  perDay: number,
  after: number | undefined,
  before: number | undefined,
  unit: string,
): void {
  report.add({
    name: `${name} after ${DAYS} days of ${perDay.toLocaleString('en')} tasks with retention`,
    value: (after ?? Number.NaN) / (before ?? Number.NaN),
    unit: 'x',
    note: `${after?.toFixed(2)} ${unit} against ${before?.toFixed(2)} ${unit} without history`,
    target: { atMost: 1.5 },
  })
}

/** A database whose clock the measurement moves. */
interface Run {
  readonly database: Database
  readonly gate: Gate
  readonly archive: Counted
  nextDay(days?: number): void
}

async function withDatabase<T>(
  databases: Databases,
  name: StoreName,
  measure: (run: Run) => Promise<T>,
): Promise<T> {
  let now = Date.UTC(2026, 0, 1)
  const database = await databases.create(name)
  const archive = new Counted()
  const gate = await openAt(database, () => now, archive)
  const nextDay = (days = 1) => {
    now += days * DAY_MS
  }
  try {
    return await measure({ database, gate, archive, nextDay })
  } finally {
    await gate.close()
    await database.drop()
  }
}

/** The database has the tasks of a day, and nothing else is ever in it. */
async function measureFresh({ gate, nextDay }: Run, perDay: number, signal: AbortSignal) {
  const only = contents(perDay, OPEN)
  await fill(gate, only, signal)
  const ms = await measureCalls(gate, only)
  nextDay(TASK_DAYS + 1)
  const [clearing = Number.NaN] = await times(1, () => gate.sweepRetention())
  nextDay(RECEIPT_DAYS - TASK_DAYS)
  const [archiving = Number.NaN] = await times(1, () => gate.sweepRetention())
  return { ms, sweepMs: clearing + archiving }
}

async function measureChurned(
  { database, gate, archive, nextDay }: Run,
  perDay: number,
  signal: AbortSignal,
) {
  const sweeps: number[] = []
  let full = await sizesOf(database)
  for (let day = 1; day <= DAYS; day++) {
    await fill(gate, contents(perDay, 0), signal)
    nextDay()
    sweeps.push(...(await times(1, () => gate.sweepRetention())))
    if (day === FULL_DAY) full = await sizesOf(database)
  }
  const last = await sizesOf(database)
  const today = contents(perDay, OPEN)
  await fill(gate, today, signal)
  const ms = await measureCalls(gate, today)
  nextDay()
  const swept = await claimsDuring(gate, gate.sweepRetention(), today)
  return { ms, archive, full, last, swept, sweepMs: median(sweeps.slice(-SWEEPS)) }
}

async function measureCalls(gate: Gate, today: Contents): Promise<Map<ReadName, number>> {
  const ms = new Map<ReadName, number>()
  for (const name of MEASURED) {
    let i = 0
    ms.set(name, median(await times(CALLS, () => READS[name](gate, tenantName(0), i++, today))))
  }
  return ms
}

/** Claims one task after the other until the sweep has ended. */
async function claimsDuring(gate: Gate, sweep: Promise<void>, today: Contents): Promise<number[]> {
  const ended = sweep.then(() => 'ended' as const)
  const found: number[] = []
  for (let i = 0; i < OPEN - 2 * CALLS; i++) {
    found.push(...(await times(1, () => READS.claim(gate, tenantName(0), i, today))))
    const state = await Promise.race([ended, Promise.resolve('running' as const)])
    if (state === 'ended') break
  }
  await ended
  return found
}

async function openAt({ name, address }: Database, now: () => number, archive: ArchiveStore): Promise<Gate> {
  const store =
    name === 'sqlite'
      ? await openSqliteStore({ path: address, now })
      : await openPostgresStore({ url: address, now })
  return openGate({
    store,
    sweeping: false,
    settings: { task_retention_days: TASK_DAYS },
    retention: { receiptDays: RECEIPT_DAYS, archive },
    onError: (error) => console.error(error),
  })
}

function contents(finished: number, open: number): Contents {
  return { label: '', tenants: 1, types: 10, finished, open }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
