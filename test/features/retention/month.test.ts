import pg from 'pg'
import { expect, it, vi } from 'vitest'
import { openReader } from '../../../src/store/sqlite/database.ts'
import { agent, type Bench, describeGates, worker } from '../../support/gates.ts'
import { ask, claim, finish, held } from '../../support/steps.ts'
import { ArchiveInMemory } from './archive-in-memory.ts'

vi.setConfig({ testTimeout: 120_000 })

const DAY = 24 * 3600
const TASKS_PER_DAY = 2
/** After this time the first tasks have been archived: receipts are, after 30 days, and the tasks with them. */
const FULL_DAYS = 38
const MONTH_DAYS = 30

/** Tables that grow by a row per archive, per day or per configuration, not with tasks. */
const OTHERS = [
  'archives',
  'entries',
  'usage_events',
  'usage_hours',
  'task_history',
  'audit_events',
  'sqlite_stat1',
]

type Query = (sql: string) => Promise<readonly unknown[]>

const TABLES = {
  sqlite: "SELECT name FROM sqlite_master WHERE type = 'table'",
  postgres: 'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()',
} as const

async function rowCounts({ file, url }: Pick<Bench, 'file' | 'url'>): Promise<Map<string, number>> {
  if (file !== undefined) {
    const database = await openReader(file)
    try {
      return await counted(TABLES.sqlite, async (sql) => database.prepare(sql).all())
    } finally {
      database.close()
    }
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await counted(TABLES.postgres, async (sql) => (await client.query(sql)).rows)
  } finally {
    await client.end()
  }
}

async function counted(tables: string, query: Query): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const { name } of (await query(tables)) as { readonly name: string }[]) {
    if (OTHERS.includes(name)) continue
    const [row] = (await query(`SELECT count(*) AS count FROM ${name}`)) as {
      readonly count: number | string
    }[]
    counts.set(name, Number(row?.count))
  }
  return counts
}

describeGates('a month with retention', (open) => {
  it('leaves every table as large as the month before', async () => {
    const archive = new ArchiveInMemory()
    const settings = { task_retention_days: 7 }
    const bench = await open({ settings, retention: { receiptDays: 30, archive } })
    const { gate, clock } = bench
    const day = async () => {
      for (let n = 0; n < TASKS_PER_DAY; n++) {
        await ask(gate, { session_id: 's', idempotency_key: `${clock.now}-${n}` })
      }
      for (const offer of await claim(gate, { max_tasks: TASKS_PER_DAY })) {
        await gate.reportProgress(worker(), { ...held(offer), progress: { percent: 1 } })
        await gate.appendLogs(worker(), { ...held(offer), lines: [{ level: 'info', text: 'x' }] })
        await finish(gate, offer)
      }
      for (const { receipt_id } of (await gate.listInbox(agent(), {})).items) {
        await gate.ackReceipt(agent(), { receipt_id })
      }
      clock.advance(DAY)
      await gate.sweepRetention()
    }
    // A task that stays open must not keep what lies around it.
    await ask(gate, { type: 'stays open', delay_seconds: 300 * DAY })
    for (let n = 0; n < FULL_DAYS; n++) await day()
    const before = await rowCounts(bench)
    for (let n = 0; n < MONTH_DAYS; n++) await day()
    const after = await rowCounts(bench)
    expect(after.get('ledger')).toBeGreaterThan(0)
    for (const [table, count] of after) {
      expect(count, table).toBeLessThanOrEqual((before.get(table) ?? 0) + 2 * TASKS_PER_DAY)
    }
    expect(archive.files.size).toBeGreaterThan(5)
  })
})
