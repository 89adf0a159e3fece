import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Permanent, type TaskContext, task, worker } from '../../src/worker/index.ts'
import { look, receiptTypes } from '../support/steps.ts'
import {
  aborted,
  CLAIM,
  COMPLETE,
  Deferred,
  eventually,
  itemsOf,
  PROGRESS,
  RELEASE,
  RENEW,
  workerBench,
} from './support.ts'

const RELEASED_RECEIPTS = ['task.assigned', 'task.accepted', 'lease.released']

/** Handlers that end when the test says so, or when their signal is aborted. */
function gated() {
  const begun = new Deferred<TaskContext>()
  const mayEnd = new Deferred()
  const run = async (_: unknown, ctx: TaskContext) => {
    begun.resolve(ctx)
    await Promise.race([mayEnd.promise, aborted(ctx.signal)])
    return 'done'
  }
  return { definition: task('job', { run }), begun: begun.promise, end: mayEnd.resolve }
}

describe('stopping a worker', () => {
  const start = workerBench()

  it('stop lets handlers finish, reports their results and claims nothing more', async () => {
    const gate = await start()
    const { definition, begun, end } = gated()
    const started = gate.start([definition], { concurrency: 2 })
    const task_id = await gate.ask('job')
    const { signal } = await begun
    let isStopped = false
    const stopped = started.stop().then(() => {
      isStopped = true
    })
    await delay(300)
    const later = await gate.ask('job')
    const claims = gate.network.to(CLAIM).length
    expect(isStopped).toBe(false)
    expect(signal.aborted).toBe(false)
    end()
    await stopped
    expect(await gate.status(task_id)).toBe('succeeded')
    expect(await gate.status(later)).toBe('queued')
    expect(gate.network.to(CLAIM)).toHaveLength(claims)
  })

  it('stop ends an idle worker, which cannot run again', async () => {
    const gate = await start()
    const started = gate.start([gated().definition])
    await gate.network.until(CLAIM, 1)
    await started.stop()
    expect(() => started.run()).toThrow('A worker runs only once.')
  })

  it('the signal of run stops the worker', async () => {
    const gate = await start()
    const { definition, begun, end } = gated()
    const started = gate.worker([definition])
    const stopping = new AbortController()
    const ended = started.run({ signal: stopping.signal })
    const task_id = await gate.ask('job')
    await begun
    stopping.abort()
    end()
    await ended
    expect(await gate.status(task_id)).toBe('succeeded')
    const never = gate.worker([definition])
    await never.run({ signal: AbortSignal.abort() })
    expect(never.metrics().claims).toBe(0)
  })

  it('stop aborts handlers that run too long and releases their tasks without using up an attempt', async () => {
    const gate = await start()
    const { definition, begun } = gated()
    const started = gate.start([definition], { stopSeconds: 0.1 })
    const task_id = await gate.ask('job')
    const { signal } = await begun
    await started.stop()
    expect(signal.reason).toMatchObject({ name: 'TaskAborted', kind: 'shutdown' })
    expect(await receiptTypes(gate.gate, { task_id })).toEqual(RELEASED_RECEIPTS)
    expect(await look(gate.gate, { task_id })).toMatchObject({
      status: 'queued',
      attempt: 0,
      expiry_count: 0,
    })
    expect(started.metrics().types.job).toMatchObject({ released: 1, lost: 0 })
  })

  it('a handler that returns after its signal was aborted completes its task', async () => {
    const gate = await start()
    const run = async (_: unknown, { signal }: TaskContext) => {
      await aborted(signal).catch(() => {})
      return 'just so'
    }
    const started = gate.start([task('job', { run })], { stopSeconds: 0 })
    const task_id = await gate.ask('job')
    await eventually(() => started.metrics().running === 1)
    await started.stop()
    expect(await look(gate.gate, { task_id })).toMatchObject({
      status: 'succeeded',
      result: { result: 'just so' },
    })
  })

  it('a permanent failure after the abort fails the task', async () => {
    const gate = await start()
    const run = async (_: unknown, { signal }: TaskContext) => {
      await aborted(signal).catch(() => {})
      throw new Permanent('it cannot be done')
    }
    const started = gate.start([task('job', { run })], { stopSeconds: 0 })
    const task_id = await gate.ask('job')
    await eventually(() => started.metrics().running === 1)
    await started.stop()
    expect(await gate.status(task_id)).toBe('failed')
  })

  it('stop releases the tasks of handlers that ignore their signal', async () => {
    const gate = await start()
    const mayEnd = new Deferred()
    const ended = new Deferred()
    const run = async () => {
      await mayEnd.promise
      ended.resolve()
      return 'too late'
    }
    const tasks = [task('job', { run })]
    const started = gate.start(tasks, { stopSeconds: 0, killSeconds: 0.4, concurrency: 3 })
    const ids = await Promise.all(Array.from({ length: 3 }, () => gate.ask('job')))
    await eventually(() => started.metrics().running === 3)
    await started.stop()
    for (const task_id of ids) {
      expect(await receiptTypes(gate.gate, { task_id })).toEqual(RELEASED_RECEIPTS)
      expect(await look(gate.gate, { task_id })).toMatchObject({ status: 'queued', attempt: 0 })
    }
    mayEnd.resolve()
    await ended.promise
    await delay(50)
    expect(gate.network.to(COMPLETE)).toEqual([])
    expect(started.metrics().types.job).toMatchObject({ released: 3, lost: 0, completed: 0 })
  })

  it('leases are renewed while handlers finish', async () => {
    const gate = await start()
    const { definition, begun, end } = gated()
    const started = gate.start([definition], { leaseSeconds: 1 })
    const task_id = await gate.ask('job')
    await begun
    const stopped = started.stop()
    await gate.network.until(RENEW, 4)
    end()
    await stopped
    expect(await look(gate.gate, { task_id })).toMatchObject({ status: 'succeeded', expiry_count: 0 })
  })

  it('stop ends within its limits while the server is unreachable', async () => {
    const gate = await start()
    const { definition, begun } = gated()
    const started = gate.start([definition], { stopSeconds: 0, killSeconds: 0.4, leaseSeconds: 2 })
    const task_id = await gate.ask('job')
    await begun
    gate.network.cut()
    await started.stop()
    // The task could not be released, so it is requeued when its lease expires.
    await eventually(async () => (await look(gate.gate, { task_id })).expiry_count === 1)
    expect(await look(gate.gate, { task_id })).toMatchObject({ attempt: 0 })
  })

  it('stop releases the tasks of a claim that was pending', async () => {
    const gate = await start()
    const asking = new Deferred()
    const mayGo = new Deferred()
    gate.network.next(CLAIM, async (go) => {
      asking.resolve()
      await mayGo.promise
      return go()
    })
    let runs = 0
    const run = () => {
      runs++
    }
    const started = gate.start([task('job', { run })])
    await asking.promise
    const task_id = await gate.ask('job')
    const stopped = started.stop()
    mayGo.resolve()
    await stopped
    expect(runs).toBe(0)
    expect(gate.network.to(RELEASE)).toHaveLength(1)
    expect(await receiptTypes(gate.gate, { task_id })).toEqual(RELEASED_RECEIPTS)
  })

  it('kill releases all tasks without waiting for handlers', async () => {
    const gate = await start()
    const never = new Deferred()
    const seen = new Deferred<TaskContext>()
    const run = (_: unknown, ctx: TaskContext) => {
      seen.resolve(ctx)
      return never.promise
    }
    const started = gate.start([task('job', { run })], { stopSeconds: 1000, killSeconds: 1000 })
    const task_id = await gate.ask('job')
    const { signal } = await seen.promise
    // Also while the worker is already stopping.
    const stopped = started.stop()
    await started.kill()
    await stopped
    expect(signal.reason.kind).toBe('shutdown')
    expect(await look(gate.gate, { task_id })).toMatchObject({
      status: 'queued',
      attempt: 0,
      expiry_count: 0,
    })
  })

  it('drain in the response to a claim stops the worker, which releases the claimed tasks', async () => {
    const gate = await start()
    gate.network.add(CLAIM, { drain: true })
    const task_id = await gate.ask('job')
    await gate.worker([gated().definition]).run()
    expect(gate.network.to(CLAIM)).toHaveLength(1)
    expect(await receiptTypes(gate.gate, { task_id })).toEqual(RELEASED_RECEIPTS)
  })

  it.each([
    ['a renewal', RENEW],
    ['progress', PROGRESS],
  ])('drain in the response to %s stops the worker', async (_, path) => {
    const gate = await start()
    const begun = new Deferred()
    const mayEnd = new Deferred()
    const run = async (_: unknown, ctx: TaskContext) => {
      begun.resolve()
      ctx.progress({ percent: 1 })
      await mayEnd.promise
      return 'done'
    }
    gate.network.add(path, { drain: true })
    const started = gate.worker([task('job', { run })], { leaseSeconds: 2 })
    const task_id = await gate.ask('job')
    const ended = started.run()
    await begun.promise
    await gate.network.until(path, 1)
    mayEnd.resolve()
    await ended
    expect(await gate.status(task_id)).toBe('succeeded')
  })

  it('draining stops an idle and a busy worker', async () => {
    const gate = await start()
    const { definition, begun, end } = gated()
    const idle = gate.worker([definition], { workerId: 'idle' })
    const idling = idle.run()
    await eventually(async () => (await gate.gate.stats()).waiting_claims === 1)
    expect((await gate.post('/v1/workers/idle/drain')).status).toBe(200)
    await idling

    const busy = gate.worker([definition], { workerId: 'busy', leaseSeconds: 2 })
    const working = busy.run()
    const task_id = await gate.ask('job')
    await begun
    expect((await gate.post('/v1/workers/busy/drain')).status).toBe(200)
    await gate.network.until(RENEW, 1)
    end()
    await working
    expect(await gate.status(task_id)).toBe('succeeded')
    expect(busy.metrics().claimed).toBe(1)
  })

  it('the server forgets a stopped worker with a generated name only', async () => {
    const gate = await start()
    const nameless = worker({ url: gate.url, tasks: [gated().definition], logger: false, signals: false })
    const known = async () => {
      const { body } = await gate.get('/v1/workers')
      return JSON.stringify(body)
    }
    const running = nameless.run()
    const named = gate.start([gated().definition], { workerId: 'named' })
    await eventually(async () => (await known()).includes(nameless.id) && (await known()).includes('named'))
    await Promise.all([nameless.stop(), named.stop(), running])
    expect(await known()).not.toContain(nameless.id)
    expect(await known()).toContain('named')
  })

  it('drain in the result for one lease stops the worker', async () => {
    const gate = await start()
    gate.network.next(RENEW, async (go) => {
      const { results } = JSON.parse(await (await go()).text())
      return Response.json({ results: results.map((result: object) => ({ ...result, drain: true })) })
    })
    const { definition, begun, end } = gated()
    const started = gate.worker([definition], { leaseSeconds: 2 })
    const task_id = await gate.ask('job')
    const ended = started.run()
    await begun
    expect(itemsOf(await gate.network.until(RENEW, 1))).toHaveLength(1)
    end()
    await ended
    expect(await gate.status(task_id)).toBe('succeeded')
  })
})
