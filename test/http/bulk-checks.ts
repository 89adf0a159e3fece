import { expect } from 'vitest'
import { createTask, type Served, textOf } from './support.ts'

const ALICE = { principal_id: 'alice' }
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/)

const start = (served: Served) =>
  served.post('/v1/bulk-operations', { ...ALICE, action: 'cancel', session_id: 's1' })

async function started(served: Served): Promise<string> {
  await createTask(served, { session_id: 's1' })
  return textOf(await start(served), 'bulk_id')
}

/** The bulk operations on tasks. */
export const bulkChecks = {
  async start_bulk_operation(served: Served) {
    await createTask(served, { session_id: 's1' })
    expect(await start(served)).toMatchObject({
      status: 200,
      body: { bulk_id: ID, action: 'cancel', total: 1, is_total_exact: true },
    })
  },

  async get_bulk_operation(served: Served) {
    const bulk_id = await started(served)
    const path = `/v1/bulk-operations/${bulk_id}`
    expect(await served.get(path, { ...ALICE, wait_seconds: '20' })).toMatchObject({
      status: 200,
      body: { bulk_id, state: 'done', done: 1 },
    })
  },

  async list_bulk_operations(served: Served) {
    const bulk_id = await started(served)
    expect(await served.get('/v1/bulk-operations', ALICE)).toMatchObject({
      status: 200,
      body: { bulk_operations: [{ bulk_id }] },
    })
  },

  async abort_bulk_operation(served: Served) {
    const bulk_id = await started(served)
    expect(await served.post(`/v1/bulk-operations/${bulk_id}/abort`, ALICE)).toMatchObject({
      status: 200,
      body: { bulk_id },
    })
  },
}
