import { PassThrough } from 'node:stream'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { Fault } from '../../../src/core/errors.ts'
import type { Gate } from '../../../src/features/gate.ts'
import { serveStdioMcp } from '../../../src/mcp/transport/stdio.ts'
import { admin, agent, worker } from '../../support/gates.ts'
import { PROGRAM_LISTING } from '../../support/program.ts'
import { ARTIFACTS } from '../../support/steps.ts'
import {
  type Answer,
  bareCall,
  contentOf,
  type McpServer,
  modernCall,
  modernPost,
  openMcp,
  type Post,
  startMcp,
} from '../endpoint.ts'

type Fields = Readonly<Record<string, unknown>>

const SUMMARISE = {
  type: 'text.summarise',
  description: 'Summarises a text.',
  payload_schema: {
    type: 'object',
    required: ['text'],
    additionalProperties: false,
    properties: { text: { type: 'string' }, words: { type: 'integer', minimum: 1 } },
  },
  tool: { name: 'summarise', title: 'Summarise', wait_seconds: 20 },
}

const register = (gate: Gate, input: Fields = {}) =>
  gate.registerTaskType(admin(), { ...SUMMARISE, ...input })

/** Executes the next task when it arrives. */
async function work(gate: Gate, end: (held: Fields, payload: unknown) => Promise<unknown>): Promise<void> {
  const { tasks } = await gate.leaseNext(worker(), { worker_id: 'w1', wait_seconds: 50 })
  for (const { task_id, lease_id, payload } of tasks)
    await end({ worker_id: 'w1', task_id, lease_id }, payload)
}

const complete = (gate: Gate, result: unknown) => (held: Fields) =>
  gate.complete(worker(), { ...held, result, artifacts: ARTIFACTS })

const Listed = z.object({
  tools: z.array(z.looseObject({ name: z.string(), description: z.string().optional() })),
})

function typeTools(answer: Answer) {
  const { tools } = Listed.parse(answer.body?.result)
  return tools.filter(({ name }) => !name.startsWith('asyncgate'))
}

const OLD_LIST: Post = { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }

/** What only the legacy era lists for a tool. */
const MAY_BE_TASK = { execution: { taskSupport: 'optional' } }

