import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  GetTaskResultSchema,
  ListTasksResultSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { serveStdioMcp } from '../../../src/mcp/transport/stdio.ts'
import { admin, agent, worker } from '../../support/gates.ts'
import { PROGRAM_LISTING } from '../../support/program.ts'
import { type Answer, contentOf, type McpServer, openMcp, startMcp } from '../endpoint.ts'
import { complete, fail, offerSum, progress, take, UNSERVED } from './task-work.ts'

/** The schemas of the SDK of that revision, by which each result is validated. */
const RESULT_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  'tasks/get': GetTaskResultSchema,
  'tasks/cancel': GetTaskResultSchema,
  'tasks/list': ListTasksResultSchema,
  'tasks/result': CallToolResultSchema,
}

async function ask(server: McpServer, method: string, params: object = {}): Promise<Answer> {
  const answer = await server.post({ body: { jsonrpc: '2.0', id: 1, method, params } })
  if (answer.body?.result !== undefined) RESULT_SCHEMAS[method]?.parse(answer.body.result)
  return answer
}

const resultOf = async (server: McpServer, method: string, params: object = {}) =>
  (await ask(server, method, params)).body?.result

async function begin(server: McpServer, args: object = {}, meta?: object): Promise<string> {
  const params = { name: 'sum', arguments: args, task: { ttl: 60_000 }, ...(meta && { _meta: meta }) }
  const { body } = await ask(server, 'tools/call', params)
  const { task } = CreateTaskResultSchema.parse(body?.result)
  const statusMessage = expect.stringMatching(/^Waits for a worker\./)
  expect(task).toMatchObject({ status: 'working', statusMessage, ttl: null })
  return task.taskId
}

async function start(): Promise<McpServer> {
  const server = await startMcp()
  await offerSum(server.gate)
  return server
}

