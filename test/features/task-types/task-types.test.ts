import { expect, it, vi } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { admin, agent, describeGates } from '../../support/gates.ts'
import {
  ask,
  failTask,
  lease,
  look,
  notingEntries,
  receiptsOf,
  refusal,
  refusals,
} from '../../support/steps.ts'

type Fields = Readonly<Record<string, unknown>>

const register = (gate: Gate, input: Fields = {}) => gate.registerTaskType(admin(), { type: 'job', ...input })

const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  required: ['prompt'],
  additionalProperties: false,
  properties: {
    prompt: { type: 'string', minLength: 1, format: 'a hint for readers' },
    models: { type: 'array', items: { $ref: '#/$defs/model' } },
    depth: { enum: ['short', 'long'] },
  },
  $defs: { model: { type: 'object', properties: { name: { type: 'string' } } } },
}

describeGates('task type registry', (open, storeName) => {
  it('a registered type survives a restart and every caller can read it', async () => {
    const { gate, another } = await open()
    const registered = await register(gate, {
      description: 'a job',
      payload_schema: SCHEMA,
      retention_days: 30,
    })
    expect(registered).toEqual({
      type: 'job',
      description: 'a job',
      payload_schema: SCHEMA,
      output_schema: null,
      default_priority: null,
      default_max_attempts: null,
      default_retry_backoff_seconds: null,
      default_retry: null,
      default_timeout_seconds: null,
      default_labels: null,
      concurrency: null,
      rate: null,
      retention_days: 30,
      idempotency_key_path: null,
      escalation_class: null,
      result_channel: null,
      webhook_url: null,
      estimated_runtime_seconds: null,
      poll_suggestion_seconds: null,
      max_payload_bytes: null,
      enabled: true,
      tool: null,
      milestones: null,
      version: 1,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    })
    expect(await gate.getTaskType(agent(), { type: 'job' })).toMatchObject(registered)
    await gate.close()
    const { gate: next } = await another()
    expect(await next.getTaskType(agent(), { type: 'job' })).toMatchObject(registered)
    expect(await refusal(ask(next))).toMatchObject({ details: { path: 'payload.prompt' } })
  })

  it('registering again replaces the type, and the same registration changes nothing', async () => {
    const { gate } = await open()
    const first = await register(gate, { estimated_runtime_seconds: 1 })
    expect(await register(gate, { estimated_runtime_seconds: 1 })).toEqual(first)
    const second = await register(gate, { poll_suggestion_seconds: 2 })
    expect(second).toMatchObject({
      version: 2,
      created_at: first.created_at,
      estimated_runtime_seconds: null,
      poll_suggestion_seconds: 2,
    })
  })

  it('concurrent registrations are all stored', async () => {
    const { gate } = await open()
    await Promise.all(Array.from({ length: 8 }, (_, n) => register(gate, { default_priority: n })))
    expect(await gate.getTaskType(agent(), { type: 'job' })).toMatchObject({ version: 8 })
  })

  it('list_task_types pages by name and omits removed types', async () => {
    const { gate } = await open()
    for (const type of ['b', 'a', 'c']) await register(gate, { type })
    const names = async (input: Fields) => {
      const { task_types, next_cursor } = await gate.listTaskTypes(agent(), input)
      return { names: task_types.map(({ type }) => type), next_cursor }
    }
    expect(await names({ limit: 2 })).toEqual({ names: ['a', 'b'], next_cursor: 'b' })
    expect(await names({ limit: 2, cursor: 'b' })).toEqual({ names: ['c'], next_cursor: null })
    expect(await gate.removeTaskType(admin(), { type: 'b' })).toEqual({ type: 'b', removed: true })
    expect(await gate.removeTaskType(admin(), { type: 'b' })).toEqual({ type: 'b', removed: false })
    expect(await names({})).toEqual({ names: ['a', 'c'], next_cursor: null })
    expect(await refusal(gate.getTaskType(agent(), { type: 'b' }))).toMatchObject({
      code: 'TASK_TYPE_UNKNOWN',
    })
  })

  it('a type belongs to its tenant', async () => {
    const { gate } = await open()
    await register(gate, { enabled: false })
    expect(await ask(gate, {}, agent('alice', 'other'))).toMatchObject({ status: 'queued' })
    expect(await gate.listTaskTypes(agent('alice', 'other'))).toEqual({ task_types: [], next_cursor: null })
  })

  it('an invalid registration is refused with the path', async () => {
    const { gate } = await open()
    const deep = (levels: number): object => (levels === 0 ? {} : { not: deep(levels - 1) })
    const wrong: [Fields, string][] = [
      [{ type: '' }, 'type'],
      [{ colour: 'red' }, ''],
      [{ default_priority: 1001 }, 'default_priority'],
      [{ payload_schema: [] }, 'payload_schema'],
      [{ payload_schema: { type: 'objct' } }, 'payload_schema'],
      [{ payload_schema: { properties: { prompt: 'string' } } }, 'payload_schema'],
      [{ payload_schema: { propertes: {} } }, 'payload_schema'],
      [{ payload_schema: { pattern: '(' } }, 'payload_schema'],
      [{ payload_schema: { $ref: '#/$defs/nowhere' } }, 'payload_schema'],
      [{ payload_schema: { $ref: 'https://schemas.example/job.json' } }, 'payload_schema'],
      [{ payload_schema: { $ref: 'https://json-schema.org/draft/2020-12/schema' } }, 'payload_schema'],
      [{ payload_schema: { $schema: 'http://json-schema.org/draft-07/schema#' } }, 'payload_schema'],
      [{ payload_schema: { $schema: 'https://json-schema.org/draft/2020-12/meta/core' } }, 'payload_schema'],
      [{ payload_schema: { items: { $schema: SCHEMA.$schema } } }, 'payload_schema'],
      [{ payload_schema: { $id: SCHEMA.$schema } }, 'payload_schema'],
      [{ payload_schema: { properties: { a: { $id: 'a' } } } }, 'payload_schema'],
      [{ payload_schema: { anyOf: [{ $defs: { a: { $id: 'a' } } }] } }, 'payload_schema'],
      [{ payload_schema: { pattern: '^(?!admin)' } }, 'payload_schema'],
      [{ payload_schema: { patternProperties: { '(a)\\1': {} } } }, 'payload_schema'],
      [{ payload_schema: { $async: true } }, 'payload_schema'],
      [{ payload_schema: deep(40) }, 'payload_schema'],
      [{ output_schema: { type: 'objct' } }, 'output_schema'],
      [{ tool: { name: 'no dots.' } }, 'tool.name'],
      [{ type: 'no.tool', tool: {} }, 'tool.name'],
      [{ tool: { name: 'asyncgate_job' } }, 'tool.name'],
      [{ tool: { name: 'files__read' } }, 'tool.name'],
      [{ tool: { name: 'AsyncGate' } }, 'tool.name'],
      [{ tool: { wait_seconds: 51 } }, 'tool.wait_seconds'],
      [{ tool: {}, payload_schema: { type: 'array' } }, 'payload_schema.type'],
    ]
    for (const [input, path] of wrong) {
      expect(await refusal(register(gate, input)), JSON.stringify(input)).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path },
      })
    }
    const large = { description: 'x'.repeat(64 * 1024) }
    expect(await refusal(register(gate, { payload_schema: large }))).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    })
    expect(await gate.listTaskTypes(agent())).toEqual({ task_types: [], next_cursor: null })
  })

  it('two types cannot have the same tool name', async () => {
    const { gate } = await open()
    await register(gate, { type: 'one', tool: { name: 'draw' } })
    expect(await refusal(register(gate, { type: 'draw', tool: {} }))).toMatchObject({
      details: { path: 'tool.name', problem: 'is already the tool of type one' },
    })
    await register(gate, { type: 'one', tool: null })
    await register(gate, { type: 'draw', tool: {} })
    expect((await gate.toolTypes('default')).map(({ type }) => type)).toEqual(['draw'])
  })

  it('listeners are called only when the tools of a tenant change', async () => {
    const { gate } = await open()
    await gate.toolTypes('default')
    const heard = vi.fn()
    const stop = gate.onToolTypes(heard)
    await register(gate, { type: 'plain' })
    expect(heard).not.toHaveBeenCalled()
    await register(gate, { type: 'draw', tool: {} })
    expect(heard).toHaveBeenCalledTimes(1)
    const tools = await gate.toolTypes('default')
    await register(gate, { type: 'plain', default_priority: 1 })
    expect(await gate.toolTypes('default')).toBe(tools)
    await register(gate, { type: 'draw', tool: {}, enabled: false })
    expect(heard).toHaveBeenCalledTimes(2)
    expect(await gate.toolTypes('default')).toEqual([])
    stop()
    await register(gate, { type: 'draw', tool: {} })
    expect(heard).toHaveBeenCalledTimes(2)
  })

  it('types are read once, not for each task', async () => {
    const reads = vi.fn()
    const { gate } = await open({ wrap: notingEntries({ reads }) })
    await Promise.all([
      ask(gate),
      ask(gate),
      gate.createTasks(agent(), { tasks: [{ type: 'a' }, { type: 'b' }] }),
    ])
    await ask(gate)
    expect(reads.mock.calls.filter(([kind]) => kind === 'task_type')).toHaveLength(1)
  })

  it.runIf(storeName === 'postgres')('types registered by other processes take effect', async () => {
    const { gate, another } = await open()
    await ask(gate)
    const { gate: elsewhere } = await another()
    await register(elsewhere, { enabled: false })
    await vi.waitFor(
      async () => expect(await refusal(ask(gate))).toMatchObject({ code: 'TASK_TYPE_DISABLED' }),
      { timeout: 20_000, interval: 50 },
    )
  })
})

