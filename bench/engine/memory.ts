import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Report } from '../report.ts'
import type { Databases, StoreName } from './databases.ts'
import { fill } from './fill.ts'

const CHILD = fileURLToPath(new URL('./memory-child.js', import.meta.url))

/** The resident memory of a process that serves a queue of a million tasks, after some thousand lifecycles. */
export async function memory(report: Report, databases: Databases, store: StoreName): Promise<void> {
  const database = await databases.create(store)
  await fill(database, { type: 'summarise' }, 1_000_000)
  const output = execFileSync(process.execPath, [CHILD, store, database.address], { encoding: 'utf8' })
  report.add({
    name: `${store}: RSS with 1,000,000 queued`,
    value: Number(output) / 2 ** 20,
    unit: 'MB',
    target: { atMost: 250 },
  })
  await database.drop()
}