describe('tasks of 2025-11-25', () => {
  it('the handshake and the tools declare task support', async () => {
    const server = await start()
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    }
    const hello = await resultOf(server, 'initialize', params)
    expect(hello?.capabilities).toEqual({
      tools: { listChanged: true },
      prompts: {},
      resources: { subscribe: true },
      completions: {},
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
      logging: {},
    })
    const { tools } = z
      .object({ tools: z.array(z.looseObject({ name: z.string(), execution: z.unknown().optional() })) })
      .parse(await resultOf(server, 'tools/list'))
    expect(tools.filter(({ execution }) => execution !== undefined)).toMatchObject([
      { name: 'asyncgate_create_task', execution: { taskSupport: 'optional' } },
      { name: 'sum', execution: { taskSupport: 'optional' } },
    ])
  })

  it('a call becomes a task only on request', async () => {
    const server = await start()
    await offerSum(server.gate, { tool: { name: 'sum', wait_seconds: 0 } })
    const { body } = await ask(server, 'tools/call', { name: 'sum', arguments: {} })
    expect(body?.result).not.toHaveProperty('task')
    expect(body?.result?.structuredContent).toMatchObject({ done: false })
    const plain = await ask(server, 'tools/call', { name: 'asyncgate.create_task', arguments: { type: 'x' } })
    expect(contentOf(plain)).toMatchObject({ receipt_id: expect.any(String) })
    const params = { name: 'asyncgate.create_task', arguments: { type: 'x' }, task: {} }
    const asked = await ask(server, 'tools/call', params)
    expect(asked.body?.result).toMatchObject({ content: [], task: { status: 'working' } })
  })

  it('the status message says that no worker serves the type until one does', async () => {
    const server = await start()
    const params = { name: 'sum', arguments: {}, task: {} }
    const { task } = CreateTaskResultSchema.parse(await resultOf(server, 'tools/call', params))
    expect(task.statusMessage).toBe(UNSERVED)
    const asked = () => resultOf(server, 'tasks/get', { taskId: task.taskId })
    expect(await asked()).toMatchObject({ statusMessage: UNSERVED })
    await server.gate.registerWorker(worker('w2'), { worker_id: 'w2', accept_types: ['sum'] })
    expect(await asked()).toMatchObject({ statusMessage: 'Waits for a worker.' })
  })

  it('tasks/get and tasks/result work, and tasks/result can be repeated', async () => {
    const server = await start()
    const taskId = await begin(server)
    const waiting = resultOf(server, 'tasks/result', { taskId })
    const held = await take(server.gate)
    await progress(server.gate, held, { percent: 40 })
    expect(await resultOf(server, 'tasks/get', { taskId })).toMatchObject({
      taskId,
      status: 'working',
      statusMessage: '40 %',
      pollInterval: expect.any(Number),
    })
    await complete(server.gate, held, { sum: 3 })
    const result = {
      structuredContent: { sum: 3 },
      _meta: { 'io.modelcontextprotocol/related-task': { taskId } },
    }
    expect(await waiting).toMatchObject(result)
    expect(await resultOf(server, 'tasks/result', { taskId })).toMatchObject(result)
    expect(await resultOf(server, 'tasks/get', { taskId })).toMatchObject({ status: 'completed' })
  })

  it('a failed task has a tool result, and a JSON-RPC error is returned as an error', async () => {
    const server = await start()
    const unlucky = await begin(server)
    await fail(server.gate, await take(server.gate), { message: 'no luck' })
    expect(await resultOf(server, 'tasks/get', { taskId: unlucky })).toMatchObject({ status: 'completed' })
    expect(await resultOf(server, 'tasks/result', { taskId: unlucky })).toMatchObject({
      isError: true,
      structuredContent: { error: { message: 'no luck' } },
    })
    const broken = await begin(server)
    await fail(server.gate, await take(server.gate), { code: -32602, message: 'bad args', data: { a: 1 } })
    expect(await resultOf(server, 'tasks/get', { taskId: broken })).toMatchObject({ status: 'failed' })
    const { body } = await ask(server, 'tasks/result', { taskId: broken })
    expect(body?.error).toMatchObject({ code: -32602, message: 'bad args', data: { a: 1 } })
  })

  it('tasks/list returns pages, newest first', async () => {
    const server = await start()
    const ids: string[] = []
    for (let n = 0; n < 60; n++) {
      ids.unshift((await server.gate.createTask(agent('alice'), { type: 'x' })).task_id)
    }
    const first = ListTasksResultSchema.parse(await resultOf(server, 'tasks/list'))
    expect(first.tasks.map(({ taskId }) => taskId)).toEqual(ids.slice(0, 50))
    const second = ListTasksResultSchema.parse(
      await resultOf(server, 'tasks/list', { cursor: first.nextCursor }),
    )
    expect(second.tasks.map(({ taskId }) => taskId)).toEqual(ids.slice(50))
    expect(second.nextCursor).toBeUndefined()
    expect((await ask(server, 'tasks/list', { cursor: 'x' })).body?.error?.code).toBe(-32602)
    const _meta = { 'io.asyncgate/agent_id': 'bob' }
    expect(await resultOf(server, 'tasks/list', { _meta })).toMatchObject({ tasks: [] })
  })

  it('an open task can be canceled', async () => {
    const server = await start()
    const taskId = await begin(server)
    const waiting = resultOf(server, 'tasks/result', { taskId })
    expect(await resultOf(server, 'tasks/cancel', { taskId })).toMatchObject({ taskId, status: 'cancelled' })
    expect(await waiting).toMatchObject({ isError: true, structuredContent: { status: 'canceled' } })
    expect((await ask(server, 'tasks/cancel', { taskId })).body?.error?.code).toBe(-32602)
  })

  it.each(['tasks/get', 'tasks/result', 'tasks/cancel'])(
    '%s does not find tasks of other callers',
    async (method) => {
      const server = await start()
      const taskId = await begin(server, { agent_id: 'alice' })
      const _meta = { 'io.asyncgate/agent_id': 'mallory' }
      for (const params of [{ taskId, _meta }, { taskId: 'x' }]) {
        expect((await ask(server, method, params)).body?.error?.code).toBe(-32602)
      }
      expect((await server.gate.getTask(admin(), { task_id: taskId })).status).toBe('queued')
    },
  )

  it('a task that needs input asks in its status message, because legacy clients cannot be asked', async () => {
    const server = await start()
    const taskId = await begin(server)
    const request = { message: 'Where to?' }
    const result = resultOf(server, 'tasks/result', { taskId })
    await server.gate.ask(worker(), { ...(await take(server.gate)), kind: 'input', request })
    expect(await resultOf(server, 'tasks/get', { taskId })).toMatchObject({
      status: 'working',
      statusMessage: expect.stringContaining('Where to?'),
    })
    await server.gate.answerQuestion(admin(), { task_id: taskId, content: 'Rome' })
    await complete(server.gate, await take(server.gate), { to: 'Rome' })
    expect(await result).toMatchObject({ structuredContent: { to: 'Rome' } })
  })

  it('tasks/result ends with an error when the server stops', async () => {
    const server = await start()
    const taskId = await begin(server)
    const waiting = ask(server, 'tasks/result', { taskId })
    await server.endpoint.close()
    expect((await waiting).body?.error?.code).toBe(-32603)
  })
})

it('a call over stdio becomes a task and can be followed', async () => {
  const { gate, close } = await openMcp()
  onTestFinished(close)
  await offerSum(gate)
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const handle = serveStdioMcp(gate, { listing: PROGRAM_LISTING, streams: { input: stdin, output: stdout } })
  onTestFinished(() => handle.close())
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  const request = async (method: string, params: object) => {
    stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}\n`)
    const { value } = await lines.next()
    return z.looseObject({ result: z.looseObject({}) }).parse(JSON.parse(String(value))).result
  }
  const clientInfo = { name: 'test', version: '1' }
  await request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  const called = await request('tools/call', { name: 'sum', arguments: {}, task: {} })
  const { taskId } = CreateTaskResultSchema.parse(called).task
  await complete(gate, await take(gate), { sum: 3 })
  expect(await request('tasks/result', { taskId })).toMatchObject({ structuredContent: { sum: 3 } })
})