describe.each([
  ['the fast path', true, modernPost('tools/list'), modernCall, {}],
  ['the SDK', false, modernPost('tools/list'), modernCall, {}],
  ['older clients', true, OLD_LIST, bareCall, MAY_BE_TASK],
] as const)('a task type with a tool, through %s', (_, fastPath, list, call, execution) => {
  const start = () => startMcp({ fastPath })
  const summarise = (server: McpServer, args: Fields) => server.post(call('summarise', args))

  it('the tool is listed immediately, with its definition, and only while it is registered', async () => {
    const server = await start()
    const listed = async () => typeTools(await server.post(list))
    expect(await listed()).toEqual([])
    await register(server.gate)
    expect(await listed()).toEqual([
      {
        name: 'summarise',
        title: 'Summarise',
        description:
          'Summarises a text. If the result is not there within 20 s, it answers with a task_id for asyncgate_wait_for_task.',
        inputSchema: {
          ...SUMMARISE.payload_schema,
          properties: { agent_id: expect.anything(), ...SUMMARISE.payload_schema.properties },
        },
        ...execution,
      },
    ])
    await register(server.gate, { enabled: false })
    expect(await listed()).toEqual([])
    await register(server.gate, { payload_schema: null, tool: { name: 'tl-dr', description: 'Short.' } })
    expect(await listed()).toMatchObject([
      {
        name: 'tl-dr',
        description: expect.stringMatching(/^Short\. .* 25 s/),
        inputSchema: { type: 'object' },
      },
    ])
    await server.gate.removeTaskType(admin(), { type: SUMMARISE.type })
    expect(await listed()).toEqual([])
  })

  it('a call returns the result of the task', async () => {
    const server = await start()
    await register(server.gate)
    const seen: unknown[] = []
    const working = work(server.gate, (held, payload) => {
      seen.push(payload)
      return complete(server.gate, { summary: 'short' })(held)
    })
    const answer = await summarise(server, { text: 'long', agent_id: 'alice' })
    await working
    expect(contentOf(answer)).toEqual({ summary: 'short' })
    expect(answer.body?.result?.isError).toBeUndefined()
    expect(seen).toEqual([{ text: 'long' }])
    const { tasks } = await server.gate.listTasks(agent('alice'))
    expect(tasks).toMatchObject([{ type: 'text.summarise', created_by: { kind: 'agent', id: 'alice' } }])
  })

  it.each([
    ['a text', 'short', 'short'],
    ['a list', ['a', 1], '["a",1]'],
    ['a number', 7, '7'],
  ])('a result that is %s is returned as text', async (_, result, text) => {
    const server = await start()
    await register(server.gate)
    const working = work(server.gate, complete(server.gate, result))
    const answer = await summarise(server, { text: 'long' })
    await working
    expect(answer.body?.result).toMatchObject({ content: [{ type: 'text', text }] })
    expect(answer.body?.result).not.toHaveProperty('structuredContent')
  })

  it('a result without content is returned with its artifacts', async () => {
    const server = await start()
    await register(server.gate)
    const working = work(server.gate, complete(server.gate, null))
    expect(contentOf(await summarise(server, { text: 'long' }))).toEqual({
      result: null,
      artifacts: ARTIFACTS,
    })
    await working
  })

  it('a failed task is an error', async () => {
    const server = await start()
    await register(server.gate)
    const working = work(server.gate, (held) =>
      server.gate.fail(worker(), { ...held, error: { message: 'no luck' } }),
    )
    const answer = await summarise(server, { text: 'long' })
    await working
    expect(answer.body?.result?.isError).toBe(true)
    expect(contentOf(answer)).toEqual({
      task_id: expect.any(String),
      status: 'failed',
      error: { message: 'no luck' },
    })
  })

  it('a call that takes longer returns a hint how to continue', async () => {
    const server = await start()
    await register(server.gate, { tool: { name: 'summarise', wait_seconds: 0 }, poll_suggestion_seconds: 9 })
    const answer = await summarise(server, { text: 'long', agent_id: 'alice' })
    expect(answer.body?.result?.isError).toBeUndefined()
    const content = contentOf(answer)
    expect(content).toEqual({
      task_id: expect.any(String),
      status: 'queued',
      done: false,
      poll_suggestion_seconds: 9,
      hint: expect.stringContaining('asyncgate_wait_for_task'),
    })
    await work(server.gate, complete(server.gate, { summary: 'short' }))
    const later = await server.post(
      call('asyncgate.wait_for_task', { task_id: content.task_id, agent_id: 'alice' }),
    )
    expect(contentOf(later)).toMatchObject({ done: true, result: { result: { summary: 'short' } } })
  })

  it('invalid arguments and callers without permission are refused', async () => {
    const server = await start()
    await register(server.gate)
    const wrong = await summarise(server, { text: 7 })
    expect(wrong.body?.result?.isError).toBe(true)
    expect(contentOf(wrong)).toMatchObject({ code: 'VALIDATION_ERROR', details: { path: 'payload.text' } })
    const by = { principal_kind: 'worker', principal_id: 'w1' }
    expect(contentOf(await summarise(server, { text: 'x', ...by }))).toMatchObject({ code: 'FORBIDDEN' })
    expect(contentOf(await summarise(server, { text: 'x', tenant_id: 'other' }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect((await server.gate.listTasks(admin())).tasks).toEqual([])
  })

  it('the tool is unknown in other tenants', async () => {
    const server = await start()
    await server.gate.registerTaskType(admin('other'), SUMMARISE)
    const answer = await summarise(server, { text: 'x' })
    expect(answer.body?.error).toMatchObject({ message: 'Unknown tool: summarise' })
  })
})

it('a payload field with the name of an identity argument is renamed', async () => {
  const key = 'a-key-that-is-long-enough'
  const server = await startMcp({ apiKey: key })
  const properties = { agent_id: { type: 'integer' }, auth_token: { type: 'string' } }
  await register(server.gate, { payload_schema: { type: 'object', properties, required: ['agent_id'] } })
  const listed = await server.modern('tools/list', {}, { authorization: `Bearer ${key}` })
  expect(typeTools(listed)).toMatchObject([
    {
      inputSchema: {
        properties: { arg_agent_id: { type: 'integer' }, arg_auth_token: { type: 'string' } },
        required: ['arg_agent_id'],
      },
    },
  ])
  const working = work(server.gate, (held, payload) => complete(server.gate, { payload })(held))
  const args = {
    arg_agent_id: 7,
    arg_auth_token: 'theirs',
    agent_id: 'alice',
    auth_token: key,
    trace_id: 't',
  }
  const answer = await server.call('summarise', args)
  await working
  expect(contentOf(answer)).toEqual({ payload: { agent_id: 7, auth_token: 'theirs' } })
  expect((await server.gate.listTasks(agent('alice'))).tasks).toHaveLength(1)
})

it('hints use the configured tool names', async () => {
  const server = await startMcp({ toolNames: 'underscore' })
  await register(server.gate, { tool: { name: 'summarise', wait_seconds: 0 } })
  const answer = await server.call('summarise', { text: 'x' })
  expect(contentOf(answer).hint).toContain('asyncgate_wait_for_task')
})

it('a created task is returned even if it cannot be read any more', async () => {
  const server = await startMcp({
    wrap: (gate) => ({
      ...gate,
      waitForTask: () => Promise.reject(new Fault('DATABASE_UNAVAILABLE')),
    }),
  })
  await register(server.gate)
  const answer = await server.call('summarise', { text: 'x' })
  expect(answer.body?.result?.isError).toBeUndefined()
  expect(contentOf(answer)).toMatchObject({ task_id: expect.any(String), status: 'queued', done: false })
})

it('built-in tools are listed while the database is unavailable, and calls of others fail with DATABASE_UNAVAILABLE', async () => {
  const server = await startMcp({
    wrap: (gate) => ({ ...gate, toolTypes: () => Promise.reject(new Fault('DATABASE_UNAVAILABLE')) }),
  })
  expect(Listed.parse((await server.modern('tools/list')).body?.result).tools.length).toBeGreaterThan(20)
  expect(contentOf(await server.call('summarise'))).toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
})

it('subscribers are notified that the list has changed', async () => {
  const server = await startMcp()
  const { until, cancel } = await listening(server)
  await register(server.gate)
  await until('notifications/tools/list_changed')
  await cancel()
})

/** A client that listens for changes of the list, and has not listed the tools before. */
async function listening(server: McpServer) {
  const response = await server.listen({ toolsListChanged: true })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let heard = ''
  const until = async (text: string) => {
    while (!heard.includes(text)) heard += (await reader?.read())?.value ?? ''
  }
  await until('notifications/subscriptions/acknowledged')
  return { until, cancel: async () => reader?.cancel() }
}

describe('a published type as a tool', () => {
  const parts = () => ({ settings: { type_tools: 'published' } }) as const
  const publish = (gate: Gate, input: Fields = {}) =>
    gate.registerWorker(worker(), {
      worker_id: 'w1',
      accept_types: ['page.digest'],
      task_types: [
        {
          type: 'page.digest',
          description: 'Makes a digest.',
          input_schema: { type: 'object', required: ['page'], properties: { page: { type: 'string' } } },
          tool: { title: 'Digest', wait_seconds: 0 },
          ...input,
        },
      ],
    })

  it('the tool has a valid name, and a call creates the task', async () => {
    const server = await startMcp({ parts })
    await publish(server.gate)
    expect(typeTools(await server.modern('tools/list'))).toMatchObject([
      {
        name: 'page_digest',
        title: 'Digest',
        description: expect.stringContaining('Makes a digest.'),
        inputSchema: { required: ['page'] },
      },
    ])
    const wrong = await server.call('page_digest', { page: 7 })
    expect(contentOf(wrong)).toMatchObject({ code: 'VALIDATION_ERROR', details: { path: 'payload.page' } })
    await publish(server.gate, { tool: { wait_seconds: 20 } })
    const working = work(server.gate, complete(server.gate, { text: 'short' }))
    expect(contentOf(await server.call('page_digest', { page: 'a' }))).toEqual({ text: 'short' })
    await working
  })

  it('the tool stays listed without a live worker, and the response says so', async () => {
    const server = await startMcp({ parts })
    await publish(server.gate)
    await server.gate.drainWorker(admin(), { worker_id: 'w1', drain: true })
    await vi.waitFor(async () => {
      const { hint } = contentOf(await server.call('page_digest', { page: 'a' }))
      expect(hint).toMatch(/^No worker has served type page\.digest in the last 2 minutes\./)
    }, 10_000)
    expect(typeTools(await server.modern('tools/list'))).toHaveLength(1)
  })

  it('subscribers are notified when a worker publishes a tool', async () => {
    const server = await startMcp({ parts })
    const { until, cancel } = await listening(server)
    await publish(server.gate)
    await until('notifications/tools/list_changed')
    await cancel()
  })
})

describe.each([
  ['the modern era', [], modernPost],
  [
    'the older era',
    [
      {
        jsonrpc: '2.0',
        id: 'hello',
        method: 'initialize',
        params: {
          protocolVersion: '2025-11-25',
          capabilities: {},
          clientInfo: { name: 'test', version: '1' },
        },
      },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
    ],
    (method: string, params: object, _: object, id: string): Post => ({
      body: { jsonrpc: '2.0', id, method, params },
    }),
  ],
] as const)('task type tools over stdio in %s', (era, hello, request) => {
  const Message = z.looseObject({
    id: z.string().optional(),
    method: z.string().optional(),
    result: z.unknown().optional(),
  })

  async function connect() {
    const { gate, close } = await openMcp()
    onTestFinished(close)
    const [stdin, stdout] = [new PassThrough(), new PassThrough()]
    const received: z.infer<typeof Message>[] = []
    let rest = ''
    stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      received.push(...lines.map((line) => Message.parse(JSON.parse(line))))
    })
    const handle = serveStdioMcp(gate, {
      listing: PROGRAM_LISTING,
      streams: { input: stdin, output: stdout },
    })
    onTestFinished(() => handle.close())
    const send = (body: unknown) => void stdin.write(`${JSON.stringify(body)}\n`)
    const find = (fits: (message: z.infer<typeof Message>) => boolean) =>
      vi.waitFor(
        () => {
          const found = received.find(fits)
          if (found === undefined) throw new Error('not yet')
          return found
        },
        { timeout: 20_000, interval: 10 },
      )
    const ask = (method: string, params: object, id: string) => {
      send(request(method, params, {}, id).body)
      return find((message) => message.id === id)
    }
    for (const message of hello) send(message)
    return { gate, ask, find, send }
  }

  it('tools are listed and called, and a changed list is announced', async () => {
    const { gate, ask, find, send } = await connect()
    await ask('tools/list', {}, 'first')
    if (era === 'the modern era') {
      send(request('subscriptions/listen', { notifications: { toolsListChanged: true } }, {}, 'ears').body)
      await find(({ method }) => method === 'notifications/subscriptions/acknowledged')
    }
    await register(gate)
    await find(({ method }) => method === 'notifications/tools/list_changed')
    const { result } = await ask('tools/list', {}, 'second')
    expect(Listed.parse(result).tools.map(({ name }) => name)).toContain('summarise')
    const working = work(gate, complete(gate, { summary: 'short' }))
    const called = await ask('tools/call', { name: 'summarise', arguments: { text: 'long' } }, 'call')
    await working
    expect(called.result).toMatchObject({ structuredContent: { summary: 'short' } })
  })
})

it('both revisions declare list change notifications for tools', async () => {
  const server = await startMcp()
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  }
  const hello = await server.post({
    body: { jsonrpc: '2.0', id: 0, method: 'initialize', params },
    headers: { accept: 'application/json, text/event-stream' },
  })
  expect(hello.body?.result?.capabilities).toMatchObject({ tools: { listChanged: true } })
  const discovered = await server.modern('server/discover')
  expect(discovered.body?.result?.capabilities).toMatchObject({ tools: { listChanged: true } })
})
