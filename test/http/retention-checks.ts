import { expect } from 'vitest'
import { ROOT, type Served } from './support.ts'

/** The operations on retention. */
export const retentionChecks = {
  async get_retention(served: Served) {
    expect(await served.get('/v1/retention', ROOT)).toMatchObject({
      status: 200,
      body: {
        state: 'idle',
        task_retention_days: null,
        archive: null,
        due: { clear: 0, archive: 0, more: false },
      },
    })
  },
  async control_retention(served: Served) {
    const control = (fields: object) => served.post('/v1/retention', { ...ROOT, ...fields })
    expect(await control({ action: 'pause' })).toMatchObject({ status: 200, body: { state: 'paused' } })
    expect(await control({ action: 'resume', dry_run: true })).toMatchObject({ body: { state: 'paused' } })
    expect(await control({ action: 'resume' })).toMatchObject({ status: 200, body: { state: 'idle' } })
  },
}
