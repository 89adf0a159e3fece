import { expect, it } from 'vitest'
import { describeGates } from '../support/gates.ts'
import { createTask, ROOT, type Served, servers, textOf } from './support.ts'

const NO_TASK = { task_id: null, message: 'No tasks available' }

const SPELLINGS = [
  { lease: '/worker/lease', base: '/worker', none: { status: 204, text: '' } },
  { lease: '/workers/lease_task', base: '/workers', none: { status: 200, body: NO_TASK } },
]

const WORKER = 'openrouter-001'

describeGates('the worker port', (open) => {
  const serve = servers(open)

  /** A claimed run, as the fields that its calls need. */
  const run = async ({ post }: Pick<Served, 'post'>, lease = '/worker/lease') => {
    const answer = await post(lease, { worker_id: WORKER, task_types: ['job'], lease_seconds: 300 })
    return { task_id: textOf(answer, 'task_id'), run_id: textOf(answer, 'run_id') }
  }

  it('a draining worker is notified and gets no tasks', async () => {
    const served = await serve()
    await createTask(served)
    const call = await run(served)
    await createTask(served)
    await served.post(`/v1/workers/${WORKER}/drain`, { ...ROOT, drain: true })
    for (const progress of [{}, { progress_percent: 1 }]) {
      expect(await served.post('/worker/heartbeat', { ...call, ...progress })).toMatchObject({
        status: 200,
        body: { status: 'ok', drain: true },
      })
    }
    expect(await served.post('/worker/lease', { worker_id: WORKER })).toMatchObject({ status: 204 })
  })

  it.each(SPELLINGS)('the full life of a task is supported at $base', async ({ lease, base, none }) => {
    const served = await serve()
    const { post, clock } = served
    const ask = { worker_id: WORKER, task_types: ['model_consultation', 'embeddings'], lease_seconds: 300 }
    expect(await post(lease, ask)).toMatchObject(none)

    const payload = { prompt: '...', models: ['gpt-4o', 'claude-opus-4'] }
    await createTask(served, { type: 'another' })
    const task_id = await createTask(served, { type: 'model_consultation', payload, priority: 3 })
    const envelope = await post(lease, ask)
    expect(envelope).toMatchObject({
      status: 200,
      body: {
        task_id,
        run_id: expect.any(String),
        task_type: 'model_consultation',
        params: payload,
        priority: 8,
        lease_expires_at: new Date(clock.now + 300_000).toISOString(),
        metadata: { attempt: 0 },
      },
    })

    const call = { task_id, run_id: textOf(envelope, 'run_id') }
    expect(
      await post(`${base}/heartbeat`, {
        ...call,
        progress_percent: 45.5,
        progress_message: 'Processed 450/1000 files',
        extend_lease_seconds: 600,
      }),
    ).toMatchObject({
      status: 200,
      body: { status: 'ok', lease_expires_at: new Date(clock.now + 600_000).toISOString() },
    })
    expect((await served.get(`/v1/tasks/${task_id}`, ROOT)).body.progress).toMatchObject({
      percent: 45.5,
      message: 'Processed 450/1000 files',
    })

    const report = {
      ...call,
      summary: 'Consulted 3 models successfully',
      result_channel: 'email',
      result_pointer: 'message-id-xyz@mail.com',
      result_checksum: 'sha256:abcdef',
      metadata: { models_queried: 3, total_tokens: 1500, duration_seconds: 12.5 },
    }
    const completed = await post(`${base}/complete`, report)
    expect(completed).toMatchObject({
      status: 200,
      body: { status: 'completed', notification_sent: true, notification_id: expect.any(String) },
    })
    expect((await post(`${base}/complete`, report)).body).toEqual(completed.body)
    const pointer = { channel: 'email', pointer: 'message-id-xyz@mail.com', checksum: 'sha256:abcdef' }
    expect((await served.get(`/v1/tasks/${task_id}`, ROOT)).body).toMatchObject({
      status: 'succeeded',
      result: { result: pointer, artifacts: [pointer] },
    })
    const obligations = await served.get('/v1/obligations/open', { principal_id: 'alice' })
    expect(obligations.text).not.toContain(task_id)
  })

  it.each(SPELLINGS)('$base/fail reports whether the task is retried', async ({ lease, base }) => {
    const served = await serve()
    await createTask(served, { max_attempts: 2, retry_backoff_seconds: 60 })
    const failure = {
      error_message: 'OpenRouter API timeout after 3 attempts',
      retryable: true,
      metadata: { http_status: 504 },
    }
    expect(await served.post(`${base}/fail`, { ...(await run(served, lease)), ...failure })).toMatchObject({
      status: 200,
      body: {
        status: 'failed',
        will_retry: true,
        retry_scheduled_at: new Date(served.clock.now + 60_000).toISOString(),
      },
    })
    served.clock.advance(60)
    expect(await served.post(`${base}/fail`, { ...(await run(served, lease)), ...failure })).toMatchObject({
      status: 200,
      body: { status: 'dead_letter', will_retry: false, notification_sent: true },
    })
  })

  it('a failure that is not retryable is reported as failed', async () => {
    const served = await serve()
    const task_id = await createTask(served)
    const failed = { ...(await run(served)), error_message: 'no', retryable: false, metadata: { why: 'x' } }
    expect((await served.post('/worker/fail', failed)).body).toEqual({
      status: 'failed',
      will_retry: false,
      notification_sent: true,
    })
    expect((await served.get(`/v1/tasks/${task_id}`, ROOT)).body.result).toMatchObject({
      error: { message: 'no', metadata: { why: 'x' } },
    })
  })

  it('a failure that does not say whether it is retryable is retried', async () => {
    const served = await serve()
    await createTask(served, { max_attempts: 2 })
    expect((await served.post('/worker/fail', { ...(await run(served)), error_message: 'x' })).body).toEqual({
      status: 'failed',
      will_retry: true,
      retry_scheduled_at: new Date(served.clock.now + 15_000).toISOString(),
    })
  })

  it('priorities are shown on the legacy scale from 1 to 10', async () => {
    const served = await serve()
    for (const [priority, shown] of [
      [4, 9],
      [0, 5],
      [1000, 10],
      [-1000, 1],
    ]) {
      await createTask(served, { priority })
      const { body } = await served.post('/worker/lease', { worker_id: WORKER })
      expect(body.priority).toBe(shown)
    }
  })

  it('calls of an expired run are refused with 409 lease_expired', async () => {
    const served = await serve()
    await createTask(served)
    const call = await run(served)
    served.clock.advance(300)
    const pointer = { result_pointer: 'p' }
    for (const [path, more] of [
      ['heartbeat', {}],
      ['heartbeat', { progress_percent: 1 }],
      ['complete', pointer],
      ['fail', { error_message: 'x' }],
    ] as const) {
      expect(await served.post(`/worker/${path}`, { ...call, ...more })).toMatchObject({
        status: 409,
        body: { error: 'lease_expired', message: 'Task has been reclaimed' },
      })
    }
  })

  it('a completion without a pointer and a failure without a message are refused', async () => {
    const served = await serve()
    await createTask(served)
    const call = await run(served)
    expect(await served.post('/worker/complete', { ...call, summary: 'x' })).toMatchObject({
      status: 400,
      body: { details: { path: 'result_pointer' } },
    })
    expect(await served.post('/worker/fail', call)).toMatchObject({
      status: 400,
      body: { details: { path: 'error_message' } },
    })
  })
})
