import { HOUR_MS, type UsageEvent, type UsageHour, type UsageRows } from '../usage.ts'
import { readTenant, writeTenant } from './borrow.ts'
import { list, parameters, rowsOf } from './columns.ts'
import { type Pooled, run } from './database.ts'
import { USAGE_COUNTS, USAGE_EVENT } from './shapes.ts'

const STORED_EVENT = { ...USAGE_EVENT, is_unsent: 'boolean' } as const
const SUMS = Object.keys(USAGE_COUNTS).map((name) => `${name} = h.${name} + excluded.${name}`)

export const usageQueries = {
  add_usage: `
    WITH added AS (
      INSERT INTO usage_events (${list(STORED_EVENT)}) SELECT * FROM ${rowsOf(STORED_EVENT)}
      ON CONFLICT DO NOTHING RETURNING *)
    INSERT INTO usage_hours AS h (tenant, hour, ${list(USAGE_COUNTS)})
    SELECT tenant, from_at - from_at % ${HOUR_MS}, ${list(USAGE_COUNTS)} FROM added
    ON CONFLICT (tenant, hour) DO UPDATE SET ${SUMS.join(', ')}`,
  usage_hours: `
    SELECT hour, ${list(USAGE_COUNTS)} FROM usage_hours
    WHERE tenant = $1 AND hour >= $2 AND hour < $3 ORDER BY hour`,
  usage_bytes: `
    SELECT coalesce(sum(receipt_bytes), 0)::bigint AS bytes FROM usage_hours WHERE tenant = $1 AND hour < $2`,
  unsent_usage: `
    SELECT ${list(USAGE_EVENT)} FROM usage_events WHERE tenant = $1 AND is_unsent ORDER BY id LIMIT $2`,
  usage_sent: `UPDATE usage_events SET is_unsent = false WHERE tenant = $1 AND id = $2`,
  remove_usage: `
    DELETE FROM usage_events WHERE tenant = $1 AND id IN (
      SELECT id FROM usage_events WHERE tenant = $1 AND id < $2 ORDER BY id LIMIT $3) RETURNING id`,
} as const

function statement(name: keyof typeof usageQueries) {
  return { name, text: usageQueries[name] }
}

export function usageOn(pooled: Pooled): UsageRows {
  return {
    async add(event, is_unsent) {
      const rows = parameters(STORED_EVENT, [{ ...event, is_unsent }])
      await writeTenant(pooled, event.tenant, (client) => run(client, statement('add_usage'), rows))
    },
    hours: (tenant, from, before) =>
      readTenant(pooled, tenant, (client) =>
        run<UsageHour>(client, statement('usage_hours'), [tenant, from, before]),
      ),
    async receiptBytesBefore(tenant, hour) {
      const [row] = await readTenant(pooled, tenant, (client) =>
        run<{ bytes: number }>(client, statement('usage_bytes'), [tenant, hour]),
      )
      return row?.bytes ?? 0
    },
    unsent: (tenant, limit) =>
      readTenant(pooled, tenant, (client) =>
        run<UsageEvent>(client, statement('unsent_usage'), [tenant, limit]),
      ),
    async sent(tenant, id) {
      await writeTenant(pooled, tenant, (client) => run(client, statement('usage_sent'), [tenant, id]))
    },
    async removeBefore(tenant, before, limit) {
      const removed = await writeTenant(pooled, tenant, (client) =>
        run(client, statement('remove_usage'), [tenant, before, limit]),
      )
      return removed.length
    },
  }
}
