import { retentionOn } from '../layout/retention.ts'
import type { Retention } from '../retention.ts'
import { readTenant, writeTenant } from './borrow.ts'
import type { Pooled } from './database.ts'
import { drive } from './work.ts'

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
