import { afterEach, expect, it, vi } from 'vitest'
import { z } from 'zod'
import type { Gate } from '../../../src/features/gate.ts'
import { callInView } from '../../../src/features/summary.ts'
import { listTaskTypes } from '../../../src/features/task-types/operations.ts'
import { summaryTypeShape, toolName } from '../../../src/features/task-types/shape.ts'
import { admin, agent, describeGates, worker } from '../../support/gates.ts'
import { ask, finish, lease, notingEntries, refusal } from '../../support/steps.ts'

type Fields = Readonly<Record<string, unknown>>

const SCHEMA = {
  type: 'object',
  required: ['page'],
  properties: { page: { type: 'string' }, words: { type: 'integer' } },
}
const URL_SCHEMA = { type: 'object', required: ['url'], properties: { url: {} } }
const DIGEST = {
  type: 'digest',
  description: 'Makes a digest of a page.',
  input_schema: SCHEMA,
  output_schema: { type: 'object', properties: { text: { type: 'string' } } },
}

const publish = (gate: Gate, types: readonly Fields[] = [DIGEST], id = 'w1', by = worker(id)) =>
  gate.registerWorker(by, {
    worker_id: id,
    task_types: types,
    ...(types.length <= 200 && { accept_types: types.map(({ type }) => type) }),
  })

const list = async (gate: Gate, input: Fields = {}) => (await gate.listTaskTypes(agent(), input)).task_types
const names = async (gate: Gate, input: Fields = {}) => (await list(gate, input)).map(({ type }) => type)
const get = (gate: Gate, type = 'digest') => gate.getTaskType(agent(), { type })
const toolNames = async (gate: Gate) => (await gate.toolTypes('default')).map(toolName)

const eventually = (check: () => Promise<unknown>) => vi.waitFor(check, { timeout: 20_000, interval: 50 })

afterEach(() => {
  vi.useRealTimers()
})

