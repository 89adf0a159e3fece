import { describe, expect, it } from 'vitest'
import { type TaskContext, task } from '../../src/worker/index.ts'
import { look } from '../support/steps.ts'
import { Deferred, eventually, PROGRESS, workerBench } from './support.ts'

describe('progress', () => {
  const start = workerBench()

  /** A running task and its context. */
  const running = async () => {
    const gate = await start()
    const begun = new Deferred<TaskContext>()
    const mayEnd = new Deferred()
    const run = async (_: unknown, ctx: TaskContext) => {
      begun.resolve(ctx)
      await mayEnd.promise
      return 'done'
    }
    const started = gate.start([task('job', { run })])
    const task_id = await gate.ask('job')
    return { gate, started, task_id, ctx: await begun.promise, end: mayEnd.resolve }
  }
  const reports = (gate: Awaited<ReturnType<typeof start>>) =>
    gate.network.to(PROGRESS).map(({ body }) => body.progress)

  it('the owner sees progress, and the task is running', async () => {
    const { gate, task_id, ctx } = await running()
    ctx.progress({ percent: 30, message: 'fetching', done: 3 })
    await eventually(async () => (await look(gate.gate, { task_id })).progress !== undefined)
    expect(await look(gate.gate, { task_id })).toMatchObject({
      status: 'running',
      progress: { percent: 30, message: 'fetching', done: 3 },
    })
  })

  it('reports are sent one at a time, and the latest replaces those in between', async () => {
    const { gate, task_id, ctx } = await running()
    const mayGo = new Deferred()
    gate.network.next(PROGRESS, async (go) => {
      await mayGo.promise
      return go()
    })
    for (let percent = 0; percent <= 100; percent++) ctx.progress({ percent })
    await gate.network.until(PROGRESS, 1)
    expect(reports(gate)).toEqual([{ percent: 0 }])
    mayGo.resolve()
    await gate.network.until(PROGRESS, 2)
    expect(reports(gate)).toEqual([{ percent: 0 }, { percent: 100 }])
    await eventually(async () => (await look(gate.gate, { task_id })).progress?.percent === 100)
  })

  it('a milestone is never replaced and goes to the inbox of the owner', async () => {
    const { gate, task_id, ctx } = await running()
    const mayGo = new Deferred()
    gate.network.next(PROGRESS, async (go) => {
      await mayGo.promise
      return go()
    })
    ctx.progress({ percent: 0 })
    ctx.progress({ percent: 10 })
    ctx.progress({ message: 'indexed' }, { milestone: true })
    ctx.progress({ percent: 60 })
    ctx.progress({ message: 'checked' }, { milestone: true })
    ctx.progress({ percent: 70 })
    ctx.progress({ percent: 80 })
    await gate.network.until(PROGRESS, 1)
    mayGo.resolve()
    await eventually(async () => (await look(gate.gate, { task_id })).progress?.percent === 80)
    expect(reports(gate)).toEqual([
      { percent: 0 },
      { message: 'indexed' },
      { message: 'checked' },
      { percent: 80 },
    ])
    const { items } = await gate.gate.listInbox({
      tenant: 'default',
      principal: { kind: 'agent', id: 'alice' },
      role: 'agent',
    })
    const about = items.filter((item) => item.task_id === task_id)
    expect(about.map(({ receipt_type }) => receipt_type)).toEqual(['task.progress', 'task.progress'])
  })

  it('a milestone is sent again after an outage', async () => {
    const { gate, task_id, ctx } = await running()
    const restore = gate.network.cut(PROGRESS)
    ctx.progress({ message: 'indexed' }, { milestone: true })
    await gate.network.until(PROGRESS, 1)
    ctx.progress({ percent: 50 })
    restore()
    await eventually(async () => (await look(gate.gate, { task_id })).progress?.percent === 50)
    const sent = gate.network.to(PROGRESS).map(({ body }) => body.milestone)
    expect(sent).toEqual([true, true, undefined])
  })

  it('a stream of reports is throttled', async () => {
    const { gate, ctx } = await running()
    const end = performance.now() + 700
    for (let n = 0; performance.now() < end; n++) {
      ctx.progress({ n })
      await new Promise(setImmediate)
    }
    expect(reports(gate).length).toBeLessThanOrEqual(4)
  })

  it.each([
    ['that is not valid', { percent: 200 }],
    ['that is not JSON', { percent: 1, big: 10n }],
    ['that is not an object', JSON.parse('"half"')],
  ])('a report %s does not throw in the handler', async (_, progress) => {
    const { gate, task_id, ctx, end } = await running()
    expect(ctx.progress(progress)).toBeUndefined()
    ctx.progress({ percent: 50 })
    await eventually(async () => (await look(gate.gate, { task_id })).progress?.percent === 50)
    end()
    expect((await gate.end(task_id)).status).toBe('succeeded')
  })

  it('a report is sent again after an outage', async () => {
    const { gate, task_id, ctx } = await running()
    const restore = gate.network.cut(PROGRESS)
    ctx.progress({ percent: 50 })
    await gate.network.until(PROGRESS, 1)
    restore()
    await eventually(async () => (await look(gate.gate, { task_id })).progress?.percent === 50)
  })

  it('a refused report reveals that the task was canceled', async () => {
    const { gate, task_id, ctx } = await running()
    const mayGo = new Deferred()
    gate.network.next(PROGRESS, async (go) => {
      await mayGo.promise
      return go()
    })
    ctx.progress({ percent: 50 })
    await gate.gate.cancelTask(
      { tenant: 'default', principal: { kind: 'agent', id: 'alice' }, role: 'agent' },
      { task_id },
    )
    mayGo.resolve()
    await eventually(() => ctx.signal.aborted)
    expect(ctx.signal.reason.kind).toBe('canceled')
  })

  it('reports after the end are not sent', async () => {
    const { gate, task_id, ctx, end } = await running()
    ctx.progress({ percent: 10 })
    ctx.progress({ percent: 90 })
    end()
    expect((await gate.end(task_id)).status).toBe('succeeded')
    ctx.progress({ percent: 100 })
    await new Promise((resolve) => setTimeout(resolve, 400))
    expect(reports(gate)).toEqual([{ percent: 10 }])
  })
})
