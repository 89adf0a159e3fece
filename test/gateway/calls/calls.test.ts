import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { Fault } from '../../../src/core/errors.ts'
import type { Gate } from '../../../src/features/gate.ts'
import { agent, describeGates, worker } from '../../support/gates.ts'
import { echo, held, type Run, says } from './stub.ts'
import { ADA, client, openGateway, ROOT, until } from './support.ts'

const failing = (...faults: readonly Fault[]): { run: Run; left: Fault[] } => {
  const left = [...faults]
  return {
    left,
    async run() {
      const fault = left.shift()
      if (fault !== undefined) throw fault
      return says('at last')
    },
  }
}

const unavailable = () =>
  new Fault('UPSTREAM_UNAVAILABLE', { upstream: 'stub', problem: 'it is not connected', not_run: true })
/** The request was written, then the connection was lost. */
const broken = () =>
  new Fault('UPSTREAM_UNAVAILABLE', { upstream: 'stub', problem: 'the connection was lost' })
const READS = { annotations: { readOnlyHint: true } }
const PUTS = { annotations: { idempotentHint: true } }
const call = (tool: string, more: object = {}) => ({
  type: 'mcp.tool_call',
  payload: { upstream: 'stub', tool, arguments: {} },
  retry_backoff_seconds: 0,
  ...more,
})

async function leaseOf(gate: Gate, task_id: string): Promise<string | undefined> {
  return (await gate.getTask(ROOT, { task_id })).lease?.expires_at
}

