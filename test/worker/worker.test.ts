import type { StandardSchemaV1 } from '@standard-schema/spec'
import { describe, expect, expectTypeOf, it } from 'vitest'
import * as z from 'zod'
import {
  FatalError,
  Permanent,
  RetryAfter,
  RetryableError,
  type StandardSchema,
  type TaskContext,
  type TaskDefinition,
  task,
  worker,
} from '../../src/worker/index.ts'
import { worker as workerCaller } from '../support/gates.ts'
import { askMany, look, only, receiptsOf } from '../support/steps.ts'
import { CLAIM, COMPLETE, Deferred, eventually, FAIL, itemsOf, type Network, workerBench } from './support.ts'

const double = task('double', {
  input: z.object({ n: z.coerce.number() }),
  output: z.object({ twice: z.number() }),
  run: ({ n }) => ({ twice: 2 * n }),
})

describe('the worker', () => {
  const start = workerBench()

  it('the worker executes tasks of its types only', async () => {
    const gate = await start()
    gate.start([double])
    const other = await gate.ask('other', { n: 1 })
    const done = await gate.end(await gate.ask('double', { n: '21' }))
    expect(done).toMatchObject({ status: 'succeeded', result: { result: { twice: 42 } } })
    expect(await gate.status(other)).toBe('queued')
  })

  it('a completion contains an artifact, so that no obligation remains', async () => {
    const gate = await start()
    gate.start([double])
    const task_id = await gate.ask('double', { n: 1 })
    expect((await gate.end(task_id)).result?.artifacts).toEqual([
      { type: 'inline', url: `inline://task/${task_id}/result` },
    ])
    const owed = await gate.get('/v1/obligations/open', { principal_id: 'alice' })
    expect(owed.body.open_obligations).toEqual([])
  })

  it('a handler gets its context and nothing else', async () => {
    const gate = await start()
    const seen = new Deferred<TaskContext>()
    gate.start([task('job', { run: (_, ctx) => seen.resolve(ctx) })])
    const task_id = await gate.ask('job', { a: 1 }, { summary: 'a job', priority: 3 })
    const ctx = await seen.promise
    expect(Object.keys(ctx).sort()).toEqual([
      'approval',
      'ask',
      'attempt',
      'extend',
      'fence',
      'idempotencyKey',
      'log',
      'progress',
      'signal',
      'task',
    ])
    expect(ctx).toMatchObject({ attempt: 0, fence: 1, idempotencyKey: task_id })
    expect(ctx.task).toMatchObject({
      task_id,
      type: 'job',
      summary: 'a job',
      priority: 3,
      payload: { a: 1 },
    })
    expect(ctx.signal.aborted).toBe(false)
  })

  it('a handler without a return value has the result null', async () => {
    const gate = await start()
    gate.start([task('job', { run() {} })])
    expect((await gate.end(await gate.ask('job'))).result).toMatchObject({
      outcome: 'succeeded',
      result: null,
    })
  })

  it('a payload that does not match its schema fails the task permanently, with the path', async () => {
    const gate = await start()
    const run = () => ({ ok: true })
    const input = z.object({ user: z.object({ emails: z.array(z.email()) }) })
    gate.start([task('mail', { input, run })])
    const failed = await gate.end(await gate.ask('mail', { user: { emails: ['a@b.example', 'nobody'] } }))
    expect(failed).toMatchObject({
      status: 'failed',
      attempt: 0,
      result: {
        error: {
          code: 'INVALID_INPUT',
          message: 'payload.user.emails.1: Invalid email address',
          details: { path: 'user.emails.1', problems: [{ path: 'user.emails.1' }] },
        },
      },
    })
  })

  it('a result that does not match its schema fails the task permanently', async () => {
    const gate = await start()
    const output = z.object({ text: z.string() })
    const wrong: { text: string } = JSON.parse('{"text":1}')
    gate.start([task('job', { output, run: () => wrong })])
    expect(await gate.end(await gate.ask('job'))).toMatchObject({
      status: 'failed',
      attempt: 0,
      result: { error: { code: 'INVALID_OUTPUT', details: { path: 'text' } } },
    })
  })

  it('a result that is not JSON or that the server refuses fails the task permanently', async () => {
    const gate = await start({ settings: { max_payload_bytes: 1000 } })
    const loop: unknown[] = []
    loop.push(loop)
    const values: Record<string, unknown> = {
      loop,
      big: 10n,
      long: 'x'.repeat(2000),
      odd: 'a lone \ud800 surrogate',
      huge: 2 ** 60,
    }
    const run = (name: unknown) => values[String(name)]
    gate.start([task('job', { run })], { concurrency: 5 })
    const codes = Object.keys(values).map(async (name) => {
      const { status, result } = await gate.end(await gate.ask('job', name))
      return [name, status, result?.error]
    })
    expect(await Promise.all(codes)).toMatchObject([
      ['loop', 'failed', { code: 'INVALID_OUTPUT' }],
      ['big', 'failed', { code: 'INVALID_OUTPUT' }],
      ['long', 'failed', { code: 'RESULT_REFUSED', details: { code: 'PAYLOAD_TOO_LARGE' } }],
      ['odd', 'failed', { code: 'RESULT_REFUSED', details: { code: 'VALIDATION_ERROR' } }],
      ['huge', 'failed', { code: 'RESULT_REFUSED', details: { code: 'VALIDATION_ERROR' } }],
    ])
  })

  it('a refused result does not affect others in the same request', async () => {
    const gate = await start()
    const all = new Deferred()
    let running = 0
    const run = async (n: unknown) => {
      if (++running === 20) all.resolve()
      await all.promise
      return n
    }
    const refusal = { code: 'VALIDATION_ERROR', message: 'No.', retryable: false }
    const refuse: Parameters<Network['next']>[1] = async (go, { body }) => {
      const isSpoiled = itemsOf([{ body }]).some((item) => item.result === 7)
      return isSpoiled ? Response.json(refusal, { status: 400 }) : go()
    }
    gate.network.next(COMPLETE, refuse, Number.POSITIVE_INFINITY)
    gate.start([task('job', { run })], { concurrency: 20 })
    const ids = await Promise.all(Array.from({ length: 20 }, (_, n) => gate.ask('job', n)))
    const ends = await Promise.all(ids.map((id) => gate.end(id)))
    expect(ends.map((end) => end.status)).toEqual(ends.map((_, n) => (n === 7 ? 'failed' : 'succeeded')))
  })

  it('an error of the handler is retried by the retry policy of the task', async () => {
    const gate = await start()
    const attempts: number[] = []
    const run = (_: unknown, ctx: TaskContext) => {
      attempts.push(ctx.attempt)
      if (ctx.attempt === 0) throw Object.assign(new Error('the line is down'), { code: 'ECONNRESET' })
      return 'done'
    }
    gate.start([task('job', { run })])
    const task_id = await gate.ask('job', {}, { retry_backoff_seconds: 0, max_attempts: 3 })
    expect(await gate.end(task_id)).toMatchObject({ status: 'succeeded', attempt: 1 })
    expect(attempts).toEqual([0, 1])
    const retry = only(
      (await receiptsOf(gate.gate, { task_id })).filter((r) => r.receipt_type === 'task.retry_scheduled'),
    )
    expect(retry.body).toMatchObject({
      error: { code: 'ECONNRESET', name: 'Error', message: 'the line is down' },
    })
    expect(JSON.stringify(retry.body)).not.toContain('.ts:')
  })

  it('a Permanent error is not retried and is reported with its details', async () => {
    const gate = await start()
    const details = { url: 'https://x.example' }
    const run = () => {
      throw new Permanent('no such page', { code: 'NO_SUCH_PAGE', details })
    }
    gate.start([task('job', { run })])
    const error = { code: 'NO_SUCH_PAGE', name: 'Permanent', message: 'no such page', details }
    expect(await gate.end(await gate.ask('job', {}, { max_attempts: 5 }))).toMatchObject({
      status: 'failed',
      attempt: 0,
      result: { error },
    })
  })

  it.each([
    ['60s', 60],
    [1500, 2],
    ['2m', 120],
  ] as const)('a task is retried after the time that the handler asks for: %s', async (after, seconds) => {
    const gate = await start()
    const run = () => {
      throw new RetryAfter(after)
    }
    gate.start([task('job', { run })])
    const task_id = await gate.ask('job')
    const { body } = only(await gate.network.until(FAIL, 1))
    expect(body).toMatchObject({ retryable: true, retry_after_seconds: seconds })
    await eventually(async () => (await look(gate.gate, { task_id })).attempt === 1)
    const { next_eligible_at, updated_at } = await look(gate.gate, { task_id })
    expect(Date.parse(next_eligible_at ?? '') - Date.parse(updated_at)).toBe(seconds * 1000)
  })

  it.each([
    ['a text', 'just a text'],
    ['nothing', undefined],
    [
      'an error that is too large for the server',
      Object.assign(new Error('x'.repeat(1e5)), { details: 'y'.repeat(1e5) }),
    ],
    ['an error whose details the server refuses', new Permanent('odd', { details: { 'a\0': '\ud800' } })],
  ])('the worker survives a handler that throws %s', async (_, thrown) => {
    const gate = await start()
    const run = () => {
      throw thrown
    }
    gate.start([task('job', { run })])
    expect((await gate.end(await gate.ask('job', {}, { max_attempts: 1 }))).status).toBe('failed')
  })

  it('the worker runs no more concurrent handlers than its concurrency allows', async () => {
    const gate = await start()
    const all = new Deferred()
    let running = 0
    let most = 0
    const run = async () => {
      most = Math.max(most, ++running)
      await all.promise
      running--
    }
    const started = gate.start([task('job', { run })], { concurrency: 3 })
    const ids = await Promise.all(Array.from({ length: 8 }, () => gate.ask('job')))
    await eventually(() => running === 3)
    expect(started.metrics()).toMatchObject({ running: 3, leases: 3, concurrency: 3 })
    all.resolve()
    for (const id of ids) expect((await gate.end(id)).status).toBe('succeeded')
    expect(most).toBe(3)
  })

  it('the worker claims and completes many tasks in one request each', async () => {
    const gate = await start()
    const ids = await Promise.all(Array.from({ length: 100 }, (_, n) => gate.ask('double', { n })))
    gate.start([double], { concurrency: 100 })
    for (const id of ids) expect((await gate.end(id)).status).toBe('succeeded')
    expect(gate.network.to(CLAIM)[0]?.body).toMatchObject({ max_tasks: 100 })
    expect(itemsOf(gate.network.to(COMPLETE))).toHaveLength(100)
    expect(gate.network.to(COMPLETE).length).toBeLessThan(5)
  })

  it('handlers that end together are followed by one claim', async () => {
    const gate = await start()
    await askMany(gate.gate, 180, { type: 'quick' })
    let runs = 0
    const run = async () => {
      // In the same event loop turn, but one after the other.
      for (let n = (runs++ % 9) * 10; n > 0; n--) await null
    }
    const started = gate.start([task('quick', { run })], { concurrency: 9 })
    await eventually(() => started.metrics().types.quick?.completed === 180)
    // 20, plus some for overlapping responses.
    expect(gate.network.to(CLAIM).length).toBeLessThan(30)
    expect(gate.network.to(COMPLETE).length).toBeLessThan(30)
  })

  it('a claim contains the capabilities and the wait', async () => {
    const gate = await start()
    gate.start([double], { capabilities: ['gpu'], leaseSeconds: 45, pollSeconds: 7, workerId: 'w7' })
    expect(only(await gate.network.until(CLAIM, 1)).body).toEqual({
      worker_id: 'w7',
      worker_instance_id: expect.any(String),
      accept_types: ['double'],
      capabilities: ['gpu'],
      lease_ttl_seconds: 45,
      max_tasks: 1,
      wait_seconds: 7,
    })
    const task_id = await gate.ask('double', { n: 1 }, { requirements: { capabilities: ['gpu'] } })
    expect((await gate.end(task_id)).status).toBe('succeeded')
  })

  it('reclaim takes over the leases of an earlier process', async () => {
    const gate = await start()
    const ids = await askMany(gate.gate, 3, { type: 'double', payload: { n: 2 } })
    const before = workerCaller('w7')
    await gate.gate.leaseNext(before, { worker_id: 'w7', max_tasks: 3 })
    gate.start([double], { workerId: 'w7', reclaim: true, concurrency: 2, pollSeconds: 1 })
    for (const id of ids) expect(await gate.end(id)).toMatchObject({ status: 'succeeded', attempt: 0 })
    const claims = await gate.network.until(CLAIM, 3)
    expect(claims[0]?.body.reclaim).toBe(true)
    await eventually(() => gate.network.to(CLAIM).at(-1)?.body.reclaim === undefined)
  })

  it('reclaim requires a worker id', () => {
    expect(() => worker({ url: 'http://localhost', tasks: [double], reclaim: true })).toThrow(/workerId/)
  })

  it('run rejects immediately when the server refuses the first claim', async () => {
    const { url } = await start({ auth: { api_key: 'the-right-key', allow_insecure_dev: false } })
    const refused = worker({ url, key: 'a-wrong-key', tasks: [double], logger: false, signals: false })
    await expect(refused.run()).rejects.toMatchObject({ code: 'UNAUTHENTICATED', status: 401 })
  })

  it('the worker authenticates with its key', async () => {
    const key = 'the-right-key'
    const gate = await start({ auth: { api_key: key, allow_insecure_dev: false } })
    gate.start([double], { key })
    const authorization = `Bearer ${key}`
    const created = await gate.post(
      '/v1/tasks',
      { type: 'double', principal_id: 'alice', payload: { n: 4 } },
      { authorization },
    )
    expect(await gate.end(String(created.body.task_id))).toMatchObject({ result: { result: { twice: 8 } } })
  })
})

