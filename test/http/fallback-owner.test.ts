import { expect, it } from 'vitest'
import { describeGates } from '../support/gates.ts'
import { ROOT, servers, textOf } from './support.ts'

describeGates('tasks without a named creator', (open) => {
  it('such a task is owned by service:operator, which can read but not approve it', async () => {
    const { get, post } = await servers(open)()
    await post('/v1/policies', { ...ROOT, id: 'ask', action: 'REQUIRE_APPROVAL', scope: { type: 'job' } })
    const task_id = textOf(await post('/v1/tasks', { type: 'job' }), 'task_id')
    expect((await get(`/v1/tasks/${task_id}`)).body).toMatchObject({
      status: 'pending_approval',
      created_by: { kind: 'service', id: 'operator' },
    })
    expect((await post(`/v1/approvals/${task_id}/approve`)).body.code).toBe('FORBIDDEN')
    expect((await post(`/v1/approvals/${task_id}/approve`, ROOT)).status).toBe(200)
    expect((await get(`/v1/tasks/${task_id}`)).body.status).toBe('queued')
  })
})
