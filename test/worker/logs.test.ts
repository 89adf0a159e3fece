import { afterEach, describe, expect, it, vi } from 'vitest'
import { jsonLogger, type Logger, type TaskContext, task } from '../../src/worker/index.ts'
import { eventually, workerBench } from './support.ts'

type Line = Readonly<Record<string, unknown>>

function collect() {
  const lines: Line[] = []
  const write = (level: string) => (fields: object, msg: string) => {
    lines.push({ level, msg, ...fields })
  }
  const logger: Logger = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  }
  return { lines, logger }
}

describe('the worker log', () => {
  const start = workerBench()
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it('each line about a task has the ids of the task', async () => {
    const gate = await start()
    const { lines, logger } = collect()
    const run = (_: unknown, { log }: TaskContext) => {
      log.info('half way', { percent: 50, task_id: 'mine' })
      throw Object.assign(new Error('no luck'), { code: 'E1', cause: new Error('why') })
    }
    const started = gate.start([task('job', { run })], { logger })
    const task_id = await gate.ask('job', {}, { max_attempts: 1 })
    await eventually(() => started.metrics().types.job?.failed === 1)
    const ids = {
      worker_id: 'w1',
      task_id,
      lease_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      attempt: 0,
      type: 'job',
    }
    const about = lines.filter((line) => line.task_id !== undefined)
    expect(about).toEqual([
      { level: 'info', msg: 'half way', percent: 50, ...ids },
      {
        level: 'warn',
        msg: 'the handler failed',
        retryable: true,
        error: {
          name: 'Error',
          message: 'no luck',
          code: 'E1',
          stack: expect.stringContaining('logs.test.ts'),
          cause: { name: 'Error', message: 'why', stack: expect.any(String) },
        },
        ...ids,
      },
      { level: 'debug', msg: 'the task has ended', end: 'failed', ...ids },
    ])
    expect(lines[0]).toEqual({
      level: 'info',
      msg: 'the worker has started',
      types: ['job'],
      concurrency: 1,
      worker_id: 'w1',
    })
  })

  it('the default is JSON lines without debug lines', async () => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => {})
    const gate = await start()
    const run = (_: unknown, { log }: TaskContext) => log.warn('look here')
    const started = gate.start([task('job', { run })], { logger: jsonLogger() })
    const task_id = await gate.ask('job')
    await gate.end(task_id)
    await started.kill()
    const lines = written.mock.calls.map(([line]): Line => JSON.parse(String(line)))
    expect(lines.map((line) => line.msg)).toEqual([
      'the worker has started',
      'look here',
      'the worker is stopping',
      'the worker has stopped',
    ])
    expect(lines[1]).toMatchObject({ level: 'warn', task_id, time: expect.stringMatching(/^\d{4}-.*Z$/) })
  })

  it('a logger that throws does not affect the worker', async () => {
    const gate = await start()
    const fail = () => {
      throw new Error('the disk is full')
    }
    const logger: Logger = { debug: fail, info: fail, warn: fail, error: fail }
    const run = (_: unknown, { log }: TaskContext) => log.info('look here')
    gate.start([task('job', { run })], { logger })
    expect((await gate.end(await gate.ask('job'))).status).toBe('succeeded')
  })
})

describe('worker metrics', () => {
  const start = workerBench()

  it('metrics count the work by type', async () => {
    const gate = await start()
    const run = (n: unknown) => {
      if (n === 2) throw new Error('no luck')
    }
    const started = gate.start([task('job', { run }), task('odd "\\\n one', { run })], { concurrency: 5 })
    for (const n of [1, 2, 3]) await gate.end(await gate.ask('job', n, { max_attempts: 1 }))
    await eventually(() => started.metrics().leases === 0)
    expect(started.metrics()).toMatchObject({
      worker_id: 'w1',
      concurrency: 5,
      running: 0,
      claimed: 3,
      claim_errors: 0,
      event_stream: true,
      types: { job: { completed: 2, failed: 1, retried: 0, released: 0, parked: 0, canceled: 0, lost: 0 } },
    })
    expect(started.metrics().types.job?.seconds).toBeGreaterThan(0)
    const text = started.metricsText()
    expect(text).toContain('# TYPE asyncgate_worker_tasks_total counter\n')
    expect(text).toContain('\nasyncgate_worker_tasks_total{type="job",end="completed"} 2\n')
    expect(text).toContain('{type="odd \\"\\\\\\n one",end="completed"} 0\n')
    expect(text).toContain('\nasyncgate_worker_concurrency 5\n')
    // One line per metric, as the Prometheus text format requires.
    const metric = /^asyncgate_worker_[a-z_]+(\{([a-z]+="(\\.|[^"\\])*",?)+\})? [\d.e+-]+$/
    for (const line of text.trimEnd().split('\n')) expect(line).toMatch(line.startsWith('#') ? /^# / : metric)
  })
})
