import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import type { TaskEvent } from '../../../src/engine/events.ts'
import { AskedCalls } from '../../../src/gateway/calls/asked-calls.ts'
import { CallMaker } from '../../../src/gateway/calls/make-call.ts'
import { describeGates } from '../../support/gates.ts'
import { echo, held, type Run, says } from './stub.ts'
import { ADA, anotherGateway, BOB, client, type Gateway, openGateway, ROOT, until } from './support.ts'

const NOTHING = { sessions: 0, lanes: 0, calls: 0, making: 0, permits: 0, due: 0, stopping: 0, asked: 0 }
const calls = (gateway: Gateway, count: number, tool = 'hold', from = 'one', by = ADA) =>
  Promise.all(Array.from({ length: count }, () => gateway.call(tool, {}, { from, by })))
const statusOf = async ({ gate }: Gateway, task_id: string) => (await gate.getTask(ROOT, { task_id })).status

/** Makes calls without slots. */
function makerOf({ gate, stub, store: { entries } }: Gateway): CallMaker {
  const common = { gate, tenant: stub.tenant, report() {} }
  return new CallMaker({
    ...common,
    caller: gate.toolCalls.caller('default'),
    upstreams: stub,
    asked: new AskedCalls({ ...common, entries, shared: false, look() {} }),
    questionMs: 1000,
    elsewhere() {},
    isLive: () => false,
  })
}

