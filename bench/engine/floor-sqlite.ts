import { openWriter } from '../../dist/store/sqlite/database.js'
import { prepareWrite } from '../../dist/store/sqlite/write.js'
import { emptyLoaded } from '../../dist/store/store.js'
import { floorBatches } from './floor.ts'
import { type Sample, tenantChanges } from './sample.ts'

const MAX_SEGMENT = 16 * 1024

/**
 * Writes the rows of the engine with its statements, one transaction per batch, without load rounds, decisions, encoding
 * or callers.
 */
export async function floorSqlite(
  path: string,
  sample: Sample,
  lifecycles: number,
  seconds: number,
): Promise<number> {
  const database = await openWriter(path)
  database.exec(`INSERT INTO tenants (tenant, name, salt) VALUES (1, 'default', 's')`)
  const write = prepareWrite(database)
  let count = 0
  const start = performance.now()
  for (const { rows, completed, lastSeq } of floorBatches(sample, lifecycles, MAX_SEGMENT)) {
    if (performance.now() - start > seconds * 1000) break
    database.exec('BEGIN IMMEDIATE')
    write(tenantChanges(sample, lastSeq), rows, emptyLoaded(Date.now()))
    database.exec('COMMIT')
    count += completed
  }
  const rate = count / ((performance.now() - start) / 1000)
  database.close()
  return rate
}