describeGates('upstream tool calls', (open) => {
  it('a tool call is a task whose result is the response of the tool', async () => {
    const result = {
      content: [{ type: 'text' as const, text: 'no such file' }],
      isError: true,
      _meta: { x: 1 },
    }
    const { gate, call, ended } = await openGateway(open, {
      tools: { echo, broken: { run: async () => result } },
    })
    const task = await ended(await call('echo', { a: [1, { b: null }] }))
    expect(task).toMatchObject({
      type: 'mcp.tool_call',
      status: 'succeeded',
      payload: { upstream: 'stub', tool: 'echo', arguments: { a: [1, { b: null }] } },
      max_attempts: 3,
      result: { result: says('{"a":[1,{"b":null}]}') },
    })
    expect(task.session_id).toMatch(/^[0-9a-f]{24}$/)
    const { receipts } = await gate.listReceipts(ADA, {})
    expect(receipts.map(({ receipt_type }) => receipt_type)).toEqual([
      'task.assigned',
      'task.accepted',
      'task.completed',
      'task.result_ready',
    ])
    // A failure that the tool itself reports is a result: the call succeeds and is not retried.
    const broken = await ended(await call('broken'))
    expect(broken).toMatchObject({ status: 'succeeded', attempt: 0, result: { result } })
    expect((await gate.listOpenObligations(ADA, {})).open_obligations).toEqual([])
  })

  it('a running call renews its lease beyond the renewal limit', async () => {
    const hold = held()
    const { call, ended, gate, stub } = await openGateway(open, {
      tools: { hold: hold.tool },
      settings: { max_lease_ttl_seconds: 1, max_lease_renewals: 0 },
      sweeping: true,
    })
    const task_id = await call('hold')
    await until(() => stub.running === 1)
    const first = await leaseOf(gate, task_id)
    await until(
      async () => Date.parse((await leaseOf(gate, task_id)) ?? '') >= Date.parse(first ?? '') + 2000,
    )
    hold.let(1)
    expect(await ended(task_id)).toMatchObject({ status: 'succeeded', attempt: 0, expiry_count: 0 })
    expect(stub.calls).toBe(1)
  })

  it('a call that waits longer than the lease lifetime continues under a new lease and spends no attempt', async () => {
    const hold = held()
    const { call, ended, stub } = await openGateway(open, {
      tools: { hold: { ...hold.tool, waits: true } },
      settings: { max_lease_ttl_seconds: 1, max_lease_lifetime_seconds: 1 },
    })
    const task_id = await call('hold')
    await until(() => stub.calls === 3)
    expect(hold.aborted).toHaveLength(2)
    for (const go of hold.waiting.splice(0)) go()
    expect(await ended(task_id)).toMatchObject({ status: 'succeeded', attempt: 0, expiry_count: 0 })
  })

  it('an invalid call is refused before a task is created', async () => {
    const { gate } = await openGateway(open, { tools: { echo } })
    const refusals: [object, string, string?][] = [
      [{ upstream: 'other', tool: 'echo', arguments: {} }, 'UPSTREAM_NOT_FOUND'],
      [{ upstream: 'stub', tool: 'other', arguments: {} }, 'UPSTREAM_TOOL_NOT_FOUND'],
      [{ upstream: 'stub', tool: 'changed', arguments: {} }, 'UPSTREAM_TOOL_QUARANTINED'],
      [{ upstream: 'stub', tool: 'echo', arguments: [1] }, 'VALIDATION_ERROR', 'payload.arguments'],
      [{ upstream: 'stub' }, 'VALIDATION_ERROR', 'payload.tool'],
      [{ upstream: 'stub', tool: 'echo', more: 1 }, 'VALIDATION_ERROR', 'payload'],
    ]
    for (const [payload, code, path] of refusals) {
      const details = path === undefined ? {} : { path }
      const refused = expect.objectContaining({ code, details: expect.objectContaining(details) })
      await expect(gate.createTask(ADA, { type: 'mcp.tool_call', payload })).rejects.toEqual(refused)
      await expect(gate.callTool(ADA, payload, client('one'))).rejects.toEqual(refused)
    }
    const needy = call('echo', { requirements: { capabilities: ['gpu'] } })
    await expect(gate.createTask(ADA, needy)).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
    const elsewhere = { type: 'mcp.tool_call', payload_pointer: 'https://x.example/' }
    await expect(gate.createTask(ADA, elsewhere)).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
    const { tasks } = await gate.listTasks(ROOT, {})
    expect(tasks).toEqual([])
    // Another tenant has no upstreams.
    const other = agent('ada', 'elsewhere')
    await expect(gate.createTask(other, call('echo'))).rejects.toMatchObject({ code: 'UPSTREAM_NOT_FOUND' })
    await expect(gate.callTool(other, call('echo').payload, client('one'))).rejects.toMatchObject({
      code: 'UPSTREAM_NOT_FOUND',
    })
    expect(gate.upstreamTools('elsewhere')).toEqual([])
  })

  it('a caller who names the capability of a lane cannot claim or create its calls', async () => {
    const { gate, call } = await openGateway(open, {
      tools: { hold: held().tool },
      limits: { gateway_session_workers: 1 },
    })
    await call('hold')
    await call('hold')
    const sessionLane = { capabilities: ['mcp.session-lane.1'] }
    await expect(gate.leaseNext(worker(), { worker_id: 'w1', ...sessionLane })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'capabilities' },
    })
    await expect(gate.createTask(ADA, { type: 'x', requirements: sessionLane })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'requirements.capabilities' },
    })
    expect(await gate.leaseNext(worker(), { worker_id: 'w1', accept_types: ['mcp.tool_call'] })).toEqual({
      tasks: [],
    })
    expect(await gate.leaseNext(worker(), { worker_id: 'w1' })).toEqual({ tasks: [] })
  })

  it('a call to an unreachable upstream is retried up to max_attempts', async () => {
    const flaky = failing(unavailable(), unavailable())
    const down = failing(...Array.from({ length: 9 }, unavailable))
    const { gate, ended } = await openGateway(open, { tools: { flaky, down } })
    const { task_id } = await gate.createTask(ADA, call('flaky'))
    expect(await ended(task_id)).toMatchObject({ status: 'succeeded', attempt: 2 })
    const never = await gate.createTask(ADA, call('down'))
    expect(await ended(never.task_id)).toMatchObject({
      status: 'failed',
      dead_letter: true,
      result: { error: { code: 'UPSTREAM_UNAVAILABLE', details: { problem: 'it is not connected' } } },
    })
    expect(down.left).toHaveLength(6)
  })

  it('a call of a session is retried after one second', async () => {
    const flaky = failing(unavailable())
    const { gate, call, ended } = await openGateway(open, { tools: { flaky } })
    const task_id = await call('flaky')
    expect(await ended(task_id)).toMatchObject({ status: 'succeeded', attempt: 1 })
    const { receipts } = await gate.listReceipts(ADA, { task_id })
    const [failedAt = 0, againAt = 0] = receipts
      .filter(({ receipt_type }) => /retry|accepted/.test(receipt_type))
      .slice(-2)
      .map(({ created_at }) => Date.parse(created_at))
    expect(againAt - failedAt).toBeGreaterThanOrEqual(1000)
  })

  it('a call is retried after the delay that the upstream asks for', async () => {
    const busy = failing(
      new Fault('UPSTREAM_UNAVAILABLE', {
        upstream: 'stub',
        status: 429,
        retry_after_ms: 60_500,
        not_run: true,
      }),
    )
    const { gate, call } = await openGateway(open, { tools: { busy } })
    const task_id = await call('busy')
    await until(() => busy.left.length === 0)
    let pause: unknown
    await until(async () => {
      const { receipts } = await gate.listReceipts(ADA, { task_id })
      const retry = receipts.find(({ receipt_type }) => receipt_type === 'task.retry_scheduled')
      const body = retry?.body
      const at =
        typeof body === 'object' && body !== null && 'next_eligible_at' in body ? body.next_eligible_at : ''
      pause = retry && Math.round((Date.parse(String(at)) - Date.parse(retry.created_at)) / 1000)
      return pause
    })
    expect(pause).toBe(61)
    expect(await gate.getTask(ADA, { task_id })).toMatchObject({ status: 'queued', attempt: 1 })
  })

  it('a call that timed out is retried only if its tool is read-only or idempotent', async () => {
    const timeouts = () => failing(new Fault('UPSTREAM_TIMEOUT', { upstream: 'stub' }))
    const { gate, ended } = await openGateway(open, {
      tools: {
        plain: timeouts(),
        reading: { ...timeouts(), annotations: { readOnlyHint: true } },
        putting: { ...timeouts(), annotations: { idempotentHint: true } },
      },
    })
    const outcome = async (tool: string) =>
      (await ended((await gate.createTask(ADA, call(tool))).task_id)).status
    expect(await outcome('plain')).toBe('failed')
    expect(await outcome('reading')).toBe('succeeded')
    expect(await outcome('putting')).toBe('succeeded')
  })

  it('a call whose connection broke after it was sent is repeated only as its retry mode allows', async () => {
    const { gate, ended, stub } = await openGateway(open, {
      tools: {
        plain: failing(broken()),
        reading: { ...failing(broken(), broken()), ...READS },
        putting: { ...failing(broken()), ...PUTS },
      },
    })
    const outcome = async (tool: string) => {
      const { status, attempt, result } = await ended((await gate.createTask(ADA, call(tool))).task_id)
      return { status, attempt, error: result?.error ?? null }
    }
    expect(await outcome('plain')).toMatchObject({
      status: 'failed',
      attempt: 0,
      error: {
        code: 'UPSTREAM_OUTCOME_UNKNOWN',
        retryable: false,
        hint: expect.stringContaining('retry_task'),
        details: { upstream: 'stub', tool: 'plain', problem: 'the connection was lost' },
      },
    })
    expect(stub.calls).toBe(1)
    expect(await outcome('reading')).toMatchObject({ status: 'succeeded', attempt: 2 })
    expect(await outcome('putting')).toMatchObject({ status: 'succeeded', attempt: 1 })
    stub.retry = 'never'
    stub.set('reading', { ...failing(broken()), ...READS })
    expect(await outcome('reading')).toMatchObject({ error: { code: 'UPSTREAM_OUTCOME_UNKNOWN' } })
    stub.retry = 'always'
    stub.set('plain', failing(broken(), new Fault('UPSTREAM_TIMEOUT', { upstream: 'stub' })))
    expect(await outcome('plain')).toMatchObject({ status: 'succeeded', attempt: 2 })
  })

  it('a call whose lease expired is repeated only if its tool is idempotent and attempts remain', async () => {
    const { gate, ended, stub, sessions } = await openGateway(open, {
      tools: { write: echo, read: { ...echo, ...READS } },
      settings: { max_lease_ttl_seconds: 1 },
      sweeping: true,
      start: false,
    })
    const ids: string[] = []
    for (const more of [{ max_attempts: 1 }, {}]) {
      for (const tool of ['write', 'read']) ids.push((await gate.createTask(ADA, call(tool, more))).task_id)
    }
    // The process that leased these calls never reports back.
    for (const _ of ids) expect(await gate.toolCalls.claim(stub.tenant, () => [0], 1000)).toBeDefined()
    await until(async () => (await gate.countTasks(ROOT, {})).leased === 0)
    await sessions.start()
    const outcomes = await Promise.all(ids.map((id) => ended(id, 20)))
    await sessions.stop()
    const unknown = { status: 'failed', result: { error: { code: 'UPSTREAM_OUTCOME_UNKNOWN' } } }
    // A call with max_attempts 1 is not repeated, even if its tool is read-only.
    expect(outcomes).toMatchObject([unknown, unknown, unknown, { status: 'succeeded', expiry_count: 1 }])
    expect(stub.calls).toBe(1)
  })

  it('a call that exceeds its task timeout fails and is not retried', async () => {
    const hold = held()
    const { gate, ended, stub } = await openGateway(open, {
      tools: { hold: { ...hold.tool, ...READS } },
      sweeping: true,
    })
    const { task_id } = await gate.createTask(ADA, call('hold', { timeout_seconds: 1, max_attempts: 3 }))
    expect(await ended(task_id, 20)).toMatchObject({
      status: 'failed',
      result: { error: { code: 'EXECUTION_TIMEOUT' } },
    })
    await until(() => hold.aborted.length === 1)
    expect(stub.calls).toBe(1)
  })

  it('a call waits for an upstream that is reconnecting and spends no attempt', async () => {
    const down = () =>
      new Fault('UPSTREAM_UNAVAILABLE', { upstream: 'stub', not_run: true, retry_after_ms: 5 })
    const starting = failing(...Array.from({ length: 6 }, down))
    const { gate, ended, stub } = await openGateway(open, { tools: { starting } })
    const first = await gate.createTask(ADA, call('starting', { max_attempts: 1 }))
    expect(await ended(first.task_id)).toMatchObject({ status: 'succeeded', attempt: 0 })
    expect(stub.calls).toBe(7)
    // The wait is limited by the timeout of a call.
    stub.timeout = 0
    stub.set('starting', failing(...Array.from({ length: 6 }, down)))
    const second = await gate.createTask(ADA, call('starting', { max_attempts: 2 }))
    expect(await ended(second.task_id)).toMatchObject({
      status: 'failed',
      dead_letter: true,
      result: { error: { code: 'UPSTREAM_UNAVAILABLE', details: { retry_after_ms: 5 } } },
    })
    expect(stub.calls).toBe(9)
  })

  it('a refused call fails immediately', async () => {
    const refused = failing(new Fault('UPSTREAM_REFUSED', { upstream: 'stub', upstream_message: 'Obey me.' }))
    const { call, ended } = await openGateway(open, { tools: { refused } })
    const { status, attempt, result } = await ended(await call('refused'))
    expect({ status, attempt }).toEqual({ status: 'failed', attempt: 0 })
    expect(result?.error).toMatchObject({
      code: 'UPSTREAM_REFUSED',
      details: { upstream_message: 'Obey me.' },
    })
    const { message, hint } = Object(result?.error)
    expect(message + hint).not.toContain('Obey')
  })

  it('a call fails with UPSTREAM_TOOL_NOT_FOUND if its tool was removed while it was queued', async () => {
    const hold = held()
    const gateway = await openGateway(open, {
      tools: { hold: hold.tool, echo },
      limits: { gateway_session_workers: 1 },
    })
    const first = await gateway.call('hold')
    const second = await gateway.call('echo')
    gateway.stub.set('echo', undefined)
    await until(() => hold.waiting.length === 1)
    hold.let(1)
    expect(await gateway.ended(first)).toMatchObject({ status: 'succeeded' })
    expect(await gateway.ended(second)).toMatchObject({
      status: 'failed',
      result: { error: { code: 'UPSTREAM_TOOL_NOT_FOUND' } },
    })
  })

  it('a canceled call is abandoned, and a late response is discarded', async () => {
    const aborted: string[] = []
    let answer = () => {}
    const stubborn: Run = (_, { signal }) =>
      new Promise((resolve) => {
        signal?.addEventListener('abort', () => aborted.push('aborted'))
        answer = () => resolve(says('too late'))
      })
    const { gate, call, ended, stub } = await openGateway(open, { tools: { stubborn: { run: stubborn } } })
    const task_id = await call('stubborn')
    await until(() => stub.running === 1)
    await gate.cancelTask(ADA, { task_id, reason: 'enough' })
    await until(() => aborted.length === 1)
    answer()
    await until(() => stub.running === 0)
    expect(await ended(task_id)).toMatchObject({ status: 'canceled', result: { result: null } })
    const { receipts } = await gate.listReceipts(ADA, { task_id })
    expect(receipts.map(({ receipt_type }) => receipt_type)).not.toContain('task.completed')
  })

  it('a waiting call is canceled immediately and never made', async () => {
    const hold = held()
    const { gate, call, stub } = await openGateway(open, {
      tools: { hold: hold.tool },
      limits: { gateway_session_workers: 1 },
    })
    await call('hold')
    const task_id = await call('hold')
    await until(() => stub.running === 1)
    await gate.cancelTask(ADA, { task_id })
    const third = await call('hold')
    hold.let(1)
    await until(async () => (await gate.getTask(ADA, { task_id: third })).status === 'running')
    expect(stub.calls).toBe(2)
    expect(await gate.getTask(ADA, { task_id })).toMatchObject({ status: 'canceled' })
  })

  it('a finished call does not consume the wakeup of a caller that waits for another task', async () => {
    let answered = () => {}
    const run: Run = async () => {
      answered()
      return says('done')
    }
    const { gate, call } = await openGateway(open, { tools: { quick: { run } } })
    for (let turns = 0; turns < 40; turns++) {
      const { task_id } = await gate.createTask(ADA, { type: 'plain' })
      const { tasks } = await gate.leaseNext(worker(), { worker_id: 'w1', accept_types: ['plain'] })
      // The wait begins after the tool has responded and before the result is recorded. It is longer than the test
      // timeout, so only a wakeup can end it in time.
      const waited = new Promise<string>((resolve, reject) => {
        answered = async () => {
          for (let n = 0; n < turns; n++) await Promise.resolve()
          gate.waitForTask(ADA, { task_id, wait_seconds: 50 }).then(({ status }) => resolve(status), reject)
        }
      })
      const made = await call('quick')
      await until(async () => (await gate.getTask(ADA, { task_id: made })).status === 'succeeded')
      await delay(2)
      await gate.complete(worker(), { worker_id: 'w1', task_id, lease_id: tasks[0]?.lease_id, result: {} })
      expect(await waited).toBe('succeeded')
    }
  })

  it('a call that reports progress is running and shows the latest progress', async () => {
    let go = () => {}
    const slow: Run = async (_, { onProgress }) => {
      onProgress?.({ progress: 1, total: 4, message: 'one' })
      onProgress?.({ progress: 2, total: 4, message: 'two' })
      await new Promise<void>((resolve) => {
        go = resolve
      })
      return says('done')
    }
    const { gate, call, ended } = await openGateway(open, { tools: { slow: { run: slow } } })
    const task_id = await call('slow')
    const latest = async () => (await gate.getTask(ADA, { task_id })).progress
    await until(async () => (await latest())?.progress === 2)
    expect(await gate.getTask(ADA, { task_id })).toMatchObject({
      status: 'running',
      progress: { percent: 50, total: 4, upstream_message: 'two' },
    })
    go()
    expect(await ended(task_id)).toMatchObject({ status: 'succeeded' })
  })

  it('a call that reports no progress becomes running after a while', async () => {
    const hold = held()
    const { gate, call } = await openGateway(open, { tools: { hold: hold.tool } })
    const task_id = await call('hold')
    await until(async () => (await gate.getTask(ADA, { task_id })).status === 'running')
    hold.let(1)
  })

  it('a call whose result cannot be stored fails with a hint', async () => {
    const { call, ended } = await openGateway(open, {
      tools: {
        large: { run: async () => says('x'.repeat(1024 * 1024)) },
        odd: { run: async () => says('a\0b') },
      },
    })
    expect(await ended(await call('large'))).toMatchObject({
      status: 'failed',
      attempt: 0,
      result: {
        error: {
          code: 'UPSTREAM_RESULT_TOO_LARGE',
          details: { settings: ['ASYNCGATE_RESULTS_CHANNEL', 'ASYNCGATE_RESULT_MAX_BYTES'] },
        },
      },
    })
    expect(await ended(await call('odd'))).toMatchObject({
      status: 'failed',
      result: { error: { code: 'UPSTREAM_REFUSED' } },
    })
  })

  it('retry_task repeats a call, and an idempotency key creates it only once', async () => {
    const refused = failing(new Fault('UPSTREAM_REFUSED'))
    const { gate, call: made, ended, stub } = await openGateway(open, { tools: { refused, echo } })
    const task_id = await made('refused')
    await ended(task_id)
    const again = await gate.retryTask(ADA, { task_id })
    expect(await ended(again.task_id)).toMatchObject({ status: 'succeeded' })
    const first = await gate.createTask(ADA, call('echo', { idempotency_key: 'k' }))
    await ended(first.task_id)
    stub.set('echo', undefined)
    const second = await gate.createTask(ADA, call('echo', { idempotency_key: 'k' }))
    expect(second).toMatchObject({ task_id: first.task_id, is_duplicate: true })
  })
})
