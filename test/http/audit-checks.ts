import { expect } from 'vitest'
import { listOf, ROOT, type Served } from './support.ts'

/** The operation on the audit log. */
export const auditChecks = {
  async list_audit(served: Served) {
    await served.post('/v1/policies', { ...ROOT, id: 'rule', action: 'BLOCK', scope: { type: 'never' } })
    const response = await served.get('/v1/audit', { ...ROOT, event: 'admin_action' })
    expect(response).toMatchObject({ status: 200, body: { next_cursor: null } })
    expect(listOf(response, 'events')).toMatchObject([
      { event: 'admin_action', principal: 'human:root', subject: 'rule', outcome: 'success' },
    ])
  },
}
