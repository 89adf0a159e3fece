import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { TaskFailed } from '../../src/client/index.ts'
import { type TestGate, type TestGateOptions, testGate } from '../../src/testing/index.ts'
import { Permanent, RetryAfter, task } from '../../src/worker/index.ts'

const open: TestGate[] = []

async function start(options?: TestGateOptions): Promise<TestGate> {
  const t = await testGate(options)
  open.push(t)
  return t
}

afterEach(async () => {
  for (const t of open.splice(0)) await t.close()
})

const double = task('double', {
  input: z.object({ n: z.number() }),
  output: z.object({ n: z.number() }),
  run: ({ n }) => ({ n: n * 2 }),
})

/** Fails n times, then returns the number of attempts. */
function flaky(failures: number) {
  const seen: number[] = []
  const definition = task('flaky', {
    run(_, ctx) {
      seen.push(ctx.attempt)
      if (seen.length <= failures) throw new Error(`failure ${seen.length}`)
      return seen.length
    },
  })
  return { definition, seen }
}

describe('options of tasks', () => {
  it('the options of a task apply to the tasks that the test creates', async () => {
    const seen: number[] = []
    const busy = task('busy', {
      retry: { attempts: 3, backoff: { initial: '10s', factor: 3 }, except: ['E_FATAL'] },
      timeout: '5m',
      priority: 4,
      labels: { team: 'search' },
      retentionDays: 7,
      idempotencyKey: 'order_id',
      run(_, ctx) {
        seen.push(ctx.attempt)
        if (ctx.attempt < 2) throw new Error('busy')
        return ctx.attempt
      },
    })
    const t = await start({ tasks: [busy] })
    const before = t.now().getTime()
    expect(await t.run(busy, { order_id: 7 })).toBe(2)
    expect(seen).toEqual([0, 1, 2])
    expect(t.now().getTime() - before).toBe(40_000)
    const { id } = await t.client.submit(busy, { order_id: 7 })
    expect(await t.client.getTask({ task_id: id })).toMatchObject({
      status: 'succeeded',
      timeout_seconds: 300,
      priority: 4,
      labels: { team: 'search' },
      retention_days: 7,
      idempotency_key: 'busy:7',
    })
  })

  it('an invalid option is refused where the task is defined', () => {
    const run = () => 1
    expect(() => task('t', { retry: { attempts: 0 }, run })).toThrow('Task "t": retry.attempts must be')
    expect(() => task('t', { retry: { jitter: 2 }, run })).toThrow(
      'retry.jitter must be a number from 0 to 1',
    )
    // @ts-expect-error: not a duration
    expect(() => task('t', { timeout: 'soon', run })).toThrow('is not a duration')
  })
})

describe('run', () => {
  it('run returns the typed result of the task', async () => {
    const t = await start()
    const { n } = await t.run(double, { n: 21 })
    expect(n).toBe(42)
    expect(await t.run(double, { n: 1 })).toEqual({ n: 2 })
  })

  it('run throws if the task fails', async () => {
    const t = await start()
    const refuse = task('refuse', {
      run() {
        throw new Permanent('not like this', { code: 'NO' })
      },
    })
    const error: unknown = await t.run(refuse).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(TaskFailed)
    expect(error).toMatchObject({ task: { status: 'failed', attempt: 0, result: { error: { code: 'NO' } } } })
    // @ts-expect-error the schema says that it is a number
    await expect(t.run(double, { n: 'many' })).rejects.toThrow(TaskFailed)
  })

  it('run skips the delays between attempts', async () => {
    const t = await start()
    const { definition, seen } = flaky(2)
    const before = t.now().getTime()
    await expect(t.run(definition, null, { max_attempts: 3, retry_backoff_seconds: 60 })).resolves.toBe(3)
    expect(seen).toEqual([0, 1, 2])
    expect(t.now().getTime() - before).toBe(180_000)
  })

  it('run can be called concurrently', async () => {
    const t = await start()
    const { definition } = flaky(1)
    const both = Promise.all([t.run(double, { n: 1 }), t.run(definition), t.run(double, { n: 2 })])
    await expect(both).resolves.toEqual([{ n: 2 }, 2, { n: 4 }])
  })

  it('run rejects if no worker can run the task', async () => {
    const t = await start()
    const options = { requirements: { capabilities: ['gpu'] } }
    await expect(t.run(double, { n: 1 }, options)).rejects.toThrow('no worker can run it')
    const able = await start({ capabilities: ['gpu'] })
    await expect(able.run(double, { n: 1 }, options)).resolves.toEqual({ n: 2 })
  })
})