describe('worker options', () => {
  const url = 'http://127.0.0.1:9'
  const tasks = [double]

  it.each([
    ['tasks', { tasks: [] }],
    ['tasks', { tasks: [double, double] }],
    ['concurrency', { concurrency: 0 }],
    ['concurrency', { concurrency: 1.5 }],
    ['pollSeconds', { pollSeconds: 51 }],
    ['leaseSeconds', { leaseSeconds: 0 }],
    ['stopSeconds', { stopSeconds: -1 }],
    ['killSeconds', { killSeconds: Number.NaN }],
    ['workerId', { workerId: '' }],
    ['results', { tasks: [task('job', { channel: 'file', run() {} })] }],
  ])('the option %s is validated', (name, options) => {
    expect(() => worker({ url, tasks, ...options })).toThrow(
      new RegExp(`worker\\(\\{ ${name} \\}\\): must be`),
    )
  })

  it('the URL is validated', () => {
    expect(() => worker({ url: 'nonsense', tasks })).toThrow(/"nonsense" is not the URL/)
  })

  it('the default worker id is random', () => {
    expect(worker({ url, tasks }).id).toMatch(/^worker\.[0-9a-f]{12}$/)
    expect(worker({ url, tasks }).id).not.toBe(worker({ url, tasks }).id)
  })
})