describeGates('a task of a registered type', (open) => {
  it('a task gets the defaults of its type', async () => {
    const { gate } = await open()
    await register(gate, {
      default_priority: 7,
      default_max_attempts: 5,
      default_retry_backoff_seconds: 3,
      default_timeout_seconds: 60,
    })
    const plain = await ask(gate)
    expect(await look(gate, plain)).toMatchObject({ priority: 7, max_attempts: 5, retry_backoff_seconds: 3 })
    const [assigned] = await receiptsOf(gate, plain)
    expect(assigned?.body).toMatchObject({ timeouts: { execution: 60 } })
    expect(await lease(gate)).toMatchObject({ timeout_seconds: 60, priority: 7 })
    const own = await ask(gate, {
      priority: 0,
      max_attempts: 1,
      retry_backoff_seconds: 0,
      timeout_seconds: 9,
    })
    expect(await look(gate, own)).toMatchObject({ priority: 0, max_attempts: 1, retry_backoff_seconds: 0 })
    expect(await lease(gate)).toMatchObject({ timeout_seconds: 9 })
  })

  it('create_task returns the estimated run time and poll suggestion', async () => {
    const { gate } = await open()
    await register(gate, { estimated_runtime_seconds: 3600, poll_suggestion_seconds: 600 })
    await register(gate, { type: 'quick', poll_suggestion_seconds: 1 })
    expect(await ask(gate)).toEqual({
      task_id: expect.any(String),
      receipt_id: expect.any(String),
      status: 'queued',
      is_duplicate: false,
      estimated_runtime_seconds: 3600,
      poll_suggestion_seconds: 600,
      live_workers: 0,
      hint: expect.any(String),
    })
    const { results } = await gate.createTasks(agent(), { tasks: [{ type: 'quick' }, { type: 'other' }] })
    expect(results[0]).toMatchObject({ poll_suggestion_seconds: 1 })
    expect(results.map((result) => Object.keys(result).length)).toEqual([7, 6])
  })

  it('a payload that does not match the schema is refused with the path', async () => {
    const { gate } = await open()
    await register(gate, { payload_schema: SCHEMA })
    await ask(gate, { payload: { prompt: 'p', models: [{ name: 'm' }], depth: 'long' } })
    const wrong: [unknown, string, string][] = [
      [{}, 'payload.prompt', 'is required'],
      [undefined, 'payload.prompt', 'is required'],
      [[], 'payload', 'must be object'],
      [{ prompt: 7 }, 'payload.prompt', 'must be string'],
      [{ prompt: 'p', extra: 1 }, 'payload.extra', 'is not in the schema'],
      [{ prompt: 'p', models: [{}, { name: 1 }] }, 'payload.models[1].name', 'must be string'],
      [{ prompt: 'p', depth: 'deep' }, 'payload.depth', 'is not one of ["short","long"]'],
    ]
    for (const [payload, path, problem] of wrong) {
      expect(await refusal(ask(gate, { payload }))).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path, problem },
      })
    }
    expect(await ask(gate, { payload_pointer: 'depot://1' })).toMatchObject({ status: 'queued' })
  })

  it('patterns are matched in linear time', async () => {
    const { gate } = await open()
    const payload_schema = { type: 'object', properties: { name: { type: 'string', pattern: '^(a+)+$' } } }
    await register(gate, { payload_schema })
    expect(await refusal(ask(gate, { payload: { name: `${'a'.repeat(10_000)}!` } }))).toMatchObject({
      details: { path: 'payload.name', problem: 'must match pattern "^(a+)+$"' },
    })
    expect(await ask(gate, { payload: { name: 'aaa' } })).toMatchObject({ status: 'queued' })
  })

  it('a payload whose check takes too long is refused, and others are still checked', async () => {
    const { gate } = await open()
    await register(gate, { type: 'set', payload_schema: { type: 'array', uniqueItems: true } })
    await register(gate, { payload_schema: SCHEMA })
    const payload = Array.from({ length: 60_000 }, (_, i) => ({ i }))
    const tasks = [
      { type: 'set', payload },
      { type: 'set', payload: [...payload, 1] },
      { type: 'set', payload: [1, 2] },
      { type: 'job', payload: { prompt: 'p' } },
    ]
    const { results } = await gate.createTasks(agent(), { tasks })
    const tooLong = { details: { path: 'payload', problem: 'takes too long to check against its schema' } }
    expect(results).toMatchObject([tooLong, tooLong, tooLong, { status: 'queued' }])
    expect(await ask(gate, { type: 'set', payload: [1, 2] })).toMatchObject({ status: 'queued' })
  })

  it('a payload larger than max_payload_bytes is refused', async () => {
    const { gate } = await open()
    await register(gate, { max_payload_bytes: 12 })
    await ask(gate, { payload: { a: 'éé' } })
    expect(await refusal(ask(gate, { payload: { a: 'ééé' } }))).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      details: { path: 'payload', limit_bytes: 12 },
    })
  })

  it('a disabled type refuses new tasks, and existing tasks continue', async () => {
    const { gate } = await open()
    const before = await ask(gate)
    await register(gate, { enabled: false })
    expect(await refusal(ask(gate))).toMatchObject({ code: 'TASK_TYPE_DISABLED', details: { type: 'job' } })
    expect(await lease(gate)).toMatchObject({ task_id: before.task_id })
    await register(gate, { enabled: true })
    expect(await ask(gate)).toMatchObject({ status: 'queued' })
  })

  it('retry_task applies the current registration', async () => {
    const { gate } = await open()
    const { task_id } = await ask(gate, { payload: { n: 1 } })
    await failTask(gate, await lease(gate))
    await register(gate, { payload_schema: SCHEMA })
    expect(await refusal(gate.retryTask(agent(), { task_id }))).toMatchObject({
      details: { path: 'payload.prompt' },
    })
    await register(gate, { default_priority: 4 })
    expect(await look(gate, await gate.retryTask(agent(), { task_id }))).toMatchObject({ priority: 4 })
  })
})

