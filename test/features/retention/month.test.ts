import { expect, it } from 'vitest'
import { openReader } from '../../../src/store/sqlite/database.ts'
import { agent, describeGates, worker } from '../../support/gates.ts'
import { ask, claim, finish, held } from '../../support/steps.ts'
import { ArchiveInMemory } from './archive-in-memory.ts'

const DAY = 24 * 3600
/** The simulated days are a few days apart: what counts is how many tasks have gone through. */
const STEP_DAYS = 5
const TASKS_PER_STEP = 3

/** Tables that grow by a row per archive, per day or per configuration, not with tasks. */
const OTHERS = ['archives', 'entries', 'usage_events', 'usage_hours', 'audit_events', 'sqlite_stat1']

async function rowCounts(file: string): Promise<Record<string, number>> {
  const database = await openReader(file)
  try {
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all() as {
      readonly name: string
    }[]
    const counted = tables.filter(({ name }) => !OTHERS.includes(name))
    return Object.fromEntries(
      counted.map(({ name }) => {
        const { count } = database.prepare(`SELECT count(*) AS count FROM ${name}`).get() as { count: number }
        return [name, count]
      }),
    )
  } finally {
    database.close()
  }
}

describeGates(
  'a month with retention',
  (open) => {
    it('leaves every table as large as the month before', async () => {
      const archive = new ArchiveInMemory()
      const settings = { task_retention_days: 7 }
      const { gate, clock, file = '' } = await open({ settings, retention: { receiptDays: 30, archive } })
      const step = async () => {
        for (let n = 0; n < TASKS_PER_STEP; n++) {
          await ask(gate, { session_id: 's', idempotency_key: `${clock.now}-${n}` })
        }
        for (const offer of await claim(gate, { max_tasks: TASKS_PER_STEP })) {
          await gate.reportProgress(worker(), { ...held(offer), progress: { percent: 1 } })
          await gate.appendLogs(worker(), { ...held(offer), lines: [{ level: 'info', text: 'x' }] })
          await finish(gate, offer)
        }
        for (const { receipt_id } of (await gate.listInbox(agent(), {})).items) {
          await gate.ackReceipt(agent(), { receipt_id })
        }
        clock.advance(STEP_DAYS * DAY)
        await gate.sweepRetention()
      }
      // A task that stays open must not keep what lies around it.
      await ask(gate, { type: 'stays open', delay_seconds: 300 * DAY })
      for (let n = 0; n < 9; n++) await step()
      const before = await rowCounts(file)
      for (let n = 0; n < 6; n++) await step()
      const after = await rowCounts(file)
      for (const [table, count] of Object.entries(after)) {
        expect(count, table).toBeLessThanOrEqual((before[table] ?? 0) + 2 * TASKS_PER_STEP)
      }
      expect(archive.files.size).toBeGreaterThan(5)
    })
  },
  ['sqlite'],
)