describe('task definitions', () => {
  it('a task definition is validated', () => {
    expect(() => task('', { run() {} })).toThrow('The name of a task must have 1 to 255 characters.')
    expect(() => task('job', { leaseSeconds: 0.5, run() {} })).toThrow('leaseSeconds must be an integer')
    expect(() => task('job', JSON.parse('{}'))).toThrow('Task "job" has no function "run".')
    expect(() => task('job', { ...JSON.parse('{"input":{}}'), run() {} })).toThrow(
      'input is not a Standard Schema',
    )
  })

  it('a task definition infers the types of its schemas', () => {
    const input = z.object({ n: z.string().transform(Number) })
    const output = z.object({ text: z.string().default('') })
    const definition = task('job', {
      input,
      output,
      run(given, ctx) {
        expectTypeOf(given).toEqualTypeOf<{ n: number }>()
        expectTypeOf(ctx).toEqualTypeOf<TaskContext>()
        return {}
      },
    })
    expectTypeOf(definition).toEqualTypeOf<TaskDefinition<{ n: string }, { text: string }>>()
    // @ts-expect-error: n is a number
    task('job', { input, run: ({ n }) => n.toUpperCase() })
    // @ts-expect-error: text is missing
    task('job', { output: z.object({ text: z.string() }), run: () => ({ tex: '' }) })
  })

  it('a task definition accepts any Standard Schema', () => {
    expectTypeOf<StandardSchemaV1<string, number>>().toExtend<StandardSchema<string, number>>()
  })
})

describe('handler errors', () => {
  it('the errors have the names that other workers use', () => {
    expect(FatalError).toBe(Permanent)
    expect(new RetryAfter('60s')).toBeInstanceOf(RetryableError)
    expect(new RetryAfter('60s')).toMatchObject({ afterMs: 60_000, message: 'Try again after 60s.' })
    expect(new RetryableError('reset').afterMs).toBeUndefined()
    expect(new RetryableError('busy', { after: '1.5s' }).afterMs).toBe(1500)
  })

  it.each(['soon', '10', '-1s', '1w', Number.NaN, -1])('the duration %s is refused', (after) => {
    expect(() => new RetryAfter(JSON.parse(JSON.stringify({ after })).after ?? Number.NaN)).toThrow(
      'is not a duration',
    )
  })
})
