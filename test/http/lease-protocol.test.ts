import { expect, it } from 'vitest'
import { StoreError } from '../../src/store/store.ts'
import { describeGates } from '../support/gates.ts'
import { override, soon } from '../support/steps.ts'
import { createTask, listOf, members, ROOT, servers, textOf } from './support.ts'

const WORKER = 'worker.codegen-aws-i-1234567'
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/)

describeGates('the lease protocol', (open) => {
  const serve = servers(open)

  it('a lease offers a task in the documented shape', async () => {
    const served = await serve()
    const task_id = await createTask(served, {
      type: 'code.generate',
      principal_ai: 'delegate.root',
      summary: 'Generate Python function for CSV parsing',
      body: 'Create a function that reads CSV...',
      payload_pointer: 'depotgate://artifact/01HTZQ8S3C8Y8Y1QJQ5Y8Z9F6G',
      inputs: { language: 'python', framework: 'pandas' },
      expected_outcome_kind: 'artifact_pointer',
      expected_artifact_mime: 'text/x-python',
    })
    const answer = await served.post('/lease', {
      worker_id: WORKER,
      capabilities: ['python', 'rust', 'code-generation'],
      max_tasks: 1,
      preferred_kinds: ['code.generate', 'code.refactor'],
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      lease_id: ID,
      lease_expires_at: new Date(served.clock.now + 900_000).toISOString(),
      task: {
        task_id,
        principal_ai: 'delegate.root',
        task_type: 'code.generate',
        task_summary: 'Generate Python function for CSV parsing',
        task_body: 'Create a function that reads CSV...',
        payload: {},
        payload_pointer: 'depotgate://artifact/01HTZQ8S3C8Y8Y1QJQ5Y8Z9F6G',
        inputs: { language: 'python', framework: 'pandas' },
        expected_outcome_kind: 'artifact_pointer',
        expected_artifact_mime: 'text/x-python',
      },
    })
  })

  it('a lease request without a task is 204 without a body', async () => {
    const { post } = await serve()
    expect(await post('/lease', { worker_id: WORKER })).toMatchObject({ status: 204, text: '' })
  })

  it.each(['nodot', '.instance', 'type.', 'a b.c', '', undefined, 7])(
    'the worker_id %s is refused',
    async (worker_id) => {
      const { post } = await serve()
      expect(await post('/lease', { worker_id })).toMatchObject({
        status: 400,
        body: { error: 'invalid_worker_id', detail: 'must match pattern {type}.{instance}' },
      })
    },
  )

  it('preferred_kinds change only the order', async () => {
    const served = await serve()
    const first = await createTask(served, { type: 'a' })
    const second = await createTask(served, { type: 'b' })
    const take = async () => {
      const { body } = await served.post('/lease', { worker_id: WORKER, preferred_kinds: ['b'] })
      return members(body.task).task_id
    }
    expect(await take()).toBe(second)
    expect(await take()).toBe(first)
  })

  it('a lease offers several tasks on request', async () => {
    const served = await serve()
    const ids = [await createTask(served), await createTask(served)]
    const answer = await served.post('/lease', { worker_id: WORKER, max_tasks: 5 })
    const offered = listOf(answer, 'offers').map((offer) => members(offer.task).task_id)
    expect(offered).toEqual(ids)
    expect(members(answer.body.task).task_id).toBe(ids[0])
  })

  it('a draining worker is notified and gets no tasks', async () => {
    const served = await serve()
    await createTask(served)
    const { lease_id } = (await served.post('/lease', { worker_id: 'type.1' })).body
    await createTask(served)
    await served.post('/v1/workers/type.1/drain', { ...ROOT, drain: true })
    expect(await served.post(`/lease/${String(lease_id)}/heartbeat`)).toMatchObject({
      status: 200,
      body: { status: 'ok', drain: true },
    })
    expect(await served.post('/lease', { worker_id: 'type.1' })).toMatchObject({ status: 204 })
  })

  it('heartbeats renew a lease with and without progress', async () => {
    const served = await serve()
    const task_id = await createTask(served)
    const lease_id = textOf(await served.post('/lease', { worker_id: WORKER }), 'lease_id')
    const beat = (body?: object) => served.post(`/lease/${lease_id}/heartbeat`, body)
    served.clock.advance(600)
    const expires = (seconds: number) => new Date(served.clock.now + seconds * 1000).toISOString()
    expect(await beat()).toMatchObject({
      status: 200,
      body: { status: 'ok', lease_id, lease_expires_at: expires(900) },
    })
    expect(await beat({ worker_id: WORKER, task_id, extend_by_seconds: 1000 })).toMatchObject({
      body: { lease_expires_at: expires(1000) },
    })
    expect(await beat({ progress: { percent: 10 } })).toMatchObject({
      status: 200,
      body: { lease_expires_at: expires(1000) },
    })
    expect((await served.get(`/v1/tasks/${task_id}`, ROOT)).body).toMatchObject({
      status: 'running',
      progress: { percent: 10 },
    })
  })

  it('the configured lease duration is used', async () => {
    const served = await serve({ settings: { lease_protocol_ttl_seconds: 60 } })
    await createTask(served)
    const answer = await served.post('/lease', { worker_id: WORKER })
    const expires = (seconds: number) => new Date(served.clock.now + seconds * 1000).toISOString()
    expect(answer.body.lease_expires_at).toBe(expires(60))
    served.clock.advance(30)
    expect(await served.post(`/lease/${textOf(answer, 'lease_id')}/heartbeat`)).toMatchObject({
      body: { lease_expires_at: expires(60) },
    })
  })

  it('a heartbeat of an invalid lease is refused', async () => {
    const served = await serve()
    await createTask(served)
    const lease_id = textOf(await served.post('/lease', { worker_id: WORKER }), 'lease_id')
    served.clock.advance(900)
    expect(await served.post(`/lease/${lease_id}/heartbeat`)).toMatchObject({
      status: 409,
      body: { error: 'lease_invalid_or_expired', detail: expect.any(String) },
    })
  })

  it('a lease request waits for a task on request', async () => {
    const served = await serve()
    const waiting = served.post('/lease', { worker_id: WORKER, wait_seconds: 30 })
    const task_id = await createTask(served)
    expect(members((await soon(waiting)).body.task).task_id).toBe(task_id)
  })

  it.each([
    [new StoreError('unavailable', 'gone'), 503, 'database_unavailable'],
    [new Error('its cause'), 500, 'internal_error'],
  ])('%s is reported as %i %s', async (error, status, name) => {
    const { post } = await serve({
      wrap: (store) => override(store, { commit: () => Promise.reject(error) }),
    })
    const answer = await post('/lease', { worker_id: WORKER })
    expect(answer).toMatchObject({ status, body: { error: name } })
    expect(answer.text).not.toContain('its cause')
  })
})
