import { describe, expect, it } from 'vitest'
import { agent, worker } from '../../support/gates.ts'
import { contentOf, type McpServer, startMcp } from '../endpoint.ts'
import { TaskClient } from './task-client.ts'
import { complete, fail, offerSum, progress, take, UNSERVED } from './task-work.ts'

const ARGS = { numbers: [1, 2] }

describe.each([
  ['the fast path', true],
  ['the SDK', false],
])('the Tasks extension, through %s', (_, fastPath) => {
  async function start(): Promise<{ server: McpServer; client: TaskClient }> {
    const server = await startMcp({ fastPath })
    await offerSum(server.gate)
    return { server, client: new TaskClient(server) }
  }

  it('the extension is declared, and legacy tasks are not', async () => {
    const { server } = await start()
    const { body } = await server.modern('server/discover')
    expect(body?.result?.capabilities).toEqual({
      tools: { listChanged: true },
      prompts: {},
      resources: { subscribe: true },
      completions: {},
      extensions: { 'io.modelcontextprotocol/tasks': {} },
    })
  })

  it('a call returns a handle that every API can read', async () => {
    const { server, client } = await start()
    const task = await client.start('sum', { ...ARGS, agent_id: 'alice' })
    expect(task).toMatchObject({ status: 'working', statusMessage: UNSERVED, ttlMs: null })
    expect(task).not.toHaveProperty('result')
    const view = await server.gate.getTask(agent('alice'), { task_id: task.taskId })
    expect(view).toMatchObject({ type: 'sum', payload: ARGS, created_at: task.createdAt })
    const seen = await client.get(task.taskId)
    const { content: _, ...handle } = task
    expect(seen).toEqual({ ...handle, resultType: 'complete' })
  })

  it('the status message says that no worker serves the type until one does', async () => {
    const { server, client } = await start()
    const { taskId, statusMessage } = await client.start('sum', ARGS)
    expect(statusMessage).toBe(UNSERVED)
    await server.gate.registerWorker(worker('w2'), { worker_id: 'w2', accept_types: ['sum'] })
    expect((await client.get(taskId)).statusMessage).toBe('Waits for a worker.')
    expect((await client.start('sum', ARGS)).statusMessage).toBe('Waits for a worker.')
    await server.gate.unregisterWorker(worker('w2'), { worker_id: 'w2' })
    expect((await client.get(taskId)).statusMessage).toBe(UNSERVED)
  })

  it('tasks/get returns progress and includes the result', async () => {
    const { server, client } = await start()
    const { taskId } = await client.start('sum', ARGS)
    const held = await take(server.gate)
    expect(await client.get(taskId)).toMatchObject({
      status: 'working',
      statusMessage: 'A worker has taken it.',
    })
    await progress(server.gate, held, { percent: 40, message: 'adding' })
    expect(await client.get(taskId)).toMatchObject({ status: 'working', statusMessage: '40 %: adding' })
    await complete(server.gate, held, { sum: 3 })
    const done = await client.get(taskId)
    expect(done).toMatchObject({
      status: 'completed',
      result: { resultType: 'complete', structuredContent: { sum: 3 } },
    })
    expect(done.result).not.toHaveProperty('isError')
  })

  it('a failed task is completed with an error result, and a JSON-RPC error makes it failed', async () => {
    const { server, client } = await start()
    const unlucky = await client.start('sum', ARGS)
    await fail(server.gate, await take(server.gate), { code: 'NO_LUCK', message: 'no luck' })
    expect(await client.get(unlucky.taskId)).toMatchObject({
      status: 'completed',
      statusMessage: 'Failed: no luck',
      result: { isError: true, structuredContent: { status: 'failed', error: { code: 'NO_LUCK' } } },
    })
    const broken = await client.start('sum', ARGS)
    await fail(server.gate, await take(server.gate), { code: -32602, message: 'bad args', data: { a: 1 } })
    const seen = await client.get(broken.taskId)
    expect(seen).toMatchObject({
      status: 'failed',
      error: { code: -32602, message: 'bad args', data: { a: 1 } },
    })
    expect(seen).not.toHaveProperty('result')
  })

  it('tasks/cancel cancels an open task and acknowledges an ended one', async () => {
    const { server, client } = await start()
    const ack = { resultType: 'complete', _meta: expect.anything() }
    const running = await client.start('sum', ARGS)
    await take(server.gate)
    expect((await client.method('tasks/cancel', running.taskId)).body?.result).toEqual(ack)
    expect(await client.get(running.taskId)).toMatchObject({ status: 'cancelled' })
    expect((await client.method('tasks/cancel', running.taskId)).body?.result).toEqual(ack)
    const done = await client.start('sum', ARGS)
    await complete(server.gate, await take(server.gate), { sum: 3 })
    expect((await client.method('tasks/cancel', done.taskId)).body?.result).toEqual(ack)
    expect(await client.get(done.taskId)).toMatchObject({ status: 'completed' })
  })

  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '%s refuses a task that is missing, not visible, or has an invalid id',
    async (method) => {
      const { server, client } = await start()
      const { taskId } = await client.start('sum', { ...ARGS, agent_id: 'alice' })
      const more = method === 'tasks/update' ? { inputResponses: {} } : {}
      const mallory = new TaskClient(server, { 'io.asyncgate/agent_id': 'mallory' })
      const none = '01900000-0000-7000-8000-000000000000'
      for (const [who, id] of [
        [client, none],
        [client, 'x'],
        [mallory, taskId],
      ] as const) {
        const { status, body } = await who.method(method, id, more)
        expect(status).toBe(200)
        expect(body?.error).toMatchObject({ code: -32602, message: expect.stringContaining('Unknown task') })
      }
      expect((await server.gate.getTask(agent('alice'), { task_id: taskId })).status).toBe('queued')
      const alice = new TaskClient(server, { 'io.asyncgate/agent_id': 'alice' })
      expect((await alice.method(method, taskId, more)).body?.error).toBeUndefined()
    },
  )

  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '%s requires the declared extension',
    async (method) => {
      const { server, client } = await start()
      const { taskId } = await client.start('sum', ARGS)
      const { status, body } = await server.modern(method, { taskId }, { 'mcp-name': taskId })
      expect(status).toBe(400)
      expect(body?.error).toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
      })
    },
  )

  it.each(['tasks/list', 'tasks/result'])('%s does not exist', async (method) => {
    const { client } = await start()
    const { status, body } = await client.ask(method, { taskId: 'x' }, 'x')
    expect([status, body?.error?.code]).toEqual([404, -32601])
  })

  it.each([
    ['another task', 'other'],
    ['no task', undefined],
  ])('a request whose headers name %s is refused', async (_, name) => {
    const { client } = await start()
    const { taskId } = await client.start('sum', ARGS)
    const { status, body } = await client.ask('tasks/get', { taskId }, name)
    expect([status, body?.error?.code]).toEqual([400, -32020])
  })

  it('invalid arguments are refused as a tool result', async () => {
    const { server, client } = await start()
    const { body } = await client.call('sum', { numbers: 'x' })
    expect(body?.result).toMatchObject({ resultType: 'complete', isError: true })
    expect((await server.gate.listTasks(agent('alice'))).tasks).toEqual([])
  })

  it('create_task becomes a task only on request', async () => {
    const { server, client } = await start()
    const plain = await client.call('asyncgate.create_task', { type: 'x', agent_id: 'alice' })
    expect(contentOf(plain)).toMatchObject({ status: 'queued', receipt_id: expect.any(String) })
    const asking = new TaskClient(server, { 'io.asyncgate/task': true })
    const task = await asking.start('asyncgate.create_task', { type: 'x', agent_id: 'alice' })
    expect(await asking.get(task.taskId)).toMatchObject({ status: 'working' })
    const again = { type: 'x', agent_id: 'alice', idempotency_key: 'k' }
    const first = await asking.start('asyncgate.create_task', again)
    await server.gate.cancelTask(agent('alice'), { task_id: first.taskId })
    const second = await asking.start('asyncgate.create_task', again)
    expect(second).toMatchObject({ taskId: first.taskId, status: 'cancelled', createdAt: first.createdAt })
  })

  it('the caller is identified by _meta, and arguments take precedence', async () => {
    const { server } = await start()
    const alice = new TaskClient(server, { 'io.asyncgate/agent_id': 'alice' })
    const { taskId } = await alice.start('sum', ARGS)
    expect(await server.gate.getTask(agent('alice'), { task_id: taskId })).toMatchObject({
      created_by: { kind: 'agent', id: 'alice' },
    })
    const other = await alice.start('sum', { ...ARGS, agent_id: 'bob' })
    expect((await alice.method('tasks/get', other.taskId)).body?.error?.code).toBe(-32602)
    const listed = contentOf(await alice.call('asyncgate.list_tasks'))
    expect(listed.tasks).toMatchObject([{ task_id: taskId }])
  })
})