describeGates('published task types', (open, storeName) => {
  it('list_task_types and get_task_type show what a worker publishes', async () => {
    const { gate } = await open()
    await publish(gate)
    const shown = {
      type: 'digest',
      description: 'Makes a digest of a page.',
      payload_schema: SCHEMA,
      output_schema: DIGEST.output_schema,
      published_by: 'worker',
      conflict: false,
      live_workers: 1,
      usual_seconds: null,
      enabled: true,
      tool: null,
      version: 0,
    }
    expect(await list(gate)).toMatchObject([shown])
    expect(await get(gate)).toMatchObject(shown)
  })

  it('a payload that does not match the published schema is refused with its path', async () => {
    const { gate } = await open()
    await ask(gate, { type: 'digest', payload: {} })
    await publish(gate)
    expect(await refusal(ask(gate, { type: 'digest', payload: { page: 7 } }))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'payload.page', problem: 'must be string' },
    })
    const { results } = await gate.createTasks(agent(), {
      tasks: [
        { type: 'digest', payload: {} },
        { type: 'digest', payload: { page: 'a' } },
      ],
    })
    expect(results).toMatchObject([{ details: { path: 'payload.page' } }, { status: 'queued' }])
  })

  it('creating tasks of a published type reads no types', async () => {
    // Copies of a shared database are read again in intervals.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const reads = vi.fn()
    const { gate } = await open({ wrap: notingEntries({ reads }) })
    await publish(gate)
    await ask(gate, { type: 'digest', payload: { page: 'a' } })
    reads.mockClear()
    for (let n = 0; n < 5; n++) await ask(gate, { type: 'digest', payload: { page: 'a' } })
    expect(reads).not.toHaveBeenCalled()
  })

  it('publications survive a restart', async () => {
    const { gate, another } = await open()
    await publish(gate)
    await gate.close()
    const { gate: next } = await another()
    expect(await names(next)).toEqual(['digest'])
    expect(await refusal(ask(next, { type: 'digest', payload: {} }))).toMatchObject({
      details: { path: 'payload.page' },
    })
  })

  it.runIf(storeName === 'postgres')('another server enforces a published schema', async () => {
    const { gate, another } = await open()
    const { gate: second } = await another()
    await ask(second, { type: 'digest', payload: {} })
    await publish(gate)
    expect(await names(second)).toEqual(['digest'])
    await eventually(async () =>
      expect(await refusal(ask(second, { type: 'digest', payload: {} }))).toMatchObject({
        details: { path: 'payload.page' },
      }),
    )
    await second.unregisterWorker(worker('w1'), { worker_id: 'w1' })
    await eventually(async () => expect(await ask(gate, { type: 'digest', payload: {} })).toBeDefined())
  })

  it('unregistering the last publisher removes the type', async () => {
    const { gate } = await open()
    await publish(gate)
    await publish(gate, [DIGEST], 'w2')
    await gate.unregisterWorker(worker('w1'), { worker_id: 'w1' })
    expect(await names(gate)).toEqual(['digest'])
    await gate.unregisterWorker(worker('w2'), { worker_id: 'w2' })
    expect(await names(gate)).toEqual([])
    expect(await ask(gate, { type: 'digest', payload: {} })).toMatchObject({ status: 'queued' })
  })

  it('publications are removed when the worker has not been seen for a day', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] })
    const { gate } = await open()
    await publish(gate)
    await publish(gate, [{ type: 'kept' }], 'w2')
    vi.setSystemTime(Date.now() + 23 * 3600_000)
    await gate.workerHeartbeat(worker('w2'), { worker_id: 'w2' })
    vi.advanceTimersByTime(120_000)
    vi.setSystemTime(Date.now() + 3600_000)
    await eventually(async () => {
      vi.advanceTimersByTime(5000)
      expect(await names(gate)).toEqual(['kept'])
    })
  })

  it('register_worker replaces the types, an empty list removes them, and absence keeps them', async () => {
    const { gate } = await open()
    await publish(gate, [DIGEST, { type: 'other' }])
    await publish(gate, [{ type: 'other' }])
    expect(await names(gate)).toEqual(['other'])
    await gate.registerWorker(worker('w1'), { worker_id: 'w1' })
    expect(await names(gate)).toEqual(['other'])
    await publish(gate, [])
    expect(await names(gate)).toEqual([])
  })

  it('publishing the same types again writes nothing', async () => {
    const writes = vi.fn()
    const { gate } = await open({ wrap: notingEntries({ writes }) })
    await publish(gate)
    const before = await get(gate)
    writes.mockClear()
    await publish(gate, [{ ...DIGEST, input_schema: { ...SCHEMA } }])
    expect(writes.mock.calls.flat()).not.toContain('worker_types')
    expect(await get(gate)).toEqual(before)
  })

  it('the registration of an admin takes precedence over publications', async () => {
    const { gate } = await open()
    await gate.registerTaskType(admin(), { type: 'digest', description: 'Ours.', default_priority: 7 })
    await publish(gate)
    expect(await get(gate)).toMatchObject({
      description: 'Ours.',
      payload_schema: null,
      published_by: 'registered',
    })
    expect(await ask(gate, { type: 'digest', payload: {} })).toMatchObject({ status: 'queued' })
    await gate.removeTaskType(admin(), { type: 'digest' })
    expect(await get(gate)).toMatchObject({ payload_schema: SCHEMA, published_by: 'worker' })
  })

  it('an admin disables a published type by registering it', async () => {
    const { gate } = await open()
    await publish(gate)
    await gate.registerTaskType(admin(), { type: 'digest', enabled: false })
    expect(await refusal(ask(gate, { type: 'digest', payload: { page: 'a' } }))).toMatchObject({
      code: 'TASK_TYPE_DISABLED',
    })
  })

  it('a publication does not allow a type where unregistered types are refused', async () => {
    const { gate } = await open({ settings: { allow_unknown_task_types: false } })
    await publish(gate)
    expect(await refusal(ask(gate, { type: 'digest', payload: { page: 'a' } }))).toMatchObject({
      code: 'TASK_TYPE_UNKNOWN',
    })
  })

  it('where workers publish different schemas the newest counts, and the conflict is shown', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { gate } = await open()
    await publish(gate)
    vi.advanceTimersByTime(1000)
    await publish(gate, [{ ...DIGEST, input_schema: URL_SCHEMA }], 'a2')
    expect(await get(gate)).toMatchObject({ conflict: true, payload_schema: { required: ['url'] } })
    expect(await refusal(ask(gate, { type: 'digest', payload: { page: 'a' } }))).toMatchObject({
      details: { path: 'payload.url' },
    })
    vi.advanceTimersByTime(1000)
    // The same types again are no new publication.
    await publish(gate)
    expect(await get(gate)).toMatchObject({ payload_schema: { required: ['url'] } })
    vi.advanceTimersByTime(600_000)
    await publish(gate, [{ ...DIGEST, description: 'Newer.' }])
    // A worker that is offline does not conflict.
    expect(await get(gate)).toMatchObject({ conflict: false, description: 'Newer.', payload_schema: SCHEMA })
  })

  it('the view summary has one short row per type', async () => {
    const { gate } = await open()
    await publish(gate, [{ ...DIGEST, description: `Makes a digest.\n\nOf ${'a long page '.repeat(50)}` }])
    await gate.registerTaskType(admin(), { type: 'plain', estimated_runtime_seconds: 30 })
    const summary = async (input: Fields) => {
      const answer = await callInView(gate, listTaskTypes, agent(), { view: 'summary', ...input }, 'full')
      return z.object({ task_types: z.array(summaryTypeShape) }).parse(answer).task_types
    }
    const [digest, plain] = await summary({})
    expect(digest).toEqual({
      type: 'digest',
      description: expect.stringMatching(/^Makes a digest\. Of a long page .*…$/),
      required: ['page'],
      live_workers: 1,
      usual_seconds: null,
    })
    expect(digest?.description?.length).toBeLessThanOrEqual(200)
    expect(await summary({ query: 'dig' })).toEqual([{ ...digest, payload_schema: SCHEMA }])
    expect(plain).toEqual({
      type: 'plain',
      description: null,
      required: [],
      live_workers: 0,
      usual_seconds: 30,
    })
  })

  it('query selects by name and description, and pages contain both kinds of types', async () => {
    const { gate } = await open()
    await gate.registerTaskType(admin(), { type: 'b.draw' })
    await publish(gate, [DIGEST, { type: 'c' }, { type: 'a', description: 'To draw a MAP.' }])
    expect(await names(gate, { query: 'Draw' })).toEqual(['a', 'b.draw'])
    expect(await names(gate, { query: 'map' })).toEqual(['a'])
    const first = await gate.listTaskTypes(agent(), { limit: 2 })
    expect(first).toMatchObject({ task_types: [{ type: 'a' }, { type: 'b.draw' }], next_cursor: 'b.draw' })
    expect(await gate.listTaskTypes(agent(), { cursor: first.next_cursor })).toMatchObject({
      task_types: [{ type: 'c' }, { type: 'digest' }],
      next_cursor: null,
    })
  })

  it('usual_seconds is the median of recent successes, also after a restart', async () => {
    const { gate, clock, another } = await open()
    await publish(gate, [{ type: 'job' }])
    for (const seconds of [1, 9, 3]) {
      await ask(gate)
      clock.advance(seconds)
      await finish(gate, await lease(gate))
    }
    expect(await get(gate, 'job')).toMatchObject({ usual_seconds: 3 })
    await gate.close()
    const { gate: next } = await another()
    expect(await get(next, 'job')).toMatchObject({ usual_seconds: 3 })
  })

  it('types of other tenants are not visible', async () => {
    const { gate } = await open()
    await publish(gate)
    expect(await gate.listTaskTypes(agent('alice', 'other'))).toMatchObject({ task_types: [] })
  })
})

