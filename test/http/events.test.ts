import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, expect, it, vi } from 'vitest'
import { asCaller, suiteAuthMode } from '../support/auth-modes.ts'
import { agent, describeGates } from '../support/gates.ts'
import { ask, soon } from '../support/steps.ts'
import { EventStream } from './event-stream.ts'
import { createTask, heldTask, ROOT, readAnswer, type Served, serveGate, servers } from './support.ts'

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

  it('the stream sends each change after its commit', async () => {
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
    const common = { task_id, type: 'job', principal_ai: 'alice', fence: 1, at: expect.any(String) }
    expect(await stream.next()).toEqual({ ...common, fence: 0, status: 'queued', worker_id: null })
    expect(await stream.next()).toEqual({ ...common, status: 'leased', worker_id: 'w1' })
    expect(await stream.next()).toEqual({ ...common, status: 'running', worker_id: 'w1' })
    expect(await stream.next()).toEqual({ ...common, status: 'succeeded', worker_id: 'w1' })
  })

  it('the stream notifies a worker immediately of a canceled task', async () => {
    const served = await serve()
    const stream = await listen(served, 'worker_id=w1')
    const { task_id, lease_id } = await heldTask(served)
    const leased = await stream.next()
    expect(leased).toMatchObject({ task_id, status: 'leased', fence: 1 })
    await served.post(`/v1/tasks/${task_id}/cancel`, ALICE)
    const canceled = await stream.next()
    expect(canceled).toMatchObject({ task_id, status: 'canceled', worker_id: 'w1', fence: 1 })
    // Every caller with the shared key can name the worker; the lease id proves that it holds the lease.
    expect(JSON.stringify([leased, canceled])).not.toContain(lease_id)
  })

  it('the stream sends only changes that the caller may see', async () => {
    const served = await serve()
    const [alice, bob, admin, worker, maria] = await Promise.all([
      listen(served, 'principal_id=alice'),
      listen(served, 'principal_id=bob'),
      listen(served, 'principal_kind=human&principal_id=root'),
      listen(served, 'principal_kind=worker&principal_id=w1'),
      listen(served, 'principal_kind=human&principal_id=maria'),
    ])
    const first = await createTask(served)
    const forBob = await createTask(served, { principal_ai: 'bob', type: 'other' })
    await served.post('/v1/leases/claim', { worker_id: 'w1', accept_types: ['other'] })
    expect(await bob?.next()).toMatchObject({ task_id: forBob, status: 'queued' })
    expect(await worker?.next()).toMatchObject({ task_id: forBob, status: 'leased' })
    for (const stream of [alice, admin, maria]) {
      expect(await stream?.next()).toMatchObject({ task_id: first, status: 'queued' })
      expect(await stream?.next()).toMatchObject({ task_id: forBob, status: 'queued' })
      const leased = await stream?.next()
      expect(leased).toMatchObject({ task_id: forBob, status: 'leased', worker_id: 'w1' })
      expect(leased).not.toHaveProperty('lease_id')
    }
  })

  it('the stream filters by task, task session or worker', async () => {
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

  it('the stream filters by status', async () => {
    const served = await serve()
    const canceled = await listen(served, 'worker_id=w1&status=canceled')
    const first = await heldTask(served)
    await served.post(`/v1/tasks/${first.task_id}/running`, first)
    await served.post(`/v1/tasks/${first.task_id}/complete`, { ...first, result: 1, artifacts: [{ a: 1 }] })
    const { task_id } = await heldTask(served)
    await served.post(`/v1/tasks/${task_id}/cancel`, ALICE)
    expect(await canceled.next()).toMatchObject({ task_id, status: 'canceled', fence: 1 })
    expect(canceled.unread).toBe(0)
  })

  it('the task session of an unknown task is looked up without changing the order', async () => {
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

  it.runIf(storeName === 'postgres')(
    'the stream sends the end of a task that another process ended',
    async () => {
      const served = await serve()
      const other = await served.another()
      const worker = await listen(served, 'worker_id=w1')
      const owner = await listen(served, 'principal_id=alice&session_id=s1')
      const { task_id } = await heldTask(served, { session_id: 's1' })
      expect(await worker.next()).toMatchObject({ status: 'leased' })
      expect(await owner.next()).toMatchObject({ status: 'queued' })
      expect(await owner.next()).toMatchObject({ status: 'leased' })
      await other.gate.cancelTask(agent(), { task_id })
      expect(await worker.next()).toMatchObject({ task_id, status: 'canceled', fence: 1 })
      expect(await owner.next()).toMatchObject({ task_id, status: 'canceled' })
    },
  )

  it.runIf(storeName === 'postgres')('the stream sends every change of another server in order', async () => {
    const first = await serve()
    const second = await serveGate((await first.another()).gate)
    const [owner, session, worker] = await Promise.all([
      listen(second, 'principal_id=alice'),
      listen(second, 'principal_id=alice&session_id=s1'),
      listen(second, 'worker_id=w1'),
    ])
    const { task_id, ...held } = await heldTask(first, { session_id: 's1' })
    await first.post(`/v1/tasks/${task_id}/running`, held)
    await first.post(`/v1/tasks/${task_id}/progress`, { ...held, progress: { percent: 50 } })
    await first.post('/v1/leases/renew', { task_id, ...held, extend_by_seconds: 60 })
    await first.post(`/v1/tasks/${task_id}/complete`, { ...held, result: 1, artifacts: [{ a: 1 }] })
    const statuses = async (stream: EventStream, count: number) => {
      const changes = []
      for (let i = 0; i < count; i++) changes.push(await stream.next())
      expect(changes.every((change) => change.task_id === task_id)).toBe(true)
      return changes.map(({ status, fence }) => [status, fence])
    }
    const underLease = [
      ['leased', 1],
      ['running', 1],
      ['running', 1],
      ['succeeded', 1],
    ]
    expect(await statuses(owner, 5)).toEqual([['queued', 0], ...underLease])
    expect(await statuses(session, 5)).toEqual([['queued', 0], ...underLease])
    expect(await statuses(worker, 4)).toEqual(underLease)
  })

  it.runIf(storeName === 'postgres')(
    'the stream never sends an older state when two servers change the same task',
    async () => {
      const first = await serve()
      const second = await serveGate((await first.another()).gate)
      const streams = await Promise.all([
        listen(first, 'principal_id=alice'),
        listen(second, 'principal_id=alice'),
      ])
      for (let i = 0; i < 10; i++) {
        const { task_id, ...held } = await heldTask(first)
        await second.post(`/v1/tasks/${task_id}/running`, held)
        await first.post(`/v1/tasks/${task_id}/progress`, { ...held, progress: { percent: 50 } })
        await second.post(`/v1/tasks/${task_id}/complete`, { ...held, result: 1, artifacts: [{ a: 1 }] })
        for (const stream of streams) {
          const seen: unknown[] = []
          while (seen.at(-1) !== 'succeeded') {
            const change = await stream.next()
            if (change.task_id === task_id) seen.push(change.status)
          }
          const order = ['queued', 'leased', 'running', 'succeeded']
          const positions = seen.map((status) => order.indexOf(String(status)))
          expect(positions).toEqual(positions.toSorted())
        }
      }
    },
  )

  it('a stream is refused for an unknown or invisible task and for an unknown filter', async () => {
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

  it('only the client that does not read is disconnected', async () => {
    const served = await serve()
    const reader = await listen(served, 'principal_id=alice')
    const slow = connect(served.port, '127.0.0.1')
    const { authorization = '' } = asCaller(suiteAuthMode(), { principal_id: 'alice' }).headers
    slow.write(
      `GET /v1/events?principal_id=alice HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n\r\n`,
    )
    await once(slow, 'data')
    slow.pause()
    const cut = once(slow, 'close')
    slow.on('error', () => {})
    const tasks = Array.from({ length: 1000 }, () => ({
      type: 'x'.repeat(250),
      principal_ai: 'y'.repeat(250),
    }))
    let created = 0
    const streaming = async () =>
      (await served.get('/metrics', ROOT)).text.includes('asyncgate_event_streams 2')
    while (await streaming()) {
      await served.gate.createTasks(agent(), { tasks })
      created += tasks.length
      if (created > 50_000) throw new Error('no client was disconnected')
    }
    slow.resume()
    await soon(cut)
    for (let i = 0; i < created; i++) await reader.next()
    await ask(served.gate)
    expect(await reader.next()).toMatchObject({ type: 'job' })
  })

  it('the stream sends heartbeats and unsubscribes when its client disconnects', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] })
    const served = await serve()
    const stream = await listen(served, 'principal_id=alice')
    const heard = once(stream.message, 'data')
    vi.advanceTimersByTime(15_000)
    const [text] = await soon(heard)
    expect(text).toMatch(/^: .*\n\n$/)
    stream.close()
    await vi.waitFor(async () => {
      expect((await served.get('/metrics', ROOT)).text).toContain('asyncgate_event_streams 0')
    })
  })

  it('the stream ends when the server stops', async () => {
    const served = await serve()
    const stream = await listen(served, 'principal_id=alice')
    const ended = once(stream.message, 'end')
    await soon(served.close())
    await soon(ended)
    expect(stream.message.complete).toBe(true)
  })

  it('event streams work on two servers of one process', async () => {
    const served = await serve()
    const other = await serveGate(served.gate)
    const stream = await listen(other, 'principal_id=alice')
    const task_id = await createTask(served)
    expect(await stream.next()).toMatchObject({ task_id })
  })
})
