import type { AuditRow, AuditRows } from '../audit.ts'
import { readTenant, writeTenant } from './borrow.ts'
import { list, parameters, rowsOf } from './columns.ts'
import { type Pooled, run } from './database.ts'
import { AUDIT_ROW } from './shapes.ts'

export const auditQueries = {
  audit_page: `
    SELECT ${list(AUDIT_ROW)} FROM audit_events WHERE tenant = $1 AND id >= $2 AND id < $3 ORDER BY id DESC LIMIT $4`,
  insert_audit: `
    INSERT INTO audit_events (${list(AUDIT_ROW)}) SELECT * FROM ${rowsOf(AUDIT_ROW)} ON CONFLICT DO NOTHING`,
  remove_audit: `
    DELETE FROM audit_events WHERE tenant = $1 AND id IN (
      SELECT id FROM audit_events WHERE tenant = $1 AND id < $2 ORDER BY id LIMIT $3) RETURNING id`,
} as const

function statement(name: keyof typeof auditQueries) {
  return { name, text: auditQueries[name] }
}

export function auditOn(pooled: Pooled): AuditRows {
  return {
    async add(tenant, rows) {
      await writeTenant(pooled, tenant, (client) =>
        run(client, statement('insert_audit'), parameters(AUDIT_ROW, rows)),
      )
    },
    list: (tenant, from, before, limit) =>
      readTenant(pooled, tenant, (client) =>
        run<AuditRow>(client, statement('audit_page'), [tenant, from, before, limit]),
      ),
    removeBefore: async (tenant, before, limit) => {
      const removed = await writeTenant(pooled, tenant, (client) =>
        run(client, statement('remove_audit'), [tenant, before, limit]),
      )
      return removed.length
    },
  }
}
