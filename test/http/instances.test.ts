import { expect, it } from 'vitest'
import { describeGates } from '../support/gates.ts'
import { createTask, listOf, members, type Served, servers, textOf } from './support.ts'

describeGates('worker instances', (open) => {
  const serve = servers(open)

  const claimAs = ({ post }: Pick<Served, 'post'>, worker_instance_id: string, more = {}) =>
    post('/v1/leases/claim', { worker_id: 'w1', worker_instance_id, ...more })

  const ids = async (claim: Promise<Awaited<ReturnType<Served['post']>>>) =>
    listOf(await claim, 'tasks').map(({ task_id, lease_id, fence }) => ({ task_id, lease_id, fence }))

  it('the instance is shown in the lease, in the list of workers and in the receipts', async () => {
    const served = await serve()
    const task_id = await createTask(served, { principal_instance_id: 'laptop' })
    await claimAs(served, 'i1')
    const { body } = await served.get(`/v1/tasks/${task_id}`)
    expect(body.lease).toMatchObject({ worker_id: 'w1', worker_instance_id: 'i1' })
    expect(listOf(await served.get('/v1/workers'), 'workers')).toMatchObject([
      { worker_id: 'w1', instance_id: 'i1' },
    ])
    const receipts = await served.get('/v1/receipts', { principal_id: 'alice', task_id })
    expect(listOf(receipts, 'receipts')).toMatchObject([
      { receipt_type: 'task.assigned', body: { created_by_instance_id: 'laptop' } },
      { receipt_type: 'task.accepted', body: { worker_instance_id: 'i1' } },
    ])
  })

  it('the instance id is optional', async () => {
    const served = await serve()
    const task_id = await createTask(served)
    await served.post('/v1/leases/claim', { worker_id: 'w1' })
    const { body } = await served.get(`/v1/tasks/${task_id}`)
    expect(members(body.lease)).toEqual({ worker_id: 'w1', expires_at: expect.any(String) })
    expect(listOf(await served.get('/v1/workers'), 'workers')).toMatchObject([{ instance_id: null }])
  })

  it('a new instance takes over the leases of the previous one, which become invalid', async () => {
    const served = await serve()
    const tasks = [await createTask(served), await createTask(served)]
    const before = await ids(claimAs(served, 'i1', { max_tasks: 2 }))
    const [one] = await ids(claimAs(served, 'i2', { reclaim: true }))
    const [two] = await ids(claimAs(served, 'i2', { reclaim: true }))
    expect([one?.task_id, two?.task_id].sort()).toEqual([...tasks].sort())
    expect([one?.fence, two?.fence]).toEqual([2, 2])
    expect(await ids(claimAs(served, 'i2', { reclaim: true }))).toEqual([])
    for (const { task_id, lease_id } of before) {
      const call = { worker_id: 'w1', worker_instance_id: 'i1', lease_id, result: 1 }
      expect(await served.post(`/v1/tasks/${task_id}/complete`, call)).toMatchObject({ status: 409 })
    }
    const call = { worker_id: 'w1', lease_id: one?.lease_id, result: 1 }
    expect((await served.post(`/v1/tasks/${one?.task_id}/complete`, call)).status).toBe(200)
    expect((await served.get(`/v1/tasks/${two?.task_id}`)).body).toMatchObject({
      attempt: 0,
      expiry_count: 1,
    })
  })

  it('an instance does not take over its own leases, those of other workers, or those of types that it does not accept', async () => {
    const served = await serve()
    await createTask(served)
    await createTask(served, { type: 'other' })
    await claimAs(served, 'i1', { accept_types: ['job'] })
    await served.post('/v1/leases/claim', { worker_id: 'w2', worker_instance_id: 'i1' })
    expect(await ids(claimAs(served, 'i1', { reclaim: true }))).toEqual([])
    expect(await ids(claimAs(served, 'i2', { reclaim: true, accept_types: ['x'] }))).toEqual([])
    expect(await ids(claimAs(served, 'i2', { reclaim: true, max_tasks: 10 }))).toHaveLength(1)
  })

  it('reclaim returns a new task if there is nothing to take over, also after waiting', async () => {
    const served = await serve()
    const task_id = await createTask(served)
    expect(await ids(claimAs(served, 'i1', { reclaim: true, wait_seconds: 5 }))).toMatchObject([{ task_id }])
  })

  it('a new instance takes over leases of the lease protocol', async () => {
    const served = await serve()
    const task_id = await createTask(served)
    const worker = { worker_id: 'type.1', reclaim: true }
    const first = textOf(await served.post('/lease', { ...worker, worker_instance_id: 'i1' }), 'lease_id')
    const again = await served.post('/lease', { ...worker, worker_instance_id: 'i2' })
    expect(members(again.body.task).task_id).toBe(task_id)
    expect((await served.post(`/lease/${first}/heartbeat`)).status).toBe(409)
    expect((await served.post(`/lease/${textOf(again, 'lease_id')}/heartbeat`)).status).toBe(200)
  })

  it('reclaim requires an instance id', async () => {
    const { post } = await serve()
    expect(await post('/v1/leases/claim', { worker_id: 'w1', reclaim: true })).toMatchObject({
      status: 400,
      body: { details: { path: 'worker_instance_id' } },
    })
  })
})
