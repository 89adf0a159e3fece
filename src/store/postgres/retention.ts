import type pg from 'pg'
import { retentionOn } from '../layout/retention.ts'
import type { Step, Work } from '../layout/steps.ts'
import type { Retention } from '../retention.ts'
import { readTenant, writeTenant } from './borrow.ts'
import { type Pooled, pipelined, run, settled } from './database.ts'

export function postgresRetention(pooled: Pooled): Retention {
  return retentionOn({
    read: (tenant, work) => readTenant(pooled, tenant, (client) => drive(client, work())),
    // A connection whose transaction fails is closed, which rolls it back.
    change: (tenant, work) =>
      writeTenant(pooled, tenant, async (client) => {
        await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
        const result = await drive(client, work)
        await client.query('COMMIT')
        return result
      }),
  })
}

async function drive<T>(client: pg.PoolClient, work: Work<T>): Promise<T> {
  for (let next = work.next(); ; ) {
    if (next.done) return next.value
    const steps = next.value
    next = work.next(await pipelined(client, () => settled(steps.map((step) => send(client, step)))))
  }
}

const names = new Map<string, string>()

/** Each text is prepared once per connection. There are few of them. */
function send(client: pg.PoolClient, { sql, values }: Step): Promise<unknown[]> {
  const name = names.get(sql) ?? `retention_${names.size}`
  names.set(sql, name)
  let count = 0
  const text = sql.replaceAll('?', () => `$${++count}`)
  return run(client, { name, text }, values)
}
