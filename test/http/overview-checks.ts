import { expect } from 'vitest'
import { ROOT, type Served } from './support.ts'

/** The operations on the state of the tenant. */
export const overviewChecks = {
  async get_overview(served: Served) {
    await served.post('/v1/tasks', { principal_id: 'alice', type: 'job' })
    expect(await served.get('/v1/overview', ROOT)).toMatchObject({
      status: 200,
      body: {
        tasks: { queued: 1, more: false },
        oldest_waiting_at: expect.any(String),
        attention: [{ kind: 'unserved_types', count: 1 }],
        unserved_types: [{ type: 'job', open_tasks: 1 }],
      },
    })
  },
  async get_history(served: Served) {
    await served.post('/v1/tasks', { principal_id: 'alice', type: 'job' })
    expect(await served.get('/v1/history', { ...ROOT, period: 'day' })).toMatchObject({
      status: 200,
      body: { period: 'day', row_seconds: 900, totals: { created: 1, succeeded: 0, wait_p50: null } },
    })
  },
}
