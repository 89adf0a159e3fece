import { expect } from 'vitest'
import { ROOT, type Served } from './support.ts'

/** The operation on usage. */
export const usageChecks = {
  async get_usage(served: Served) {
    await served.post('/v1/tasks', { principal_id: 'alice', type: 'job' })
    const response = await served.get('/v1/usage', { ...ROOT, granularity: 'hour' })
    expect(response).toMatchObject({
      status: 200,
      body: { granularity: 'hour', totals: { tasks: 1, lease_hours: 0, calls: 2 } },
    })
    const past = { from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:30:00+00:00' }
    expect(await served.get('/v1/usage', { ...ROOT, ...past })).toMatchObject({
      status: 200,
      body: { from: '2020-01-01T00:00:00.000Z', to: '2020-01-02T01:00:00.000Z', rows: [] },
    })
  },
}