describeGates('a hostile publisher', (open) => {
  it('an invalid publication is refused with its path and registers nothing', async () => {
    const { gate } = await open()
    const wrong: [Fields, string][] = [
      [{ type: 'asyncgate.create_task' }, 'task_types.0.type'],
      [{ type: 'AsyncGate' }, 'task_types.0.type'],
      [{ type: 'mcp.tool_call' }, 'task_types.0.type'],
      [{ type: 'line\nbreak' }, 'task_types.0.type'],
      [{ type: 'zero\u200bwidth' }, 'task_types.0.type'],
      [{ type: 'a', description: 'x'.repeat(2001) }, 'task_types.0.description'],
      [{ type: 'a', colour: 'red' }, 'task_types.0'],
      [{ type: 'a', input_schema: { $id: 'https://schemas.example/a' } }, 'task_types.0.input_schema'],
      [{ type: 'a', input_schema: { $ref: 'https://schemas.example/a' } }, 'task_types.0.input_schema'],
      [{ type: 'a', input_schema: { pattern: '^(?!admin)' } }, 'task_types.0.input_schema'],
      [{ type: 'a', input_schema: { type: 'thing' } }, 'task_types.0.input_schema'],
      [{ type: 'a', output_schema: { propertes: {} } }, 'task_types.0.output_schema'],
      [{ type: 'a', input_schema: { description: 'hidden \u{e0041}' } }, 'task_types.0.input_schema'],
      [{ type: 'a', tool: { name: 'asyncgate_x' } }, 'task_types.0.tool.name'],
      [{ type: 'a', tool: true, input_schema: { type: 'string' } }, 'task_types.0.tool'],
      [{ type: 'a', tool: { wait_seconds: 51 } }, 'task_types.0.tool.wait_seconds'],
    ]
    for (const [published, path] of wrong) {
      expect(await refusal(publish(gate, [published])), JSON.stringify(published)).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path },
      })
    }
    expect(await refusal(publish(gate, [{ type: 'a' }, { type: 'a' }]))).toMatchObject({
      details: { path: 'task_types.1.type' },
    })
    const input = { worker_id: 'w1', accept_types: ['b'], task_types: [{ type: 'a' }] }
    expect(await refusal(gate.registerWorker(worker(), input))).toMatchObject({
      details: { path: 'task_types.0.type', problem: 'is not in accept_types' },
    })
    const many = Array.from({ length: 201 }, (_, n) => ({ type: `t${n}` }))
    expect(await refusal(publish(gate, many))).toMatchObject({ details: { path: 'task_types' } })
    const large = Array.from({ length: 5 }, (_, n) => ({
      type: `t${n}`,
      input_schema: { description: 'x'.repeat(60_000) },
    }))
    expect(await refusal(publish(gate, large))).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      details: { path: 'task_types' },
    })
    expect(await names(gate)).toEqual([])
    expect((await gate.listWorkers(admin())).workers).toEqual([])
  })

  it('hidden characters are removed from descriptions', async () => {
    const { gate } = await open()
    await publish(gate, [{ type: 'a', description: 'Plain\u202e text\u001b[31m.' }])
    expect(await get(gate, 'a')).toMatchObject({ description: 'Plain text.' })
  })

  it('a schema whose check takes too long is refused', async () => {
    const { gate } = await open()
    const deep = { anyOf: Array.from({ length: 8 }, () => ({ items: { $ref: '#' }, minItems: 1 })) }
    await publish(gate, [{ type: 'slow', input_schema: deep }, DIGEST])
    const nested = Array.from({ length: 25 }).reduce<unknown>((inner) => [inner], [])
    expect(await refusal(ask(gate, { type: 'slow', payload: nested }))).toMatchObject({
      code: 'VALIDATION_ERROR',
    })
    expect(await ask(gate, { type: 'digest', payload: { page: 'a' } })).toMatchObject({ status: 'queued' })
  })

  it('a worker cannot replace or remove what another principal publishes under the same name', async () => {
    const { gate } = await open()
    await publish(gate)
    const mallory = worker('mallory')
    await publish(gate, [{ type: 'evil' }], 'w1', mallory)
    expect(await names(gate)).toEqual(['digest', 'evil'])
    await publish(gate, [], 'w1', mallory)
    await gate.unregisterWorker(mallory, { worker_id: 'w1' })
    expect(await names(gate)).toEqual(['digest'])
    await gate.unregisterWorker(admin(), { worker_id: 'w1' })
    expect(await names(gate)).toEqual([])
  })

  it('the number of published types of a tenant is limited', async () => {
    const { gate } = await open()
    const types = (set: number) => Array.from({ length: 200 }, (_, n) => ({ type: `t${set}.${n}` }))
    for (let set = 0; set < 5; set++) await publish(gate, types(set), `w${set}`)
    expect(await refusal(publish(gate, [{ type: 'more' }], 'w5'))).toMatchObject({
      details: {
        path: 'task_types',
        problem: 'cannot be published: limit of 1000 published task types reached',
      },
    })
    await publish(gate, [{ type: 'fewer' }], 'w0')
    await publish(gate, [{ type: 'more' }], 'w5')
    expect(await names(gate, { query: 'e' })).toEqual(['fewer', 'more'])
  })
})

