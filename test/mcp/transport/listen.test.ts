import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { TaskStatusNotificationV2Schema } from '@modelcontextprotocol/ext-tasks/core/v2'
import { InMemoryServerEventBus } from '@modelcontextprotocol/server'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import type { Credential } from '../../../src/auth/credential.ts'
import { defineServer } from '../../../src/mcp/server.ts'
import type { Call } from '../../../src/mcp/tools/tool.ts'
import { readMeta } from '../../../src/mcp/transport/capabilities.ts'
import { serveStdioMcp } from '../../../src/mcp/transport/stdio.ts'
import { Subscription } from '../../../src/mcp/transport/subscription.ts'
import { agent } from '../../support/gates.ts'
import { PROGRAM_LISTING } from '../../support/program.ts'
import { modernPost, openMcp, startMcp } from '../endpoint.ts'
import { type Message, type SubscriptionReader, TASKS_META, TaskClient } from '../tasks/task-client.ts'
import { complete, offerSum, progress, take, UNSERVED } from '../tasks/task-work.ts'

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'
const SHARED: Credential = { kind: 'shared', tenant: 'default' }
const ACK = 'notifications/subscriptions/acknowledged'

async function start(fastPath = true) {
  const server = await startMcp({ fastPath })
  await offerSum(server.gate)
  const client = new TaskClient(server)
  return { server, gate: server.gate, client }
}

async function acknowledged(subscription: SubscriptionReader): Promise<unknown> {
  const message = await subscription.next()
  expect(message).toMatchObject({ method: ACK, params: { _meta: { [SUBSCRIPTION]: 'ears' } } })
  return message?.params?.notifications
}

const last = { id: 'ears', result: { resultType: 'complete', _meta: { [SUBSCRIPTION]: 'ears' } } }

describe.each([true, false])('a task subscription over HTTP, fast path %s', (fastPath) => {
  it('the stream acknowledges, reports the current state and each change, and ends with the tasks', async () => {
    const { gate, client } = await start(fastPath)
    const { taskId } = await client.start('sum')
    const subscription = await client.listen({ taskIds: [taskId] })
    expect(subscription.response.headers.get('content-type')).toBe('text/event-stream')
    expect(subscription.response.headers.get('x-accel-buffering')).toBe('no')
    expect(await acknowledged(subscription)).toEqual({ taskIds: [taskId] })
    expect(await subscription.task()).toMatchObject({
      taskId,
      status: 'working',
      statusMessage: UNSERVED,
    })
    const held = await take(gate)
    expect(await subscription.task()).toMatchObject({ statusMessage: 'A worker has taken it.' })
    await progress(gate, held, { message: 'adding' })
    expect(await subscription.task()).toMatchObject({ status: 'working', statusMessage: 'adding' })
    await complete(gate, held, { sum: 3 })
    expect(await subscription.task()).toMatchObject({
      status: 'completed',
      result: { resultType: 'complete', structuredContent: { sum: 3 } },
    })
    expect(await subscription.rest()).toMatchObject([last])
  })
})

it('only existing tasks of the caller are acknowledged', async () => {
  const { server, client } = await start()
  const alices = await client.start('sum', { agent_id: 'alice' })
  const bobs = await client.start('sum', { agent_id: 'bob' })
  const bob = new TaskClient(server, { 'io.asyncgate/agent_id': 'bob' })
  const none = '01900000-0000-7000-8000-000000000000'
  const subscription = await bob.listen({ taskIds: [alices.taskId, 'x', none, bobs.taskId, bobs.taskId] })
  expect(await acknowledged(subscription)).toEqual({ taskIds: [bobs.taskId] })
  expect(await subscription.task()).toMatchObject({ taskId: bobs.taskId })
  await server.gate.cancelTask(agent('alice'), { task_id: alices.taskId })
  await server.gate.cancelTask(agent('bob'), { task_id: bobs.taskId })
  expect(await subscription.task()).toMatchObject({ taskId: bobs.taskId, status: 'cancelled' })
  expect(await subscription.rest()).toMatchObject([last])
})

it('the stream ends immediately if there is nothing to report', async () => {
  const { client } = await start()
  const subscription = await client.listen({ taskIds: ['x'] })
  expect(await acknowledged(subscription)).toEqual({ taskIds: [] })
  expect(await subscription.rest()).toMatchObject([last])
})