it('fast path and SDK return the same task results', async () => {
  const server = await startMcp()
  const slow = await startMcp({ fastPath: false })
  const volatile = /"(taskId|task_id|createdAt|lastUpdatedAt|pollIntervalMs)":("[^"]*"|\d+)/g
  const seen = []
  for (const one of [server, slow]) {
    await offerSum(one.gate)
    const client = new TaskClient(one)
    const answers = [await client.call('sum', ARGS)]
    const id = String(answers[0]?.body?.result?.taskId)
    const look = async () => answers.push(await client.method('tasks/get', id))
    await look()
    const held = await take(one.gate)
    await progress(one.gate, held, { percent: 5 })
    await look()
    answers.push(await client.method('tasks/update', id, { inputResponses: { q1: { action: 'decline' } } }))
    await complete(one.gate, held, { sum: 3 })
    await look()
    answers.push(await client.method('tasks/cancel', id), await client.method('tasks/get', 'none'))
    seen.push(answers.map(({ status, body }) => [status, normal(body, volatile)]))
  }
  expect(seen[0]).toEqual(seen[1])
})

/** Removes the values that differ between tasks, and sorts the keys. */
function normal(body: unknown, volatile: RegExp): unknown {
  return JSON.parse(JSON.stringify(body).replace(volatile, '"$1":0'))
}
