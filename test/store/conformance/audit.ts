import { describe, expect, it } from 'vitest'
import type { AuditRow } from '../../../src/store/audit.ts'
import { NOW, WEIRD_TEXTS } from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

export function auditRow(tenant: number, n: number, members: Partial<AuditRow> = {}): AuditRow {
  return {
    tenant,
    id: String(n).padStart(28, '0'),
    at: NOW + n,
    event: 'auth_failure',
    severity: 'warning',
    outcome: 'failure',
    principal: null,
    subject: null,
    reason: null,
    ip: null,
    user_agent: null,
    request_id: null,
    key_id: null,
    details: '{}',
    ...members,
  }
}

/** Above every id of these tests. */
const END = 'f'

export function describeAudit(subject: Subject): void {
  describe('audit log', () => {
    const rows = (...numbers: number[]) => numbers.map((n) => auditRow(subject.tenant, n))
    const idOf = (n: number) => auditRow(subject.tenant, n).id

    it('events are returned as written, newest first, also after a restart', async () => {
      const { store, tenant } = subject
      const texts = WEIRD_TEXTS.filter((text) => !text.includes('\0'))
      const full = texts.map((text, i) =>
        auditRow(tenant, i + 2, {
          severity: 'critical',
          outcome: 'success',
          principal: `agent:${text}`,
          subject: text,
          reason: text,
          ip: '::1',
          user_agent: text,
          request_id: 'r',
          key_id: 'k',
          details: JSON.stringify({ text, n: [1, null] }),
        }),
      )
      const all = [...rows(1), ...full]
      await store.audit.add(tenant, all)
      await subject.reopen()
      expect(await subject.store.audit.list(tenant, '', END, 1_000)).toEqual(all.toReversed())
    })

    it('a page is a range of ids', async () => {
      const { store, tenant } = subject
      await store.audit.add(tenant, rows(1, 2, 3, 4, 5))
      expect(await store.audit.list(tenant, idOf(2), idOf(5), 10)).toEqual(rows(4, 3, 2))
      expect(await store.audit.list(tenant, '', END, 2)).toEqual(rows(5, 4))
      expect(await store.audit.list(tenant, '', idOf(1), 2)).toEqual([])
    })

    it('writing the same events again adds nothing', async () => {
      const { store, tenant } = subject
      await store.audit.add(tenant, rows(1, 2))
      await store.audit.add(tenant, rows(2, 3))
      expect(await store.audit.list(tenant, '', END, 10)).toEqual(rows(3, 2, 1))
    })

    it('tenants have separate logs', async () => {
      const { store, tenant } = subject
      const other = (await store.tenant('other')).tenant
      await store.audit.add(tenant, rows(1))
      await store.audit.add(other, [auditRow(other, 1, { event: 'admin_action' })])
      expect(await store.audit.list(tenant, '', END, 10)).toEqual(rows(1))
      expect(await store.audit.removeBefore(other, END, 10)).toBe(1)
      expect(await store.audit.list(other, '', END, 10)).toEqual([])
      expect(await store.audit.list(tenant, '', END, 10)).toEqual(rows(1))
      expect((await store.tenants()).map(({ name }) => name)).toEqual(
        expect.arrayContaining(['test', 'other']),
      )
    })

    it('the oldest events are removed first, up to the limit', async () => {
      const { store, tenant } = subject
      await store.audit.add(tenant, rows(1, 2, 3, 4, 5))
      expect(await store.audit.removeBefore(tenant, idOf(4), 2)).toBe(2)
      expect(await store.audit.removeBefore(tenant, idOf(4), 2)).toBe(1)
      expect(await store.audit.removeBefore(tenant, idOf(4), 2)).toBe(0)
      expect(await store.audit.list(tenant, '', END, 10)).toEqual(rows(5, 4))
    })
  })
}