describeGates('gateway sessions', (open, storeName) => {
  it('each session makes at most its number of concurrent calls', async () => {
    const hold = held()
    const gateway = await openGateway(open, { tools: { hold: hold.tool } })
    const { gate, stub } = gateway
    let leased = 0
    let most = 0
    const leasedTasks = new Set<string>()
    gate.onTask(({ task_id, status }: TaskEvent) => {
      if (status === 'leased' || status === 'running') leasedTasks.add(task_id)
      else leasedTasks.delete(task_id)
      leased = leasedTasks.size
      most = Math.max(most, leased)
    })
    const mine = await calls(gateway, 10)
    await until(() => stub.running === 3)
    for (let left = 10; left > 0; left -= 1) {
      await until(() => hold.waiting.length === Math.min(3, left))
      hold.let(1)
    }
    for (const task of mine) expect(await gateway.ended(task)).toMatchObject({ status: 'succeeded' })
    expect({ most, running: stub.most }).toEqual({ most: 3, running: 3 })
    await Promise.all([
      calls(gateway, 5),
      calls(gateway, 5, 'hold', 'two'),
      calls(gateway, 5, 'hold', 'one', BOB),
    ])
    await until(() => stub.running === 9)
    expect((await gate.listSessions(ROOT, {})).sessions).toHaveLength(3)
    expect((await gate.listSessions(BOB, {})).sessions).toMatchObject([
      {
        principal: 'agent:bob',
        client: { name: 'test', version: '1' },
        state: 'live',
        workers: 3,
        queue: 10_000,
        running: 3,
        waiting: 2,
        calls: 5,
      },
    ])
  })

  it('5,000 calls of one agent do not delay the first call of another', async () => {
    const order: string[] = []
    const gateway = await openGateway(open, {
      tools: {
        note: {
          run: async ({ by }) => {
            order.push(String(by))
            await new Promise((resolve) => setImmediate(resolve))
            return { content: [] }
          },
        },
      },
    })
    const many = Array.from({ length: 5000 }, () => gateway.call('note', { by: 'ada' }))
    await Promise.all(many)
    const before = order.length
    const first = await gateway.call('note', { by: 'bob' }, { by: BOB, from: 'two' })
    await gateway.ended(first)
    expect(order.indexOf('bob') - before).toBeLessThan(100)
    expect(before).toBeLessThan(4900)
    await gateway.gate.endSession(ADA, { session_id: (await sessionOf(gateway, ADA)) ?? '', mode: 'cancel' })
  }, 60_000)

  it('owners of calls without a session take turns', async () => {
    const hold = held()
    const order: string[] = []
    const gateway = await openGateway(open, {
      tools: {
        hold: hold.tool,
        note: {
          run: async ({ by }) => {
            order.push(String(by))
            return { content: [] }
          },
        },
      },
      limits: { gateway_common_workers: 1 },
    })
    const create = (by: typeof ADA, tool: string) =>
      gateway.gate.createTask(by, {
        type: 'mcp.tool_call',
        payload: { upstream: 'stub', tool, arguments: { by: by.principal.id } },
      })
    await create(ADA, 'hold')
    await until(() => hold.waiting.length === 1)
    for (let i = 0; i < 50; i++) await create(ADA, 'note')
    const { task_id } = await create(BOB, 'note')
    hold.let(1)
    await gateway.ended(task_id)
    expect(order.indexOf('bob')).toBeLessThan(3)
  })

  it('an admin sets the limits of a session, and they survive a reconnect', async () => {
    const hold = held()
    const gateway = await openGateway(open, { tools: { hold: hold.tool } })
    const { gate, stub } = gateway
    await calls(gateway, 8)
    await until(() => stub.running === 3)
    const session_id = (await sessionOf(gateway, ADA)) ?? ''
    await expect(gate.setSession(ADA, { session_id, workers: 5 })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await gate.setSession(ROOT, { session_id, workers: 5, queue: 9 })).toMatchObject({
      workers: 5,
      queue: 9,
    })
    await until(() => stub.running === 5)
    await gateway.call('hold')
    await expect(gateway.call('hold')).rejects.toMatchObject({
      code: 'SESSION_LIMIT_EXCEEDED',
      retryable: true,
      details: { setting: 'ASYNCGATE_GATEWAY_SESSION_QUEUE', limit: 9, session_id },
    })
    hold.let(1)
    await until(() => gateway.call('hold').catch(() => false))
    await gate.endSession(ADA, { session_id, mode: 'cancel' })
    await gateway.call('hold')
    expect(await gate.getSession(ADA, { session_id })).toMatchObject({
      workers: 5,
      queue: 9,
      calls: 1,
      counts: { succeeded: 1, canceled: 9, more: false },
    })
    expect(await gate.setSession(ROOT, { session_id, workers: null })).toMatchObject({ workers: 3, queue: 9 })
    await expect(gate.setSession(ROOT, { session_id: 'none', workers: 1 })).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    })
  })

  it('the number of sessions is limited, and an idle session makes room for a new one', async () => {
    const hold = held()
    const gateway = await openGateway(open, {
      tools: { hold: hold.tool, echo },
      limits: { gateway_sessions: 2 },
    })
    await gateway.call('hold', {}, { from: 'one' })
    await gateway.ended(await gateway.call('echo', {}, { from: 'two' }))
    await until(() => gateway.sessions.counts.calls === 1)
    await gateway.call('hold', {}, { from: 'three' })
    await expect(gateway.call('echo', {}, { from: 'four' })).rejects.toMatchObject({
      code: 'SESSION_LIMIT_EXCEEDED',
      details: { setting: 'ASYNCGATE_GATEWAY_SESSIONS', limit: 2 },
    })
  })

  it('sessions take turns at the permits for all calls', async () => {
    const hold = held()
    const gateway = await openGateway(open, { tools: { hold: hold.tool }, limits: { gateway_workers: 2 } })
    await calls(gateway, 4, 'hold', 'one')
    const last = await gateway.call('hold', {}, { from: 'two' })
    await until(() => gateway.stub.running === 2)
    expect(gateway.sessions.counts.permits).toBe(2)
    hold.let(2)
    await until(async () => (await statusOf(gateway, last)) !== 'queued')
    await until(() => hold.waiting.length === 2)
    expect(gateway.stub.most).toBe(2)
  })

  it('ending a session either leaves its calls to the orphaned-call worker or cancels them', async () => {
    const hold = held()
    const gateway = await openGateway(open, {
      tools: { hold: hold.tool },
      limits: { gateway_session_workers: 1, gateway_common_workers: 2 },
    })
    const { gate, stub } = gateway
    const [first = '', second = '', third = ''] = await calls(gateway, 3)
    await until(() => stub.running === 1)
    const session_id = (await sessionOf(gateway, ADA)) ?? ''
    await expect(gate.endSession(BOB, { session_id })).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    expect(await gate.endSession(ADA, { session_id, mode: 'run' })).toEqual({
      session_id,
      ended: true,
      canceled: 0,
    })
    // One call still runs in the session's slot, the others in the orphaned-call worker.
    await until(() => stub.running === 3)
    hold.let(3)
    for (const task of [first, second, third]) {
      expect(await gateway.ended(task)).toMatchObject({ status: 'succeeded' })
    }
    const more = await calls(gateway, 3)
    await until(() => stub.running === 1)
    expect(await gate.endSession(ADA, { session_id, mode: 'cancel' })).toMatchObject({
      ended: true,
      canceled: 3,
    })
    for (const task of more) expect(await gateway.ended(task)).toMatchObject({ status: 'canceled' })
    await until(() => hold.aborted.length === 1)
    expect(stub.calls).toBe(4)
    await until(() => gateway.sessions.counts.stopping === 0)
    expect(gateway.sessions.counts).toEqual(NOTHING)
    await expect(gate.endSession(ADA, { session_id })).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })

  it('a session whose client leaves ends as configured, and calls that wait for approval remain', async () => {
    const hold = held()
    const gateway = await openGateway(open, {
      tools: { hold: hold.tool, send: echo },
      limits: { gateway_session_end: 'cancel', gateway_session_grace_seconds: 0, gateway_session_workers: 1 },
    })
    const { gate } = gateway
    await gate.putPolicy(ROOT, { id: 'ask', action: 'REQUIRE_APPROVAL', scope: { tool: 'send' } })
    const [running = '', queued = ''] = await calls(gateway, 2)
    const asked = await gateway.call('send')
    await until(() => gateway.stub.running === 1)
    await gate.clientLeft('default', 'another')
    await gate.clientLeft('default', 'one', 'agent:bob')
    expect(gateway.sessions.counts.sessions).toBe(1)
    await gate.clientLeft('default', 'one')
    for (const task of [running, queued])
      expect(await gateway.ended(task)).toMatchObject({ status: 'canceled' })
    await until(() => gateway.sessions.counts.sessions === 0)
    expect(await statusOf(gateway, asked)).toBe('pending_approval')
    // The approval comes hours after the client has left.
    await gate.approve(ROOT, { task_id: asked })
    expect(await gateway.ended(asked)).toMatchObject({ status: 'succeeded' })
  })

  it('a session whose client returns within the grace period keeps its calls', async () => {
    const hold = held()
    const gateway = await openGateway(open, {
      tools: { hold: hold.tool },
      limits: { gateway_session_end: 'cancel', gateway_session_grace_seconds: 3600 },
    })
    const first = await gateway.call('hold')
    await gateway.gate.clientLeft('default', 'one')
    expect((await gateway.gate.listSessions(ADA, {})).sessions).toMatchObject([{ state: 'ending' }])
    await gateway.call('hold')
    expect((await gateway.gate.listSessions(ADA, {})).sessions).toMatchObject([{ state: 'live', calls: 2 }])
    await until(() => hold.waiting.length === 2)
    hold.let(2)
    expect(await gateway.ended(first)).toMatchObject({ status: 'succeeded' })
  })

  it('calls that are approved during a session run in the slots of that session', async () => {
    const hold = held()
    const gateway = await openGateway(open, { tools: { hold: hold.tool } })
    await gateway.gate.putPolicy(ROOT, { id: 'ask', action: 'REQUIRE_APPROVAL', scope: { tool: 'hold' } })
    const asked = await calls(gateway, 5)
    for (const task_id of asked) await gateway.gate.approve(ROOT, { task_id })
    await until(() => gateway.stub.running === 3)
    expect((await gateway.gate.listSessions(ADA, {})).sessions).toMatchObject([{ running: 3, waiting: 2 }])
    expect(gateway.stub.most).toBe(3)
  })

  it('calls stay in the store when the gate stops, and another gate makes those that may be repeated', async () => {
    const hold = held()
    const reading = { annotations: { readOnlyHint: true } }
    const gateway = await openGateway(open, {
      tools: { read: { ...hold.tool, ...reading }, write: hold.tool, wait: { ...hold.tool, waits: true } },
    })
    const [read = '', write = '', unsent = '', queued = ''] = [
      await gateway.call('read'),
      await gateway.call('write'),
      await gateway.call('wait'),
      await gateway.call('write'),
    ]
    await until(() => gateway.stub.running === 3)
    await gateway.gate.close()
    expect(hold.aborted).toHaveLength(3)
    const after = await anotherGateway(gateway, {
      tools: { read: { ...echo, ...reading }, write: echo, wait: echo },
    })
    // The lease of an unsent call was released, and no attempt was spent.
    for (const task of [unsent, queued]) {
      expect(await after.ended(task)).toMatchObject({ status: 'succeeded', attempt: 0 })
    }
    expect(await after.ended(read)).toMatchObject({ status: 'succeeded', attempt: 1 })
    expect(await after.ended(write)).toMatchObject({
      status: 'failed',
      result: {
        error: { code: 'UPSTREAM_OUTCOME_UNKNOWN', details: { problem: expect.stringContaining('stopped') } },
      },
    })
    expect(after.stub.calls).toBe(3)
  })

  it('a result that arrives while the gate aborts its calls is stored', async () => {
    let answer = () => {}
    const run: Run = (_, { signal }) =>
      new Promise((resolve) => {
        answer = () => resolve(says('done'))
        signal?.addEventListener('abort', answer)
      })
    const gateway = await openGateway(open, { tools: { late: { run } } })
    const task_id = await gateway.call('late')
    await until(() => gateway.stub.running === 1)
    await gateway.gate.close()
    const after = await anotherGateway(gateway, { tools: { late: echo } })
    expect(await after.ended(task_id)).toMatchObject({
      status: 'succeeded',
      result: { result: says('done') },
    })
    expect(after.stub.calls).toBe(0)
  })

  it('a call that is claimed too late to be made is released', async () => {
    const gateway = await openGateway(open, { tools: { echo }, start: false })
    const { gate, stub } = gateway
    const payload = { upstream: 'stub', tool: 'echo', arguments: {} }
    const { task_id } = await gate.createTask(ADA, { type: 'mcp.tool_call', payload })
    const maker = makerOf(gateway)
    maker.stop()
    const granted = await gate.toolCalls.claim(stub.tenant, () => [0], 60_000)
    if (granted === undefined) throw new Error('nothing was granted')
    await maker.make(granted)
    expect(await gate.getTask(ADA, { task_id })).toMatchObject({ status: 'queued', attempt: 0 })
    expect(stub.calls).toBe(0)
  })

  it('a call that cannot be parsed fails immediately', async () => {
    const gateway = await openGateway(open, { tools: { echo }, start: false })
    const { gate, stub, ended } = gateway
    const payload = { upstream: 'stub', tool: 'echo', arguments: {} }
    const { task_id } = await gate.createTask(ADA, { type: 'mcp.tool_call', payload })
    const granted = await gate.toolCalls.claim(stub.tenant, () => [0], 60_000)
    if (granted === undefined) throw new Error('nothing was granted')
    await makerOf(gateway).make({ ...granted, offer: { ...granted.offer, payload: { upstream: 1 } } })
    expect(await ended(task_id, 0)).toMatchObject({
      status: 'failed',
      result: { error: { code: 'VALIDATION_ERROR' } },
    })
  })

  it.skipIf(storeName === 'postgres')(
    'the calls of a crashed process are taken over immediately by the next one',
    async () => {
      const tools = { read: { ...echo, annotations: { readOnlyHint: true } }, write: echo }
      const gateway = await openGateway(open, { tools, start: false, settings: { instance_id: 'before' } })
      const { gate, stub } = gateway
      const create = async (tool: string, max_attempts: number) => {
        const payload = { upstream: 'stub', tool, arguments: {} }
        return (await gate.createTask(ADA, { type: 'mcp.tool_call', payload, max_attempts })).task_id
      }
      const [again, once, write] = [
        await create('read', 2),
        await create('read', 1),
        await create('write', 9),
      ]
      // The process that leased these calls never reports back.
      for (const _ of [1, 2, 3]) {
        expect(await gate.toolCalls.claim(stub.tenant, () => [0], 60_000)).toBeDefined()
      }
      await gate.close()
      const after = await anotherGateway(gateway, { tools, settings: { instance_id: 'after' } })
      expect(await after.ended(again)).toMatchObject({ status: 'succeeded', expiry_count: 1 })
      const unknown = { status: 'failed', result: { error: { code: 'UPSTREAM_OUTCOME_UNKNOWN' } } }
      // A call with max_attempts 1 is not repeated.
      expect(await after.ended(once)).toMatchObject(unknown)
      expect(await after.ended(write)).toMatchObject(unknown)
      expect(after.stub.calls).toBe(1)
    },
  )

  it('the approved arguments are used instead of the requested ones', async () => {
    const gateway = await openGateway(open, { tools: { echo } })
    await gateway.gate.putPolicy(ROOT, { id: 'ask', action: 'REQUIRE_APPROVAL', scope: { tool: 'echo' } })
    const task_id = await gateway.call('echo', { to: 'everybody' })
    const payload = { upstream: 'stub', tool: 'echo', arguments: { to: 'one' } }
    await gateway.gate.approve(ROOT, { task_id, payload })
    expect(await gateway.ended(task_id)).toMatchObject({
      result: { result: { content: [{ text: '{"to":"one"}' }] } },
    })
  })

  it('a hundred sessions leave no state behind', async () => {
    const gateway = await openGateway(open, { tools: { echo }, limits: { gateway_sessions: 200 } })
    const round = async () => {
      const from = Array.from({ length: 100 }, (_, i) => `client ${i}`)
      const made = await Promise.all(from.map((instance) => gateway.call('echo', {}, { from: instance })))
      for (const task of made) await gateway.ended(task)
      await until(() => gateway.sessions.counts.calls === 0)
      expect(gateway.sessions.counts).toMatchObject({ sessions: 100, lanes: 100, making: 0, permits: 0 })
      for (const instance of from) await gateway.gate.clientLeft('default', instance)
      await until(() => gateway.sessions.counts.stopping === 0)
      expect(gateway.sessions.counts).toEqual(NOTHING)
    }
    await round()
    const before = used()
    for (let i = 0; i < 5; i++) await round()
    // Retained state of 500 sessions would exceed this limit.
    expect(used() - before).toBeLessThan(8 * 1024 * 1024)
  }, 60_000)

  it('an idle session ends', async () => {
    const gateway = await openGateway(open, { tools: { echo }, limits: { gateway_session_idle_seconds: 1 } })
    await gateway.ended(await gateway.call('echo'))
    expect(gateway.sessions.counts.sessions).toBe(1)
    await until(() => gateway.sessions.counts.sessions === 0)
    expect(gateway.sessions.counts).toEqual(NOTHING)
  }, 20_000)

  it.skipIf(storeName === 'sqlite')(
    'sessions of other servers are listed, and their lanes are not used',
    async () => {
      const hold = held()
      const gateway = await openGateway(open, {
        tools: { hold: hold.tool },
        settings: { instance_id: 'here' },
        limits: { gateway_session_workers: 1 },
      })
      await calls(gateway, 3)
      await until(() => gateway.stub.running === 1)
      await gateway.sessions.publishNow()
      const other = await anotherGateway(gateway, {
        tools: { hold: echo },
        settings: { instance_id: 'there' },
      })
      const { sessions } = await other.gate.listSessions(ADA, {})
      expect(sessions).toMatchObject([{ instance: 'here', running: 1, waiting: 2 }])
      const common = await other.gate.createTask(BOB, {
        type: 'mcp.tool_call',
        payload: { upstream: 'stub', tool: 'hold' },
      })
      await other.ended(common.task_id)
      expect(other.stub.calls).toBe(1)
      expect(gateway.stub.calls).toBe(1)
      const [session] = sessions
      const ended = { session_id: session?.session_id, mode: 'cancel' }
      expect(await other.gate.endSession(ADA, ended)).toMatchObject({ ended: true, canceled: 3 })
      expect(gateway.sessions.counts).toMatchObject({ sessions: 0, lanes: 0, calls: 0 })
      expect((await other.gate.listSessions(ADA, {})).sessions).toEqual([])
      await until(() => hold.aborted.length === 1)
      await expect(other.gate.endSession(ADA, ended)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    },
  )

  it.skipIf(storeName === 'sqlite')(
    'a session of another server can be ended, and its remaining calls are made',
    async () => {
      const hold = held()
      const gateway = await openGateway(open, {
        tools: { hold: hold.tool },
        settings: { instance_id: 'here' },
        limits: { gateway_session_workers: 1 },
      })
      const [taskId = ''] = await calls(gateway, 1)
      await until(() => gateway.stub.running === 1)
      await gateway.sessions.publishNow()
      const other = await anotherGateway(gateway, {
        tools: { hold: echo },
        settings: { instance_id: 'there' },
      })
      const session_id = await sessionOf(other, ADA)
      expect(await other.gate.endSession(ADA, { session_id, mode: 'run' })).toMatchObject({
        ended: true,
        canceled: 0,
      })
      expect(gateway.sessions.counts.sessions).toBe(0)
      hold.let(1)
      expect(await gateway.ended(taskId)).toMatchObject({ status: 'succeeded' })
    },
  )

  it.skipIf(storeName === 'sqlite')(
    'ending a session of a dead server cancels its calls',
    async () => {
      const gateway = await openGateway(open, { settings: { instance_id: 'here' } })
      const tenant = gateway.sessions.tenant
      const view = {
        session_id: 'a'.repeat(24),
        principal: 'agent:ada',
        client: { name: null, version: null },
      }
      const counters = { state: 'live', workers: 1, queue: 1, running: 0, waiting: 0, calls: 0 }
      const time = new Date().toISOString()
      const session = { ...view, ...counters, instance: 'gone', began_at: time, last_call_at: time }
      const value = JSON.stringify({ at: Date.now(), sessionLanes: [1], sessions: [session] })
      await gateway.store.entries.put({ tenant, kind: 'gateway_peer', name: 'gone', value, due_at: null })
      expect(await gateway.gate.endSession(ADA, { session_id: view.session_id, mode: 'cancel' })).toEqual({
        session_id: view.session_id,
        ended: false,
        canceled: 0,
      })
      expect(await gateway.store.entries.list(tenant, 'session_end', '', 10)).toEqual([])
    },
    30_000,
  )
})

async function sessionOf({ gate }: Gateway, by: typeof ADA): Promise<string | undefined> {
  const { sessions } = await gate.listSessions(by, {})
  return sessions[0]?.session_id
}

/** The heap size after a garbage collection. */
function used(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

it('a session is identified by its principal and client only', async () => {
  const { sessionId } = await import('../../../src/gateway/calls/session.ts')
  expect(sessionId('agent:a', client('x'))).toBe(sessionId('agent:a', { ...client('x'), name: 'other' }))
  expect(sessionId('agent:a', client('x'))).not.toBe(sessionId('agent:a', client('y')))
  expect(sessionId('agent:a', client('x'))).not.toBe(sessionId('agent:b', client('x')))
})
