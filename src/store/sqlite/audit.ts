import type { AuditRow, AuditRows } from '../audit.ts'
import type { Change, Database } from './database.ts'
import { attemptAvailable } from './failure.ts'

const COLUMNS =
  'tenant, id, at, event, severity, outcome, principal, subject, reason, ip, user_agent, request_id, key_id, details'

export const AUDIT_PAGE = `SELECT ${COLUMNS} FROM audit_events
  WHERE tenant = ? AND id >= ? AND id < ? ORDER BY id DESC LIMIT ?`

export const AUDIT_REMOVAL = `DELETE FROM audit_events WHERE tenant = ? AND id IN (
  SELECT id FROM audit_events WHERE tenant = ? AND id < ? ORDER BY id LIMIT ?)`

export function prepareAudit(reader: Database, writer: Database, change: Change): AuditRows {
  const members = COLUMNS.split(', ').map((name) => `value ->> '${name}'`)
  // Without WHERE, the parser would take ON for the condition of a join.
  const insert = writer.prepare(
    `INSERT INTO audit_events (${COLUMNS}) SELECT ${members} FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`,
  )
  const list = reader.prepare(AUDIT_PAGE)
  const remove = writer.prepare(AUDIT_REMOVAL)
  return {
    add: async (_, rows) => {
      change(() => insert.run(JSON.stringify(rows)))
    },
    list: async (...values) => attemptAvailable(() => list.all(...values) as AuditRow[]),
    removeBefore: async (tenant, before, limit) =>
      change(() => Number(remove.run(tenant, tenant, before, limit).changes)),
  }
}
