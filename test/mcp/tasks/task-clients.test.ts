import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  type ApplicationInputCallbacks,
  createApplicationInputHandler,
  createTaskSessionFromClient,
  type RawClientDispatch,
  resultFromTaskOutcome,
  type TaskEnabledSession,
} from '@modelcontextprotocol/ext-tasks/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { admin, worker } from '../../support/gates.ts'
import { type McpServer, MODERN, startMcp } from '../endpoint.ts'
import { CONSOLE, offerApproved } from './asked-clients.ts'
import { complete, offerSum, progress, take } from './task-work.ts'

const INFO = { name: 'test', version: '1' }

async function start(): Promise<McpServer> {
  const server = await startMcp()
  await offerSum(server.gate)
  return server
}

describe('tasks with SDK v1', () => {
  async function connect(server: McpServer): Promise<ClientV1> {
    const client = new ClientV1(INFO)
    await client.connect(new HttpTransportV1(new URL(server.url)))
    onTestFinished(() => client.close())
    await client.listTools()
    return client
  }

  it('the client follows a task to its result', async () => {
    const server = await start()
    const client = await connect(server)
    const working = take(server.gate).then(async (held) => {
      await progress(server.gate, held, { percent: 50 })
      return held
    })
    const stream = client.experimental.tasks.callToolStream(
      { name: 'sum', arguments: {} },
      CallToolResultSchema,
    )
    const seen: string[] = []
    let result: unknown
    for await (const message of stream) {
      seen.push(message.type)
      if (message.type === 'taskCreated') await complete(server.gate, await working, { sum: 3 })
      if (message.type === 'result') result = message.result
    }
    expect(seen).toEqual(['taskCreated', 'taskStatus', 'result'])
    expect(result).toMatchObject({ structuredContent: { sum: 3 } })
  })

  it('the client lists, reads and cancels tasks', async () => {
    const server = await start()
    const client = await connect(server)
    const stream = client.experimental.tasks.callToolStream(
      { name: 'sum', arguments: {} },
      CallToolResultSchema,
    )
    const { value: created } = await stream.next()
    const { tasks } = await client.experimental.tasks.listTasks()
    const taskId = tasks[0]?.taskId ?? ''
    expect(created).toMatchObject({ type: 'taskCreated', task: { taskId } })
    expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ status: 'working' })
    expect(await client.experimental.tasks.cancelTask(taskId)).toMatchObject({ status: 'cancelled' })
    await stream.return()
  })
})

/** The raw dispatch that hosts pass to ext-tasks, because the SDK itself does not support tasks. */
function rawDispatch(url: string): RawClientDispatch {
  let id = 0
  const Request = z.looseObject({
    method: z.string(),
    params: z.looseObject({ name: z.string().optional() }),
  })
  const Reply = z.union([
    z.object({ result: z.json() }),
    z.object({ error: z.object({ code: z.int(), message: z.string(), data: z.json().optional() }) }),
  ])
  return async (request, options) => {
    const { method, params } = Request.parse(request)
    const headers = new Headers({
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': MODERN,
      'mcp-method': method,
      ...(params.name !== undefined && { 'mcp-name': params.name }),
    })
    for (const [name, value] of Object.entries(options?.context?.headers ?? {})) headers.set(name, value)
    id++
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
      ...(options?.signal && { signal: options.signal }),
    })
    const reply = Reply.parse(await response.json())
    return 'result' in reply
      ? { kind: 'result', result: reply.result }
      : { kind: 'error', error: reply.error }
  }
}

const unasked = () => expect.unreachable('only forms are asked for')

const ANSWERS: ApplicationInputCallbacks = {
  elicitation: () => ({ action: 'accept', content: { city: 'Rome' } }),
  sampling: unasked,
  roots: unasked,
}

describe.each(['modern', 'legacy'] as const)('ext-tasks with SDK v2, %s', (era) => {
  async function connect(
    server: McpServer,
    elicitation: Record<string, Record<string, string>> = {},
    answers: ApplicationInputCallbacks = ANSWERS,
  ): Promise<TaskEnabledSession> {
    const client = new Client(INFO, { versionNegotiation: { mode: era === 'modern' ? 'auto' : 'legacy' } })
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url)))
    const framing = {
      protocolVersion: MODERN,
      clientInfo: INFO,
      clientCapabilities: { elicitation, extensions: { 'io.modelcontextprotocol/tasks': {} } },
    }
    const session = createTaskSessionFromClient(client, {
      endpointId: 'gate',
      ...(era === 'modern' && { rawDispatch: rawDispatch(server.url), v2RequestFraming: framing }),
      onInputRequest: createApplicationInputHandler(answers),
    })
    onTestFinished(async () => {
      await session.close()
      await client.close()
    })
    return session
  }

  const declaration = { name: 'sum', inputSchema: { type: 'object' }, taskSupport: 'optional' } as const

  it('a task runs to its result', async () => {
    const server = await start()
    const session = await connect(server)
    const execution = await session.callTool('sum', {}, { declaration, task: { preference: 'require' } })
    expect(execution.kind).toBe('task')
    await complete(server.gate, await take(server.gate), { sum: 3 })
    const { outcome } = await execution.settle()
    expect(resultFromTaskOutcome(outcome)).toMatchObject({ structuredContent: { sum: 3 } })
  })

  it('a task can be canceled', async () => {
    const server = await start()
    const session = await connect(server)
    const execution = await session.callTool('sum', {}, { declaration, task: { preference: 'require' } })
    await execution.cancel()
    expect((await execution.result()).status).toBe('cancelled')
  })

  if (era === 'modern') {
    it('the client answers the question of a task', async () => {
      const server = await start()
      const session = await connect(server)
      const execution = await session.callTool('sum', {})
      const settled = execution.settle()
      const schema = { type: 'object', properties: { city: { type: 'string' } } }
      const request = { message: 'Where to?', schema }
      await server.gate.ask(worker(), { ...(await take(server.gate)), kind: 'input', request })
      const { tasks } = await server.gate.leaseNext(worker(), { worker_id: 'w1', wait_seconds: 20 })
      const [offer] = tasks
      expect(offer?.answers).toMatchObject([{ answer: { content: { city: 'Rome' } } }])
      const held = { worker_id: 'w1', task_id: offer?.task_id ?? '', lease_id: offer?.lease_id ?? '' }
      await complete(server.gate, held, { to: 'Rome' })
      const { outcome } = await settled
      expect(resultFromTaskOutcome(outcome)).toMatchObject({ structuredContent: { to: 'Rome' } })
    })

    it('the client shows the link of an approval once, and the task continues after the decision', async () => {
      const server = await startMcp({ parts: () => ({ address: () => CONSOLE }) })
      await offerApproved(server.gate)
      const shown: unknown[] = []
      const session = await connect(
        server,
        { url: {} },
        {
          ...ANSWERS,
          elicitation: (params) => {
            shown.push(params)
            return { action: 'accept' }
          },
        },
      )
      const execution = await session.callTool('sum', {})
      const settled = execution.settle()
      await expect.poll(() => shown.length, { timeout: 10_000 }).toBe(1)
      const { tasks } = await server.gate.listTasks(admin(), {})
      const task_id = tasks[0]?.task_id
      expect(await server.gate.getApproval(admin(), { task_id })).toMatchObject({ state: 'open' })
      await server.gate.approve(admin(), { task_id })
      await complete(server.gate, await take(server.gate), { sum: 3 })
      const { outcome } = await settled
      expect(resultFromTaskOutcome(outcome)).toMatchObject({ structuredContent: { sum: 3 } })
      expect(shown).toHaveLength(1)
    })
  }
})
