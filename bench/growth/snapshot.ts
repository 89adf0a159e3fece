import pg from 'pg'
import { type Databases, openGateOn } from '../engine/databases.ts'
import { AGENT, lifecyclesPerSecond, newPayload, workerCaller } from '../engine/lifecycle.ts'
import type { Report } from '../report.ts'
import type { Resources } from '../resources.ts'
import { median, times } from '../stats.ts'

const SLICE_SECONDS = 5
const CALLERS = 64
const CLAIMS = 100

/**
 * Load while an idle transaction holds a snapshot, so that PostgreSQL cannot remove the row versions that the load
 * replaces; compared with the same load in turn on a database without such a transaction.
 */
export async function heldSnapshot(
  report: Report,
  databases: Databases,
  seconds: number,
  { signal }: Resources,
): Promise<void> {
  const sides = []
  try {
    for (const isHeld of [false, true]) {
      const database = await databases.create('postgres')
      const gate = await openGateOn(database)
      const client = new pg.Client({ connectionString: database.address })
      await client.connect()
      sides.push({ database, gate, client, rates: [] as number[] })
      await lifecyclesPerSecond(gate, CALLERS, 1)
      if (isHeld) await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1')
    }
    for (let done = 0; done < seconds; done += SLICE_SECONDS) {
      for (const { gate, rates } of sides) {
        signal.throwIfAborted()
        rates.push(await lifecyclesPerSecond(gate, CALLERS, Math.min(SLICE_SECONDS, seconds - done)))
      }
    }
    const claims = []
    for (const { gate } of sides) {
      for (let i = 0; i < CLAIMS; i++)
        await gate.createTask(AGENT, { type: 'summarise', payload: newPayload() })
      const worker = workerCaller('worker-1')
      claims.push(median(await times(CLAIMS, () => gate.leaseNext(worker, { worker_id: 'worker-1' }))))
    }
    const ratio = (name: string, [without, held]: readonly number[], unit: string) => {
      if (without === undefined || held === undefined) return
      const note = `${held.toFixed(2)} against ${without.toFixed(2)} ${unit}`
      report.add({
        name: `postgres: ${name}, snapshot held for ${seconds} s`,
        value: held / without,
        unit: 'x',
        note,
      })
    }
    ratio(
      'lifecycles/s',
      // The second half, after the snapshot has had an effect.
      sides.map(({ rates }) => median(rates.slice(Math.floor(rates.length / 2)))),
      'lifecycles/s',
    )
    ratio('claim p50', claims, 'ms')
  } finally {
    for (const { gate, client, database } of sides) {
      await gate.close()
      await client.end()
      await database.drop()
    }
  }
}
