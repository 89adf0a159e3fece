import { describe, expect, it } from 'vitest'
import { type TaskAborted, type TaskContext, task } from '../../src/worker/index.ts'
import { look, only } from '../support/steps.ts'
import {
  aborted,
  CANCELLATION,
  COMPLETE,
  Deferred,
  EVENTS,
  eventually,
  FAIL,
  RELEASE,
  RENEW,
  workerBench,
} from './support.ts'

const ALICE = { principal_id: 'alice' }

/** A task that ends only when its signal is aborted. */
function endless() {
  const begun = new Deferred<TaskContext>()
  const stopped = new Deferred<TaskAborted>()
  const run = async (_: unknown, ctx: TaskContext) => {
    begun.resolve(ctx)
    try {
      return await aborted(ctx.signal)
    } catch (error) {
      stopped.resolve(ctx.signal.reason)
      throw error
    }
  }
  return { definition: task('job', { run }), begun: begun.promise, stopped: stopped.promise }
}

describe('cancellation of a running task', () => {
  const start = workerBench()

  it('a cancellation aborts the handler immediately, long before the next renewal', async () => {
    const gate = await start()
    const { definition, begun, stopped } = endless()
    const started = gate.start([definition], { leaseSeconds: 600 })
    const task_id = await gate.ask('job')
    await begun
    await gate.post(`/v1/tasks/${task_id}/cancel`, ALICE)
    expect(await stopped).toMatchObject({ name: 'TaskAborted', kind: 'canceled' })
    await eventually(() => started.metrics().types.job?.canceled === 1)
    for (const path of [RENEW, COMPLETE, FAIL, RELEASE]) expect(gate.network.to(path)).toEqual([])
    expect(await gate.status(task_id)).toBe('canceled')
  })

  it('the worker learns of the cancellation at the next renewal if there is no event stream', async () => {
    const gate = await start()
    gate.network.cut(EVENTS)
    const { definition, begun, stopped } = endless()
    gate.start([definition], { leaseSeconds: 3 })
    const task_id = await gate.ask('job')
    await begun
    await gate.post(`/v1/tasks/${task_id}/cancel`, ALICE)
    expect((await stopped).kind).toBe('canceled')
  })

  it('the worker learns of a cancellation during an interruption when the event stream is back', async () => {
    const gate = await start()
    const cutting = new AbortController()
    gate.network.next(EVENTS, async (go) => {
      const { body, status } = await go()
      return new Response(body?.pipeThrough(new TransformStream(), { signal: cutting.signal }), { status })
    })
    const { definition, begun, stopped } = endless()
    const started = gate.start([definition], { leaseSeconds: 600 })
    const task_id = await gate.ask('job')
    await begun
    expect(started.metrics().event_stream).toBe(true)
    const restore = gate.network.cut(EVENTS)
    cutting.abort()
    await gate.network.until(EVENTS, 2)
    await gate.post(`/v1/tasks/${task_id}/cancel`, ALICE)
    restore()
    expect((await stopped).kind).toBe('canceled')
    expect(gate.network.to(RENEW)).toHaveLength(1)
  })

  it('the worker subscribes only to canceled tasks', async () => {
    const gate = await start()
    gate.start([endless().definition], { workerId: 'a worker & more' })
    const { query } = only(await gate.network.until(EVENTS, 1))
    expect(Object.fromEntries(query)).toEqual({ worker_id: 'a worker & more', status: 'canceled' })
  })

  it('the result of a handler that ignores its signal is discarded', async () => {
    const gate = await start()
    const mayEnd = new Deferred()
    const begun = new Deferred()
    const run = async () => {
      begun.resolve()
      await mayEnd.promise
      return 'too late'
    }
    const started = gate.start([task('job', { run })])
    const task_id = await gate.ask('job')
    await begun.promise
    await gate.post(`/v1/tasks/${task_id}/cancel`, ALICE)
    await eventually(() => started.metrics().leases === 0)
    expect(started.metrics().running, 'it still takes a place').toBe(1)
    mayEnd.resolve()
    await eventually(() => started.metrics().types.job?.canceled === 1)
    expect(gate.network.to(COMPLETE)).toEqual([])
    expect(started.metrics().running).toBe(0)
  })

  it('the cancellation is acknowledged immediately, and reported as stopped when the handler has ended', async () => {
    const gate = await start()
    const mayEnd = new Deferred()
    const begun = new Deferred()
    const run = async () => {
      begun.resolve()
      await mayEnd.promise
    }
    const started = gate.start([task('job', { run })])
    const task_id = await gate.ask('job')
    await begun.promise
    await gate.post(`/v1/tasks/${task_id}/cancel`, { ...ALICE, reason: 'enough' })
    const cancellation = async () => (await look(gate.gate, { task_id })).cancellation
    await eventually(async () => (await cancellation())?.acknowledged_at !== null)
    expect(await cancellation()).toMatchObject({ reason: 'enough', stopped_at: null })
    mayEnd.resolve()
    await eventually(async () => (await cancellation())?.stopped_at !== null)
    expect(gate.network.to(CANCELLATION).map(({ body }) => body.stage)).toEqual(['acknowledged', 'stopped'])
    await started.stop()
  })

  it('a canceled task frees its slot while its stages cannot be reported', async () => {
    const gate = await start()
    gate.network.next(CANCELLATION, () => new Promise(() => {}), Number.POSITIVE_INFINITY)
    const { definition, begun, stopped } = endless()
    const quick = task('quick', { run: () => 'done' })
    const started = gate.start([definition, quick], { concurrency: 1 })
    const task_id = await gate.ask('job')
    await begun
    await gate.post(`/v1/tasks/${task_id}/cancel`, ALICE)
    await stopped
    expect((await gate.end(await gate.ask('quick'))).status).toBe('succeeded')
    expect(started.metrics().types.job?.canceled).toBe(1)
  })

  it('the last stage is reported before the worker has stopped', async () => {
    const gate = await start()
    const sending = new Deferred()
    const mayGo = new Deferred()
    gate.network.next(
      CANCELLATION,
      async (go) => {
        sending.resolve()
        await mayGo.promise
        return go()
      },
      2,
    )
    const { definition, begun } = endless()
    const started = gate.start([definition])
    const task_id = await gate.ask('job')
    await begun
    await gate.post(`/v1/tasks/${task_id}/cancel`, ALICE)
    await sending.promise
    const stopping = started.stop()
    mayGo.resolve()
    await stopping
    expect((await look(gate.gate, { task_id })).cancellation?.stopped_at).not.toBeNull()
  })

  it('a task that is canceled while its result is being sent stays canceled', async () => {
    const gate = await start()
    const sending = new Deferred()
    const mayGo = new Deferred()
    gate.network.cut(EVENTS)
    gate.network.next(COMPLETE, async (go) => {
      sending.resolve()
      await mayGo.promise
      return go()
    })
    const started = gate.start([task('job', { run: () => 'done' })])
    const task_id = await gate.ask('job')
    await sending.promise
    await gate.post(`/v1/tasks/${task_id}/cancel`, ALICE)
    mayGo.resolve()
    await eventually(() => started.metrics().types.job?.canceled === 1)
    expect(await gate.status(task_id)).toBe('canceled')
    const cancellation = async () => (await look(gate.gate, { task_id })).cancellation
    await eventually(async () => (await cancellation())?.stopped_at !== null)
    expect((await cancellation())?.acknowledged_at).not.toBeNull()
  })
})
