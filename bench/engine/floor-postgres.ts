import { connectTo, end, pipelined, run } from '../../dist/store/postgres/database.js'
import { writes, writesOf } from '../../dist/store/postgres/write.js'
import { emptyLoaded } from '../../dist/store/store.js'
import { floorBatches } from './floor.ts'
import { type Sample, tenantChanges } from './sample.ts'

const MAX_SEGMENT = 7_000

/**
 * Writes the rows of the engine with its statements, in one pipeline per batch, without load rounds, decisions or
 * callers.
 */
export async function floorPostgres(
  url: string,
  sample: Sample,
  lifecycles: number,
  seconds: number,
): Promise<number> {
  const connections = connectTo(url)
  const client = await connections.client()
  await client.query(`INSERT INTO tenants (name, salt) VALUES ('default', 's')`)
  await client.query(`SELECT set_config('asyncgate.tenants', '{1}', false)`)
  let count = 0
  const start = performance.now()
  for (const { rows, completed, lastSeq } of floorBatches(sample, lifecycles, MAX_SEGMENT)) {
    if (performance.now() - start > seconds * 1000) break
    const calls = writesOf(tenantChanges(sample, lastSeq), rows, emptyLoaded(Date.now()))
    await pipelined(client, () =>
      Promise.all([
        client.query('BEGIN'),
        ...calls.map(({ name, values }) => run(client, { name, text: writes[name] }, values)),
        client.query('COMMIT'),
      ]),
    )
    count += completed
  }
  const rate = count / ((performance.now() - start) / 1000)
  await end(client)
  await connections.pool.end()
  return rate
}
