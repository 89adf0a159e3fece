import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, expect, it, vi } from 'vitest'
import { agent, describeGates } from '../support/gates.ts'
import { ask, soon } from '../support/steps.ts'
import { EventStream } from './event-stream.ts'
import { createTask, heldTask, readAnswer, type Served, serveGate, servers } from './support.ts'

const ALICE = { principal_id: 'alice' }

describeGates('the event stream', (open, storeName) => {
  const serve = servers(open)
  const streams: EventStream[] = []
  afterEach(() => {
    vi.useRealTimers()
    for (const stream of streams.splice(0)) stream.close()
  })
  const listen = async ({ port }: Pick<Served, 'port'>, query: string) => {
    const stream = await EventStream.open(port, query)
    streams.push(stream)
    return stream
  }

  it('tells of each change once it is committed', async () => {
    const served = await serve()
    const stream = await listen(served, 'principal_id=alice')
    expect(stream.message).toMatchObject({
      statusCode: 200,
      headers: {
        'content-type': 'text/event-stream',
        'x-accel-buffering': 'no',
        'cache-control': 'no-store, no-transform',
      },
    })
    const { task_id, ...held } = await heldTask(served)
    await served.post(`/v1/tasks/${task_id}/running`, held)
    await served.post(`/v1/tasks/${task_id}/complete`, { ...held, result: 1, artifacts: [{ a: 1 }] })
    const common = { task_id, type: 'job', principal_ai: 'alice', at: expect.any(String) }
    expect(await stream.next()).toEqual({ ...common, status: 'queued', worker_id: null })
    expect(await stream.next()).toEqual({ ...common, status: 'leased', worker_id: 'w1' })
    expect(await stream.next()).toEqual({ ...common, status: 'running', worker_id: 'w1' })
    expect(await stream.next()).toEqual({ ...common, status: 'succeeded', worker_id: 'w1' })
  })

  it('tells a worker at once that a task of his was canceled', async () => {
    const served = await serve()
    const stream = await listen(served, 'worker_id=w1')
    const { task_id, lease_id } = await heldTask(served)
    expect(await stream.next()).toMatchObject({ task_id, status: 'leased', lease_id })
    await served.post(`/v1/tasks/${task_id}/cancel`, ALICE)
    expect(await stream.next()).toMatchObject({ task_id, status: 'canceled', worker_id: 'w1', lease_id })
  })

  it('shows everybody only what he may see', async () => {
    const served = await serve()
    const [alice, bob, admin, worker, operator] = await Promise.all([
      listen(served, 'principal_id=alice'),
      listen(served, 'principal_id=bob'),
      listen(served, 'principal_kind=human&principal_id=root'),
      listen(served, 'principal_kind=worker&principal_id=w1'),
      listen(served, ''),
    ])
    const first = await createTask(served)
    const forBob = await createTask(served, { principal_ai: 'bob', type: 'other' })
    await served.post('/v1/leases/claim', { worker_id: 'w1', accept_types: ['other'] })
    expect(await bob?.next()).toMatchObject({ task_id: forBob, status: 'queued' })
    expect(await worker?.next()).toMatchObject({ task_id: forBob, status: 'leased' })
    for (const stream of [alice, admin, operator]) {
      expect(await stream?.next()).toMatchObject({ task_id: first, status: 'queued' })
      expect(await stream?.next()).toMatchObject({ task_id: forBob, status: 'queued' })
      const leased = await stream?.next()
      expect(leased).toMatchObject({ task_id: forBob, status: 'leased', worker_id: 'w1' })
      expect(leased).not.toHaveProperty('lease_id')
    }
  })

  it('keeps to the task, the session or the worker that it is asked for', async () => {
    const served = await serve()
    const wanted = await createTask(served, { session_id: 's1', type: 'wanted' })
    const byTask = await listen(served, `principal_id=alice&task_id=${wanted}`)
    const bySession = await listen(served, 'principal_id=alice&session_id=s1')
    const byWorker = await listen(served, 'principal_id=alice&worker_id=w1')
    await createTask(served, { session_id: 's2' })
    await createTask(served)
    await served.post('/v1/leases/claim', { worker_id: 'w2', max_tasks: 2, accept_types: ['job'] })
    await served.post('/v1/leases/claim', { worker_id: 'w1' })
    await served.post(`/v1/tasks/${wanted}/cancel`, ALICE)
    for (const stream of [byTask, bySession, byWorker]) {
      expect(await stream.next()).toMatchObject({ task_id: wanted, status: 'leased', worker_id: 'w1' })
      expect(await stream.next()).toMatchObject({ task_id: wanted, status: 'canceled' })
      expect(stream.unread).toBe(0)
    }
  })

  it('keeps to the status that it is asked for', async () => {
    const served = await serve()
    const canceled = await listen(served, 'worker_id=w1&status=canceled')
    const first = await heldTask(served)
    await served.post(`/v1/tasks/${first.task_id}/running`, first)
    await served.post(`/v1/tasks/${first.task_id}/complete`, { ...first, result: 1, artifacts: [{ a: 1 }] })
    const { task_id, lease_id } = await heldTask(served)
    await served.post(`/v1/tasks/${task_id}/cancel`, ALICE)
    expect(await canceled.next()).toMatchObject({ task_id, status: 'canceled', lease_id })
    expect(canceled.unread).toBe(0)
  })

  it('looks up the session of a task that it has not seen before, in order', async () => {
    const served = await serve()
    const held = await heldTask(served, { session_id: 's1' })
    const stream = await listen(served, 'principal_id=alice&session_id=s1')
    const other = await createTask(served, { session_id: 's2', type: 'x' })
    await served.post(`/v1/tasks/${held.task_id}/running`, held)
    await served.post(`/v1/tasks/${other}/cancel`, ALICE)
    await served.post(`/v1/tasks/${held.task_id}/cancel`, ALICE)
    expect(await stream.next()).toMatchObject({ task_id: held.task_id, status: 'running' })
    expect(await stream.next()).toMatchObject({ task_id: held.task_id, status: 'canceled' })
    expect(stream.unread).toBe(0)
  })

  it.runIf(storeName === 'postgres')('carries the end of a task that another process ended', async () => {
    const served = await serve()
    const other = await served.another()
    const worker = await listen(served, 'worker_id=w1')
    const owner = await listen(served, 'principal_id=alice&session_id=s1')
    const { task_id, lease_id } = await heldTask(served, { session_id: 's1' })
    expect(await worker.next()).toMatchObject({ status: 'leased' })
    expect(await owner.next()).toMatchObject({ status: 'queued' })
    expect(await owner.next()).toMatchObject({ status: 'leased' })
    await other.gate.cancel(agent(), { task_id })
    expect(await worker.next()).toMatchObject({ task_id, status: 'canceled', lease_id })
    expect(await owner.next()).toMatchObject({ task_id, status: 'canceled' })
  })

  it('is refused for a task that is not there or not to be seen, and for a filter it does not know', async () => {
    const served = await serve()
    const task_id = await createTask(served)
    const absent = '01976d7a-31c0-7c4e-9f6b-0d5a3f1e2b4c'
    const refusal = async (query: string) => {
      const stream = await EventStream.open(served.port, query)
      return stream.message.statusCode
    }
    expect(await refusal(`principal_id=alice&task_id=${absent}`)).toBe(404)
    expect(await refusal(`principal_id=bob&task_id=${task_id}`)).toBe(403)
    expect(await refusal('principal_id=bob&color=red')).toBe(400)
    expect((await readAnswer((await EventStream.open(served.port, 'task_id=x')).message)).body).toMatchObject(
      {
        code: 'TASK_NOT_FOUND',
      },
    )
  })

  it('cuts off a client that does not read, and nobody else', async () => {
    const served = await serve()
    const reader = await listen(served, 'principal_id=alice')
    const slow = connect(served.port, '127.0.0.1')
    slow.write('GET /v1/events?principal_id=alice HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await once(slow, 'data')
    slow.pause()
    const cut = once(slow, 'close')
    slow.on('error', () => {})
    const tasks = Array.from({ length: 1000 }, () => ({
      type: 'x'.repeat(250),
      principal_ai: 'y'.repeat(250),
    }))
    let created = 0
    const streaming = async () => (await served.get('/metrics')).text.includes('asyncgate_event_streams 2')
    while (await streaming()) {
      await served.gate.createMany(agent(), { tasks })
      created += tasks.length
      if (created > 50_000) throw new Error('nobody was cut off')
    }
    slow.resume()
    await soon(cut)
    for (let i = 0; i < created; i++) await reader.next()
    await ask(served.gate)
    expect(await reader.next()).toMatchObject({ type: 'job' })
  })

  it('says now and then that it is alive, and stops listening when its client leaves', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] })
    const served = await serve()
    const stream = await listen(served, 'principal_id=alice')
    const heard = once(stream.message, 'data')
    vi.advanceTimersByTime(15_000)
    const [text] = await soon(heard)
    expect(text).toMatch(/^: .*\n\n$/)
    stream.close()
    await vi.waitFor(async () => {
      expect((await served.get('/metrics')).text).toContain('asyncgate_event_streams 0')
    })
  })

  it('ends when the server stops', async () => {
    const served = await serve()
    const stream = await listen(served, 'principal_id=alice')
    const ended = once(stream.message, 'end')
    await soon(served.close())
    await soon(ended)
    expect(stream.message.complete).toBe(true)
  })

  it('goes to two servers of one process', async () => {
    const served = await serve()
    const other = await serveGate(served.gate)
    const stream = await listen(other, 'principal_id=alice')
    const task_id = await createTask(served)
    expect(await stream.next()).toMatchObject({ task_id })
  })
})
