import { hourOf, type UsageEvent, type UsageHour, type UsageRows } from '../usage.ts'
import { type Change, type Database, inTransaction } from './database.ts'
import { attemptAvailable } from './failure.ts'

const COUNTS = ['tasks', 'lease_ms', 'receipt_bytes', 'receipt_byte_seconds', 'calls'] as const
const COLUMNS = ['tenant', 'id', 'from_at', 'to_at', 'instance', ...COUNTS] as const

export const USAGE_HOURS = `SELECT hour, ${COUNTS.join(', ')} FROM usage_hours
  WHERE tenant = ? AND hour >= ? AND hour < ? ORDER BY hour`

export const USAGE_BYTES = `SELECT coalesce(sum(receipt_bytes), 0) AS bytes FROM usage_hours
  WHERE tenant = ? AND hour < ?`

export const USAGE_UNSENT = `SELECT ${COLUMNS.join(', ')} FROM usage_events INDEXED BY usage_events_unsent
  WHERE tenant = ? AND is_unsent = 1 ORDER BY id LIMIT ?`

export const USAGE_REMOVAL = `DELETE FROM usage_events WHERE tenant = ? AND id IN (
  SELECT id FROM usage_events WHERE tenant = ? AND id < ? ORDER BY id LIMIT ?)`

export function prepareUsage(reader: Database, writer: Database, change: Change): UsageRows {
  const marks = (count: number) => Array.from({ length: count }, () => '?').join(', ')
  const insert = writer.prepare(
    `INSERT INTO usage_events (${COLUMNS.join(', ')}, is_unsent) VALUES (${marks(COLUMNS.length + 1)})
    ON CONFLICT DO NOTHING`,
  )
  const sums = COUNTS.map((name) => `${name} = ${name} + excluded.${name}`)
  const addToHour = writer.prepare(
    `INSERT INTO usage_hours (tenant, hour, ${COUNTS.join(', ')}) VALUES (${marks(COUNTS.length + 2)})
    ON CONFLICT (tenant, hour) DO UPDATE SET ${sums.join(', ')}`,
  )
  const hours = reader.prepare(USAGE_HOURS)
  const bytes = reader.prepare(USAGE_BYTES)
  const unsent = reader.prepare(USAGE_UNSENT)
  const sent = writer.prepare('UPDATE usage_events SET is_unsent = 0 WHERE tenant = ? AND id = ?')
  const remove = writer.prepare(USAGE_REMOVAL)
  return {
    add: async (event, isUnsent) =>
      change(() =>
        inTransaction(writer, () => {
          const { changes } = insert.run(...COLUMNS.map((name) => event[name]), Number(isUnsent))
          if (Number(changes) === 0) return
          addToHour.run(event.tenant, hourOf(event.from_at), ...COUNTS.map((name) => event[name]))
        }),
      ),
    hours: async (...values) => attemptAvailable(() => hours.all(...values) as UsageHour[]),
    receiptBytesBefore: async (tenant, hour) =>
      attemptAvailable(() => (bytes.get(tenant, hour) as { bytes: number }).bytes),
    unsent: async (...values) => attemptAvailable(() => unsent.all(...values) as UsageEvent[]),
    sent: async (tenant, id) => {
      change(() => sent.run(tenant, id))
    },
    removeBefore: async (tenant, before, limit) =>
      change(() => Number(remove.run(tenant, tenant, before, limit).changes)),
  }
}