describeGates('an idempotency key used before its type changed', (open) => {
  const asked = { idempotency_key: 'k', payload: { n: 1 } }

  it.each<[string, Fields]>([
    ['has other defaults', { default_priority: 9, default_timeout_seconds: 5 }],
    ['has another schema', { payload_schema: SCHEMA }],
    ['allows less', { max_payload_bytes: 2 }],
    ['is disabled', { enabled: false }],
  ])('an idempotency key returns the first task although the type now %s', async (_, change) => {
    const { gate } = await open()
    await register(gate, { default_priority: 1 })
    const first = await ask(gate, asked)
    await register(gate, change)
    expect(await ask(gate, asked)).toEqual({ ...first, is_duplicate: true })
    expect(await look(gate, first)).toMatchObject({ priority: 1 })
    expect(await refusal(ask(gate, { ...asked, payload: { n: 2 } }))).toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    })
  })

  it('a new key is refused under the current registration', async () => {
    const { gate } = await open()
    await register(gate, { payload_schema: SCHEMA })
    expect(await refusal(ask(gate, asked))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'payload.prompt' },
    })
    expect(await gate.listTasks(agent())).toMatchObject({ tasks: [] })
  })
})

describeGates('a server that allows only registered types', (open) => {
  it('an unregistered type is refused with a hint', async () => {
    const { gate } = await open({ settings: { allow_unknown_task_types: false } })
    const answers = await refusals([ask(gate), ask(gate, { idempotency_key: 'k' })])
    for (const answer of answers) {
      expect(answer).toMatchObject({ code: 'TASK_TYPE_UNKNOWN', details: { type: 'job' } })
      expect(answer.hint).toContain('register_task_type')
    }
    await register(gate)
    expect(await ask(gate)).toMatchObject({ status: 'queued' })
    await gate.removeTaskType(admin(), { type: 'job' })
    expect(await refusal(ask(gate))).toMatchObject({ code: 'TASK_TYPE_UNKNOWN' })
  })
})
