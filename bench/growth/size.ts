import { existsSync, statSync } from 'node:fs'
import pg from 'pg'
import { type Database, type Databases, openGateOn, type StoreName } from '../engine/databases.ts'
import type { Report } from '../report.ts'
import type { Resources } from '../resources.ts'
import { fill } from './fill.ts'

const MOST = 100_000

/** The growth of the database by one finished task with its receipts and inbox item. */
export async function sizePerTask(
  report: Report,
  databases: Databases,
  store: StoreName,
  max: number,
  { signal }: Resources,
): Promise<void> {
  const finished = Math.min(max, MOST)
  const database = await databases.create(store)
  try {
    const before = await bytes(database)
    const gate = await openGateOn(database)
    try {
      await fill(gate, { label: '', tenants: 1, types: 10, finished, open: 0 }, signal)
    } finally {
      await gate.close()
    }
    report.add({
      name: `${store}: database size per finished task`,
      value: ((await bytes(database)) - before) / finished,
      unit: 'bytes',
      note: `${finished.toLocaleString('en')} tasks`,
    })
  } finally {
    await database.drop()
  }
}

async function bytes({ name, address }: Database): Promise<number> {
  if (name === 'sqlite') {
    const files = [address, `${address}-wal`].filter((file) => existsSync(file))
    return files.reduce((sum, file) => sum + statSync(file).size, 0)
  }
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  const { rows } = await client.query('SELECT pg_database_size(current_database()) AS size')
  await client.end()
  return Number(rows[0].size)
}
