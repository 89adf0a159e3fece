import { describe, expect, it } from 'vitest'
import { type Hooks, Permanent, RetryAfter, task } from '../../src/worker/index.ts'
import { agent } from '../support/gates.ts'
import { aborted, COMPLETE, Deferred, eventually, workerBench } from './support.ts'

/** Hooks that record their calls, as in `worker onFailure BROKEN willRetry=true`. */
function recording(who: string, calls: string[]): Required<Hooks> {
  return {
    onStart: ({ attempt }) => calls.push(`${who} onStart ${attempt}`),
    onSuccess: ({ result }) => calls.push(`${who} onSuccess ${JSON.stringify(result)}`),
    onFailure: ({ error, willRetry }) => calls.push(`${who} onFailure ${error.code} willRetry=${willRetry}`),
    onCancel: ({ task }) => calls.push(`${who} onCancel ${task.type}`),
  }
}

describe('hooks', () => {
  const start = workerBench()

  it('the hooks of the task, then those of the worker, are called around a run', async () => {
    const gate = await start()
    const calls: string[] = []
    const run = () => {
      calls.push('run')
      return { n: 1 }
    }
    const definition = task('job', { run, ...recording('task', calls) })
    gate.start([definition], { hooks: recording('worker', calls) })
    await gate.end(await gate.ask('job'))
    expect(calls).toEqual([
      'task onStart 0',
      'worker onStart 0',
      'run',
      'task onSuccess {"n":1}',
      'worker onSuccess {"n":1}',
    ])
  })

  it('onFailure distinguishes an attempt that is retried from the last one', async () => {
    const gate = await start()
    const calls: string[] = []
    const hooks = recording('w', calls)
    const flaky = task('flaky', {
      run() {
        throw new RetryAfter(0, 'later', { code: 'LATER' })
      },
    })
    const broken = task('broken', {
      run() {
        throw new Permanent('never', { code: 'NEVER' })
      },
    })
    gate.start([flaky, broken], { hooks })
    await gate.end(await gate.ask('flaky', {}, { max_attempts: 2 }))
    await gate.end(await gate.ask('broken', {}, { max_attempts: 2 }))
    expect(calls.filter((call) => call.includes('onFailure'))).toEqual([
      'w onFailure LATER willRetry=true',
      'w onFailure LATER willRetry=false',
      'w onFailure NEVER willRetry=false',
    ])
  })

  it('a task that cannot be retried before its deadline is reported as failed', async () => {
    const gate = await start()
    const calls: string[] = []
    const late = task('late', {
      run() {
        throw new RetryAfter('1h', 'later', { code: 'LATER' })
      },
    })
    gate.start([late], { hooks: recording('w', calls) })
    const deadline_at = new Date(Date.now() + 600_000).toISOString()
    const { status } = await gate.end(await gate.ask('late', {}, { max_attempts: 5, deadline_at }))
    expect(status).toBe('failed')
    expect(calls).toContain('w onFailure LATER willRetry=false')
  })

  it('onCancel is called when the handler of a canceled task has ended, and no other hook', async () => {
    const gate = await start()
    const calls: string[] = []
    const begun = new Deferred<void>()
    const endless = task('endless', {
      async run(_, ctx) {
        begun.resolve()
        await aborted(ctx.signal)
      },
    })
    gate.start([endless], { hooks: recording('w', calls) })
    const task_id = await gate.ask('endless')
    await begun.promise
    await gate.post(`/v1/tasks/${task_id}/cancel`, { principal_id: 'alice' })
    await eventually(() => calls.length === 2)
    expect(calls).toEqual(['w onStart 0', 'w onCancel endless'])
  })

  it('an error in a hook is in the log of the task and does not change its outcome', async () => {
    const gate = await start()
    const fails = () => {
      throw new Error('the hook is broken')
    }
    const definition = task('job', { run: () => 7, onStart: fails, onSuccess: async () => fails() })
    gate.start([definition])
    const task_id = await gate.ask('job')
    expect(await gate.end(task_id)).toMatchObject({ status: 'succeeded', result: { result: 7 } })
    const { lines } = await gate.gate.listLogs(agent(), { task_id })
    expect(lines.map(({ text, context }) => [text, context])).toEqual([
      ['the hook onStart failed', { error: { name: 'Error', message: 'the hook is broken' } }],
      ['the hook onSuccess failed', { error: { name: 'Error', message: 'the hook is broken' } }],
    ])
  })

  it('onSuccess is called before the result is reported, and again if another run is needed', async () => {
    const gate = await start()
    const results: unknown[] = []
    const definition = task('job', { run: () => 'done', onSuccess: ({ result }) => results.push(result) })
    // The process dies here: its result never reaches the server.
    gate.network.next(COMPLETE, () => new Promise(() => {}))
    const dying = gate.start([definition], { workerId: 'w1', leaseSeconds: 1 })
    const task_id = await gate.ask('job')
    await gate.network.until(COMPLETE, 1)
    expect(results).toEqual(['done'])
    void dying.kill()
    gate.start([definition], { workerId: 'w2' })
    expect((await gate.end(task_id)).status).toBe('succeeded')
    expect(results).toEqual(['done', 'done'])
  })

  it('a hook that is not a function is refused', () => {
    const onStart = JSON.parse('"text"')
    expect(() => task('job', { run: () => 1, onStart })).toThrow('Task "job": onStart must be a function.')
  })
})