it('a stream with list changes does not end with its tasks', async () => {
  const { gate, client, server } = await start()
  const { taskId } = await client.start('sum')
  const subscription = await client.listen({
    taskIds: [taskId],
    toolsListChanged: true,
    promptsListChanged: true,
  })
  expect(await acknowledged(subscription)).toEqual({ taskIds: [taskId], toolsListChanged: true })
  await subscription.task()
  await client.method('tasks/cancel', taskId)
  expect(await subscription.task()).toMatchObject({ status: 'cancelled' })
  await offerSum(gate, { description: 'Adds up.' })
  expect(await subscription.next()).toMatchObject({
    method: 'notifications/tools/list_changed',
    params: { _meta: { [SUBSCRIPTION]: 'ears' } },
  })
  await server.endpoint.close()
  expect(await subscription.rest()).toMatchObject([last])
})

it('the stream is completed when the server stops', async () => {
  const { client, server } = await start()
  const { taskId } = await client.start('sum')
  const subscription = await client.listen({ taskIds: [taskId] })
  await acknowledged(subscription)
  await subscription.task()
  await server.endpoint.close()
  expect(await subscription.rest()).toMatchObject([last])
})

it('the server ends the subscription when its reader disconnects', async () => {
  const server = await openMcp()
  await offerSum(server.gate)
  const client = new TaskClient(server)
  const { taskId } = await client.start('sum')
  const subscription = await client.listen({ taskIds: [taskId] })
  await acknowledged(subscription)
  subscription.leave()
  // Closing waits for the requests in progress.
  await server.close()
})

it('a slow reader gets the latest state only', async () => {
  const { gate, client } = await start()
  const { taskId } = await client.start('sum')
  const sent: Message[] = []
  let release = () => {}
  const blocked = new Promise<void>((resolve) => (release = resolve))
  const sink = {
    async send(message: object) {
      sent.push(z.looseObject({}).parse(message))
      if (sent.length < 3) return true
      await blocked
      return false
    },
  }
  const { definition } = defineServer(gate, { onError: (error) => expect.unreachable(String(error)) })
  const call: Call = {
    credential: SHARED,
    signal: new AbortController().signal,
    ...readMeta({ _meta: TASKS_META }),
  }
  const asked = { id: 'ears', notifications: {}, taskIds: [taskId] }
  const over = new Subscription(asked, { definition, bus: new InMemoryServerEventBus(), sink, call }).run()
  await vi.waitFor(() => expect(sent).toHaveLength(2))
  const held = await take(gate)
  await vi.waitFor(() => expect(sent).toHaveLength(3))
  for (let n = 1; n <= 20; n++) await progress(gate, held, { message: `step ${n}` })
  expect(sent).toHaveLength(3)
  release()
  await vi.waitFor(() => expect(sent).toHaveLength(4))
  expect(sent[3]?.params).toMatchObject({ statusMessage: 'step 20' })
  await complete(gate, held, { sum: 3 })
  await over
  expect(sent.map(({ params }) => params?.status)).toEqual([
    undefined,
    'working',
    'working',
    'working',
    'completed',
    undefined,
  ])
})

it('a reader that reads nothing does not delay the stop of the server', async () => {
  const server = await openMcp()
  await offerSum(server.gate)
  const client = new TaskClient(server)
  const { taskId } = await client.start('sum')
  const { body, headers } = modernPost('subscriptions/listen', {
    _meta: TASKS_META,
    notifications: { taskIds: [taskId] },
  })
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const text = JSON.stringify(body)
  const head = {
    host: '127.0.0.1',
    'content-type': 'application/json',
    'content-length': text.length,
    ...headers,
  }
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.pause()
  socket.write(`POST /mcp HTTP/1.1\r\n${lines.join('')}\r\n${text}`)
  const held = await take(server.gate)
  // More data than the buffers on both sides hold.
  await complete(server.gate, held, { sum: 'x'.repeat(900_000) })
  await server.close()
})

it.each([
  ['no declared task support', {}, ['x'], 400, -32021],
  ['a value that is not a list', TASKS_META, 'x', 200, -32602],
  ['ids that are not strings', TASKS_META, [7], 200, -32602],
])('a subscription with %s is refused', async (_, meta, taskIds, status, code) => {
  const { server } = await start()
  const params = { notifications: { taskIds }, ...(meta === TASKS_META && { _meta: meta }) }
  const answer = await server.post(modernPost('subscriptions/listen', params))
  expect([answer.status, answer.body?.error?.code]).toEqual([status, code])
})