describe('drain and advance', () => {
  it('each attempt of a task runs at its time', async () => {
    const { definition, seen } = flaky(2)
    const t = await start({ tasks: [definition] })
    const { id } = await t.client.submit('flaky', null, { max_attempts: 3, retry_backoff_seconds: 30 })
    expect(seen).toEqual([])
    await t.drain()
    await t.drain()
    expect(seen).toEqual([0])
    await t.advance('29s')
    await t.drain()
    expect(seen).toEqual([0])
    await t.advance(1000)
    await t.drain()
    expect(seen).toEqual([0, 1])
    await t.advance('1m')
    await t.drain()
    expect(await t.waitFor(id, 'succeeded')).toMatchObject({ attempt: 2, result: { result: 3 } })
  })

  it('the delay of RetryAfter is respected', async () => {
    const t = await start()
    const later = task('later', {
      run(_, ctx) {
        if (ctx.attempt === 0) throw new RetryAfter('1h')
        return 'done'
      },
    })
    const before = t.now().getTime()
    expect(await t.run(later)).toBe('done')
    expect(t.now().getTime() - before).toBe(3_600_000)
  })

  it('drain runs all ready tasks, including those that tasks create', async () => {
    const done: unknown[] = []
    let client: TestGate['client'] | undefined
    const part = task('part', { run: (payload) => void done.push(payload) })
    const whole = task('whole', {
      async run() {
        for (let n = 0; n < 30; n++) await client?.submit('part', n)
      },
    })
    const t = await start({ tasks: [whole, part] })
    client = t.client
    await t.client.submit('whole')
    await t.drain()
    expect(done.toSorted((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 30 }, (_, n) => n))
  })

  it('drain skips tasks that are not registered or need more capabilities', async () => {
    const t = await start({ tasks: [double] })
    const other = await t.client.submit('other')
    const gpu = await t.client.submit('double', { n: 1 }, { requirements: { capabilities: ['gpu'] } })
    const mine = await t.client.submit('double', { n: 1 })
    await t.drain()
    await t.waitFor(mine.id, 'succeeded')
    await t.waitFor(other.id, 'queued')
    await t.waitFor(gpu.id, 'queued')
  })

  it('a delay ends at its time', async () => {
    const t = await start({ tasks: [double] })
    const { id } = await t.client.submit('double', { n: 1 }, { delay_seconds: 600 })
    await t.advance('9m')
    await t.drain()
    await t.waitFor(id, 'queued')
    await t.advance('1m')
    await t.drain()
    await t.waitFor(id, 'succeeded')
  })

  it('a lease expires at its time, and the task can be leased again', async () => {
    const t = await start({ tasks: [double] })
    const { id } = await t.client.submit('double', { n: 1 })
    const { tasks } = await t.client.leaseNext({ worker_id: 'dead', lease_ttl_seconds: 60 })
    expect(tasks).toHaveLength(1)
    await t.advance('59s')
    await t.waitFor(id, 'leased')
    // An expired lease is released within 5 s, so all of this fits into the next hour.
    await t.advance('1h')
    expect(await t.waitFor(id, 'queued')).toMatchObject({ expiry_count: 1, attempt: 0 })
    await t.drain()
    await t.waitFor(id, 'succeeded')
  })

  it('a timeout ends the task at its time', async () => {
    const t = await start()
    const { id } = await t.client.submit('slow', null, { timeout_seconds: 90, max_attempts: 1 })
    await t.client.leaseNext({ worker_id: 'w1', lease_ttl_seconds: 600 })
    await t.advance('2m')
    const { result } = await t.waitFor(id, 'failed')
    expect(result?.completed_at).toBe('2026-01-01T00:01:30.000Z')
  })

  it('drain ends when its task is canceled', async () => {
    let begun = () => {}
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve
    })
    const endless = task('endless', {
      run: (_, ctx) =>
        new Promise((_, reject) => {
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
          begun()
        }),
    })
    const t = await start({ tasks: [endless] })
    const submitted = await t.client.submit('endless')
    const drained = t.drain()
    await hasBegun
    await submitted.cancel()
    await drained
    await t.waitFor(submitted.id, 'canceled')
  })

  it('an invalid duration is refused', async () => {
    const t = await start()
    await expect(t.advance(-1)).rejects.toThrow('not a duration')
    await expect(t.advance(JSON.parse('"soon"'))).rejects.toThrow('not a duration')
  })
})