describeGates(
  'many publishers',
  (open) => {
    it('the number of types of all workers is limited', async () => {
      const { gate } = await open()
      const types = Array.from({ length: 200 }, (_, n) => ({ type: `t${n}` }))
      for (let n = 0; n < 100; n++) await publish(gate, types, `w${n}`)
      expect(await refusal(publish(gate, [{ type: 't0' }], 'w100'))).toMatchObject({
        details: { problem: 'cannot be published: limit of 20000 task types of all workers reached' },
      })
      expect(await get(gate, 't0')).toMatchObject({ live_workers: 100, conflict: false })
    })
  },
  ['sqlite'],
)

describeGates('published types as tools', (open) => {
  const settings = { type_tools: 'published' } as const

  it('published types are tools only if the setting says so', async () => {
    const { gate } = await open()
    await publish(gate, [{ ...DIGEST, tool: true }])
    expect(await toolNames(gate)).toEqual([])
    const { gate: allowing } = await open({ settings })
    await publish(allowing, [
      DIGEST,
      { type: 'hidden', tool: false },
      { type: 'list', input_schema: { type: 'array' } },
    ])
    expect(await toolNames(allowing)).toEqual(['digest'])
    expect(await get(allowing)).toMatchObject({ tool: { name: 'digest' } })
  })

  it('names of tools are valid, unique and stable', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { gate } = await open({ settings })
    await gate.registerTaskType(admin(), { type: 'draw', tool: {} })
    await publish(gate, [
      { type: 'command.execute' },
      { type: 'a__b' },
      { type: '画' },
      { type: 'x'.repeat(255) },
      { type: 'd', tool: { name: 'draw', title: 'Draw' } },
      { type: '.asyncgate_y' },
    ])
    const first = await toolNames(gate)
    for (const name of first) expect(name).toMatch(/^(?!asyncgate)(?!.*__)[a-zA-Z0-9_-]{1,64}$/)
    expect(new Set(first).size).toBe(7)
    expect(first).toEqual(
      expect.arrayContaining(['draw', 'command_execute', 'a_b', expect.stringMatching(/^draw_[0-9a-f]{8}$/)]),
    )
    vi.advanceTimersByTime(1000)
    // A name in use stays with its type.
    await publish(gate, [{ type: 'command_execute' }], 'w0')
    const second = await toolNames(gate)
    expect(second).toEqual(expect.arrayContaining(first))
    const { tool } = await get(gate, 'command_execute')
    expect(tool?.name).toMatch(/^command_execute_[0-9a-f]{8}$/)
  })

  it('a worker cannot hide the tool of another worker', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { gate } = await open({ settings })
    await publish(gate)
    vi.advanceTimersByTime(1000)
    await publish(gate, [{ ...DIGEST, tool: false }], 'w2')
    expect(await toolNames(gate)).toEqual(['digest'])
  })

  it('listeners are called when published tools change', async () => {
    const { gate } = await open({ settings })
    await gate.toolTypes('default')
    const heard = vi.fn()
    gate.onToolTypes(heard)
    await publish(gate)
    expect(heard).toHaveBeenCalledTimes(1)
    await publish(gate, [DIGEST], 'w2')
    expect(heard).toHaveBeenCalledTimes(1)
    heard.mockClear()
    await publish(gate, [])
    await publish(gate, [], 'w2')
    expect(heard).toHaveBeenCalled()
    expect(await toolNames(gate)).toEqual([])
  })
})