it('a request with wrong headers is refused like any other', async () => {
  const { server } = await start()
  const params = { _meta: TASKS_META, notifications: { taskIds: [] } }
  const answer = await server.post(modernPost('subscriptions/listen', params, { 'mcp-method': 'tools/list' }))
  expect([answer.status, answer.body?.error?.code]).toEqual([400, -32020])
})

describe('task subscriptions over stdio', () => {
  const Line = z.looseObject({ id: z.string().optional(), method: z.string().optional() })

  async function open() {
    const { gate, close } = await openMcp()
    onTestFinished(close)
    await offerSum(gate)
    const [stdin, stdout] = [new PassThrough(), new PassThrough()]
    const received: Message[] = []
    let rest = ''
    stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) received.push(validated(JSON.parse(line)))
    })
    const handle = serveStdioMcp(gate, {
      listing: PROGRAM_LISTING,
      streams: { input: stdin, output: stdout },
    })
    onTestFinished(() => handle.close())
    const send = (body: unknown) => void stdin.write(`${JSON.stringify(body)}\n`)
    const ask = async (method: string, params: object, id: string) => {
      send(modernPost(method, { _meta: TASKS_META, ...params }, {}, id).body)
      return find((message) => message.id === id)
    }
    const find = (fits: (message: Message) => boolean) =>
      vi.waitFor(
        () => {
          const found = received.find(fits)
          if (found === undefined) throw new Error('not yet')
          return found
        },
        { timeout: 20_000, interval: 10 },
      )
    const notified = (words: string) =>
      find(({ method, params }) => method === 'notifications/tasks' && params?.statusMessage === words)
    return { gate, ask, find, send, notified, received, handle }
  }

  function validated(value: unknown): Message {
    const { method } = Line.parse(value)
    if (method === 'notifications/tasks') TaskStatusNotificationV2Schema.parse(value)
    return z.looseObject({}).parse(value)
  }

  it('tasks are called, read and subscribed to', async () => {
    const { gate, ask, find, send, notified, received, handle } = await open()
    const called = await ask('tools/call', { name: 'sum', arguments: {} }, 'call')
    const taskId = String(called.result?.taskId)
    expect((await ask('tasks/get', { taskId }, 'get')).result).toMatchObject({ status: 'working' })
    const notifications = { taskIds: [taskId], toolsListChanged: true }
    send(modernPost('subscriptions/listen', { _meta: TASKS_META, notifications }, {}, 'ears').body)
    expect(await find(({ method }) => method === ACK)).toMatchObject({ params: { notifications } })
    await notified(UNSERVED)
    await take(gate)
    await notified('A worker has taken it.')
    await offerSum(gate, { description: 'Adds up.' })
    await find(({ method }) => method === 'notifications/tools/list_changed')
    await handle.close()
    await find(({ id }) => id === 'ears')
    expect(received.filter(({ method }) => method === ACK)).toHaveLength(1)
  })

  it('a canceled subscription gets no more notifications', async () => {
    const { gate, ask, find, send, notified, received } = await open()
    const taskId = String((await ask('tools/call', { name: 'sum', arguments: {} }, 'call')).result?.taskId)
    for (const id of ['first', 'second']) {
      const params = { _meta: TASKS_META, notifications: { taskIds: [taskId] } }
      send(modernPost('subscriptions/listen', params, {}, id).body)
      await find(({ method, params }) => method === ACK && params?._meta[SUBSCRIPTION] === id)
    }
    const params = { requestId: 'first', _meta: TASKS_META }
    send({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    await ask('tasks/get', { taskId }, 'get')
    const before = received.length
    await take(gate)
    await notified('A worker has taken it.')
    await ask('tasks/cancel', { taskId }, 'cancel')
    await find(({ id }) => id === 'second')
    const later = received.slice(before)
    expect(
      later.filter(({ id, params }) => id === 'first' || params?._meta[SUBSCRIPTION] === 'first'),
    ).toEqual([])
  })

  it('a client that does not declare tasks is refused', async () => {
    const { send, find } = await open()
    send(modernPost('subscriptions/listen', { notifications: { taskIds: [] } }, {}, 'ears').body)
    expect(await find(({ id }) => id === 'ears')).toMatchObject({ error: { code: -32021 } })
  })
})
