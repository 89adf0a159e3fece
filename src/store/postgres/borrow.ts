import pg from 'pg'
import { StoreError } from '../store.ts'
import { type Pooled, pipelined, run, type Statement, settled, type Value } from './database.ts'

/** Sent right before a read on the same connection, so that what earlier reads could see is over. */
const SEE_TENANT = { name: 'see_tenant', text: `SELECT set_config('asyncgate.tenants', $1, false)` }

type Work<T> = (client: pg.PoolClient) => Promise<T>

/** A read that sees one tenant. */
export function readTenant<T>(pooled: Pooled, tenant: number, read: Work<T>): Promise<T> {
  return readAs(pooled, SEE_TENANT, [`{${tenant}}`], read)
}

/** A read; `see` says which tenants it may see, and travels with it. */
export function readAs<T>(pooled: Pooled, see: Statement, seen: readonly Value[], read: Work<T>): Promise<T> {
  return repeatable(pooled, async (client) => {
    const [, result] = await pipelined(client, () => settled([run(client, see, seen), read(client)]))
    return result
  })
}

/** A write that sees one tenant. It is sent only after the connection has proved to work, and then only once. */
export async function writeTenant<T>(pooled: Pooled, tenant: number, write: Work<T>): Promise<T> {
  const client = await repeatable(
    pooled,
    (taken) => run(taken, SEE_TENANT, [`{${tenant}}`]).then(() => taken),
    'keep',
  )
  try {
    const result = await write(client)
    client.release()
    return result
  } catch (error) {
    client.release(true)
    throw new StoreError('unavailable', error)
  }
}

/** Work that may be done twice: once more, on a new connection, if the first one was lost. */
export async function repeatable<T>(
  pooled: Pooled,
  work: Work<T>,
  afterwards: 'release' | 'keep' = 'release',
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const client = await borrow(pooled)
    const stop = pooled.liveness.watch(client)
    try {
      const result = await work(client)
      if (afterwards === 'release') client.release()
      return result
    } catch (error) {
      client.release(true)
      if (attempt > 1 || error instanceof pg.DatabaseError) throw new StoreError('unavailable', error)
    } finally {
      stop()
    }
  }
}

/** A connection of the pool that is not known to be doubtful. */
async function borrow({ pool, liveness }: Pooled): Promise<pg.PoolClient> {
  try {
    for (;;) {
      const client = await pool.connect()
      if (!liveness.isSuspect(client)) return client
      client.release(true)
    }
  } catch (error) {
    throw new StoreError('unavailable', error)
  }
}
