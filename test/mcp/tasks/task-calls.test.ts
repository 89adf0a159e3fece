import { PassThrough } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import type { Credential } from '../../../src/auth/credential.ts'
import type { Gate } from '../../../src/features/gate.ts'
import { type TaskHandlers, taskHandlers } from '../../../src/mcp/tasks/task-handlers.ts'
import type { Call, TaskTool } from '../../../src/mcp/tools/tool.ts'
import { serveStdioMcp } from '../../../src/mcp/transport/stdio.ts'
import { agent } from '../../support/gates.ts'
import { PROGRAM_LISTING } from '../../support/program.ts'
import { modernPost, openMcp, startMcp } from '../endpoint.ts'
import { TASKS_META, TaskClient } from './task-client.ts'
import { complete, offerSum, take } from './task-work.ts'

const SHARED: Credential = { kind: 'shared', tenant: 'default' }

/** A tool whose calls are tasks of alice. */
const toolOver = (gate: Gate, more: Partial<TaskTool>): TaskTool => ({
  definition: { name: 'sum', inputSchema: { type: 'object' } },
  waitSeconds: 20,
  callerOf: () => agent(),
  create: async () => ({ caller: agent(), created: await gate.createTask(agent(), { type: 'sum' }) }),
  ...more,
})

describe('task tools', () => {
  async function open(): Promise<{ gate: Gate; definition: TaskHandlers }> {
    const { gate, close } = await openMcp()
    onTestFinished(close)
    const onError = (error: unknown) => expect.unreachable(String(error))
    return { gate, definition: taskHandlers({ gate, waitTool: 'wait', onError }) }
  }

  const call = (tasks?: Call['tasks']): Call => ({
    credential: SHARED,
    listing: PROGRAM_LISTING,
    signal: new AbortController().signal,
    tasks,
  })

  it('a quick result replaces the handle within quickSeconds', async () => {
    const { gate, definition } = await open()
    const working = take(gate).then((held) => complete(gate, held, { sum: 3 }))
    const quick = await definition.calls.call(toolOver(gate, { quickSeconds: 20 }), {}, call('handle'))
    await working
    expect(quick).toMatchObject({ structuredContent: { sum: 3 } })
    expect(quick).not.toHaveProperty('taskId')
    const slow = await definition.calls.call(toolOver(gate, { quickSeconds: 0.01 }), {}, call('handle'))
    expect(slow).toMatchObject({ resultType: 'task', status: 'working' })
  })

  it('a task is canceled at the end of the wait only with cancelsAtTimeout', async () => {
    const { gate, definition } = await open()
    const keeps = await definition.calls.call(toolOver(gate, { waitSeconds: 0 }), {}, call())
    expect(keeps).toMatchObject({ structuredContent: { status: 'queued', done: false } })
    const cancels = toolOver(gate, { waitSeconds: 0, cancelsAtTimeout: true })
    const canceled = await definition.calls.call(cancels, {}, call())
    expect(canceled).toMatchObject({ isError: true, structuredContent: { status: 'canceled' } })
    const { tasks } = await gate.listTasks(agent())
    expect(tasks.map(({ status }) => status)).toEqual(['canceled', 'queued'])
  })

  it('a task that waits for approval is never canceled', async () => {
    const { gate, definition } = await open()
    const tool = toolOver(gate, { cancelsAtTimeout: true })
    const answering = definition.calls.call(tool, {}, call())
    const held = await take(gate)
    const worker = { tenant: 'default', principal: { kind: 'worker', id: 'w1' }, role: 'worker' } as const
    await gate.ask(worker, { ...held, kind: 'approval', request: { title: 'Sure?' } })
    expect(await answering).toMatchObject({ structuredContent: { status: 'pending_approval' } })
    expect(await gate.getTask(agent(), { task_id: held.task_id })).toMatchObject({
      status: 'pending_approval',
    })
  })
})

it('a client that cannot set headers authenticates with a key in _meta', async () => {
  const KEY = 'a-key-that-is-long-enough'
  const server = await startMcp({ apiKey: KEY })
  await offerSum(server.gate)
  const client = new TaskClient(server, { 'io.asyncgate/auth_token': KEY })
  const { taskId } = await client.start('sum')
  expect(await client.get(taskId)).toMatchObject({ status: 'working' })
  const stranger = new TaskClient(server, { 'io.asyncgate/auth_token': 'another' })
  expect((await stranger.method('tasks/get', taskId)).status).toBe(401)
})

it('a bound key finds the tasks of its principal, whatever identity the request names', async () => {
  const { gate, close } = await openMcp()
  onTestFinished(close)
  const Reply = z.looseObject({
    id: z.string(),
    result: z.unknown().optional(),
    error: z.unknown().optional(),
  })
  const ask = async (id: string, taskId: string, meta: object = {}) => {
    const credential: Credential = { kind: 'bound', ...agent(id) }
    const [stdin, stdout] = [new PassThrough(), new PassThrough()]
    const handle = serveStdioMcp(gate, {
      listing: PROGRAM_LISTING,
      credential,
      streams: { input: stdin, output: stdout },
    })
    const { body } = modernPost('tasks/get', { taskId, _meta: { ...TASKS_META, ...meta } }, {}, 'x')
    const answered = new Promise<string>((resolve) => stdout.setEncoding('utf8').once('data', resolve))
    stdin.write(`${JSON.stringify(body)}\n`)
    const reply = Reply.parse(JSON.parse(await answered))
    await handle.close()
    return reply
  }
  const { task_id } = await gate.createTask(agent('alice'), { type: 'x' })
  expect(await ask('alice', task_id)).toMatchObject({ result: { taskId: task_id, status: 'working' } })
  const unknown = { error: { code: -32602, message: expect.stringContaining('Unknown task') } }
  expect(await ask('mallory', task_id)).toMatchObject(unknown)
  expect(await ask('mallory', task_id, { 'io.asyncgate/agent_id': 'alice' })).toMatchObject(unknown)
})
