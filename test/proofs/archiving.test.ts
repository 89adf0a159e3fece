import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { diskArchive } from '../../src/channels/archive-store.ts'
import { type Gate, openGate } from '../../src/features/gate.ts'
import { verified } from '../features/ledger-log/ledgers.ts'
import { admin } from '../support/gates.ts'
import { freshDatabase, postgresUrl } from '../support/postgres.ts'
import { startChild } from '../support/processes.ts'
import { finish, hold } from '../support/steps.ts'
import type { ArchiverOptions } from './children/archiver.ts'
import { openStore, type Place } from './place.ts'

const START = Date.UTC(2026, 0, 1)
const DAY_MS = 24 * 3600 * 1000
/** More than two transactions move. */
const TASKS = 45

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-archiving-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const PLACES: Record<string, () => Promise<Place>> = {
  sqlite: async () => ({ sqlite: join(testFolder(), 'gate.db') }),
  async postgres() {
    const database = await freshDatabase('archiving')
    cleanups.push(() => database.drop())
    return { postgres: database.url }
  },
}

async function receiptsOf(gate: Gate) {
  const receipts = []
  for (let since: string | null | undefined; since !== null; ) {
    const page = await gate.listReceipts(admin(), {
      ...{ all: true, include_archived: true, limit: 200 },
      ...(since && { since_receipt_id: since }),
    })
    receipts.push(...page.receipts)
    since = page.next_cursor
  }
  return receipts
}

describe.each(Object.entries(PLACES))('a process that is killed while it archives, on %s', (name, make) => {
  it.skipIf(name === 'postgres' && !postgresUrl()).each([0, 1])(
    'loses no receipt, and the next one continues (after %i transactions)',
    { timeout: 60_000 },
    async (moved) => {
      const [place, folder] = [await make(), testFolder()]
      const opened = async (now: number) =>
        openGate({
          store: await openStore(place, now),
          settings: { task_retention_days: 7 },
          retention: { receiptDays: 30, archive: diskArchive(folder) },
          sweeping: false,
        })
      const first = await opened(START)
      for (let n = 0; n < TASKS; n++) await finish(first, await hold(first))
      await first.ledgerLogs.extend(await first.tenant('default'))
      const before = await receiptsOf(first)
      await first.close()

      const now = START + 40 * DAY_MS
      const options: ArchiverOptions = { place, folder, now, moved }
      await expect(startChild('archiver', options).alive).rejects.toThrow('ended with SIGKILL')
      expect(filesIn(folder)).toHaveLength(1)

      const next = await opened(now + DAY_MS)
      expect(await receiptsOf(next)).toEqual(before)
      expect(await next.getRetention(admin(), {})).toMatchObject({ archived_tasks: 0 })
      await next.sweepRetention()
      expect(await receiptsOf(next)).toEqual(before)
      expect(await verified(next)).toMatchObject({ receipts: before.length })
      const { tenant } = await next.tenant('default')
      expect(await next.listTasks(admin(), {})).toMatchObject({ tasks: [] })
      await next.close()

      // A file that no row named when the process was killed is gone.
      const store = await openStore(place)
      const totals = await store.retention.archiveTotals(tenant)
      await store.close()
      expect(filesIn(folder)).toHaveLength(1 + moved)
      expect(totals).toMatchObject({ files: 1 + moved })
    },
  )
})

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.gz'))
}