describe('waitFor', () => {
  it('waitFor waits for a change', async () => {
    const t = await start({ tasks: [double] })
    const { id } = await t.client.submit('double', { n: 1 })
    const waited = t.waitFor(id, 'succeeded')
    await t.drain()
    expect((await waited).result?.result).toEqual({ n: 2 })
  })

  it('waitFor reports the actual status', async () => {
    const t = await start()
    const submitted = await t.client.submit('job')
    await expect(t.waitFor(submitted.id, 'succeeded', { timeoutMs: 10 })).rejects.toThrow(
      /is queued after 10 ms, not succeeded/,
    )
    await submitted.cancel()
    await expect(t.waitFor(submitted.id, 'succeeded')).rejects.toThrow(/is canceled, not succeeded/)
  })
})

describe('test gates', () => {
  it('a test gate is isolated from other gates and from the environment', async () => {
    process.env.ASYNCGATE_DEFAULT_MAX_ATTEMPTS = '7'
    try {
      const [a, b] = [await start(), await start({ settings: { default_max_attempts: 5 } })]
      await a.client.submit('job')
      expect((await a.client.listTasks()).tasks.map((one) => one.max_attempts)).toEqual([2])
      expect((await b.client.listTasks()).tasks).toEqual([])
      await b.client.submit('job')
      expect((await b.client.listTasks()).tasks.map((one) => one.max_attempts)).toEqual([5])
    } finally {
      delete process.env.ASYNCGATE_DEFAULT_MAX_ATTEMPTS
    }
  })

  it('unknown and invalid settings are refused', async () => {
    await expect(start({ settings: { default_max_attemps: 5 } })).rejects.toThrow('DEFAULT_MAX_ATTEMPTS')
    await expect(start({ settings: { default_max_attempts: 'many' } })).rejects.toThrow('many')
    await expect(start({ start: new Date('never') })).rejects.toThrow('start is not a valid date')
  })

  it("agents do not see each other's tasks", async () => {
    const t = await start()
    await t.as('bob').submit('job')
    expect((await t.client.listTasks()).tasks).toEqual([])
    expect((await t.as('bob').listTasks()).tasks).toHaveLength(1)
  })

  it('the clock starts at the given time and does not advance by itself', async () => {
    const t = await start({ start: new Date('2030-05-05T12:00:00Z') })
    const { id } = await t.client.submit('job')
    expect((await t.client.getTask({ task_id: id })).created_at).toBe('2030-05-05T12:00:00.000Z')
    expect(t.now()).toEqual(new Date('2030-05-05T12:00:00Z'))
  })

  it('close works while a task is running', async () => {
    let begun = () => {}
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve
    })
    const deaf = task('deaf', {
      run() {
        begun()
        return new Promise<never>(() => {})
      },
    })
    const t = await testGate({ tasks: [deaf] })
    await t.client.submit('deaf')
    const drained = t.drain()
    await hasBegun
    await t.close()
    await drained
  })

  it('a test gate is disposed at the end of its block', async () => {
    let url = ''
    {
      await using t = await testGate()
      url = t.url
      expect((await fetch(`${url}/v1/health`)).status).toBe(200)
    }
    await expect(fetch(`${url}/v1/health`)).rejects.toThrow()
  })
})
