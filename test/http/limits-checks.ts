import { expect } from 'vitest'
import { ROOT, type Served } from './support.ts'

/** The operations on limits. */
export const limitsChecks = {
  async get_limits(served: Served) {
    expect(await served.get('/v1/limits', ROOT)).toMatchObject({
      status: 200,
      body: { tenant_id: 'default', enabled: false, tier: null, rate_limits: [], set: { principals: [] } },
    })
  },

  async set_limits(served: Served) {
    const tasks = { calls: 5, window_seconds: 60 }
    const set = await served.post('/v1/limits', { ...ROOT, tenant: 'acme', tier: 'paid', tasks })
    expect(set).toMatchObject({ status: 200, body: { tenant_id: 'acme', tier: 'paid', set: { tasks } } })
    expect((await served.get('/v1/limits', { ...ROOT, tenant: 'acme' })).body).toEqual(set.body)
  },
}
