import { describe, expect, it } from 'vitest'
import { admin, agent, worker } from '../../support/gates.ts'
import { bareCall, contentOf, type McpServer, modernCall, startMcp } from '../endpoint.ts'
import { TaskClient } from './task-client.ts'
import { complete, type Held, offerSum, take } from './task-work.ts'

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1 } },
  required: ['city'],
}

const askInput = (server: McpServer, held: Held, request: object) =>
  server.gate.ask(worker(), { ...held, kind: 'input', request })

const accept = (content: object) => ({ action: 'accept', content })

/** The answers that a worker gets with its next lease of the task. */
async function answersOf(server: McpServer): Promise<unknown> {
  const { tasks } = await server.gate.leaseNext(worker(), { worker_id: 'w1' })
  return tasks[0]?.answers?.map(({ answer }) => answer)
}

describe.each([
  ['the fast path', true],
  ['the SDK', false],
])('a task that needs input, through %s', (_, fastPath) => {
  async function asking(request: object = { message: 'Where to?', schema: SCHEMA }, meta: object = {}) {
    const server = await startMcp({ fastPath })
    await offerSum(server.gate)
    const client = new TaskClient(server, meta)
    const { taskId } = await client.start('sum')
    await askInput(server, await take(server.gate), request)
    const update = (inputResponses: object) => client.method('tasks/update', taskId, { inputResponses })
    return { server, client, taskId, update }
  }

  it('the client gets a form, and the task continues with the answer', async () => {
    const { server, client, taskId, update } = await asking()
    expect(await client.get(taskId)).toMatchObject({
      status: 'input_required',
      statusMessage: 'Where to?',
      inputRequests: {
        q1: {
          method: 'elicitation/create',
          params: { mode: 'form', message: 'Where to?', requestedSchema: SCHEMA },
        },
      },
    })
    const { body } = await update({ q1: accept({ city: 'Rome' }), q7: accept({ city: 'Paris' }) })
    expect(body?.result).toEqual({ resultType: 'complete', _meta: expect.anything() })
    expect(await client.get(taskId)).toMatchObject({ status: 'working' })
    expect(await answersOf(server)).toEqual([{ content: { city: 'Rome' } }])
  })

  it('responses to questions that are not open are ignored', async () => {
    const { client, taskId, update } = await asking()
    for (const responses of [{}, { q2: accept({ city: 'Rome' }) }, { q1: { action: 'what' } }]) {
      expect((await update(responses)).body?.error).toBeUndefined()
      expect(await client.get(taskId)).toMatchObject({ status: 'input_required' })
    }
    await update({ q1: accept({ city: 'Rome' }) })
    expect((await update({ q1: accept({ city: 'Paris' }) })).body?.error).toBeUndefined()
  })

  it('each question has a new key', async () => {
    const { server, client, taskId, update } = await asking()
    await update({ q1: accept({ city: 'Rome' }) })
    await askInput(server, await take(server.gate), { message: 'How long?' })
    const { inputRequests } = await client.get(taskId)
    expect(Object.keys(inputRequests ?? {})).toEqual(['q2'])
    await update({ q1: accept({ answer: 'no' }), q2: accept({ answer: 'a week' }) })
    expect(await answersOf(server)).toEqual([{ content: { city: 'Rome' } }, { content: 'a week' }])
  })

  it('an invalid answer is refused, and the question stays open', async () => {
    const { client, taskId, update } = await asking()
    const { body } = await update({ q1: accept({ days: 3 }) })
    expect(body?.error).toMatchObject({ code: -32602, data: { code: 'VALIDATION_ERROR' } })
    expect(await client.get(taskId)).toMatchObject({ status: 'input_required' })
  })

  it('the form contains what forms support, and the server validates the rest', async () => {
    const choice = { type: 'array', items: { type: 'string', enum: ['sun', 'sea'] }, maxItems: 2 }
    const properties = {
      email: { type: 'string', format: 'email', title: 'Mail' },
      code: { type: 'string', format: 'ipv4', pattern: '^1', maxLength: 20 },
      size: { type: 'number', minimum: 1, maximum: 9, multipleOf: 2 },
      sure: { type: 'boolean', default: true },
      likes: choice,
    }
    const { client, taskId, update } = await asking({
      message: 'Who?',
      schema: { type: 'object', properties },
    })
    const { inputRequests } = await client.get(taskId)
    expect(inputRequests?.q1?.params).toMatchObject({
      requestedSchema: {
        properties: {
          email: { type: 'string', format: 'email', title: 'Mail' },
          code: { type: 'string', maxLength: 20 },
          size: { type: 'number', minimum: 1, maximum: 9 },
          sure: { type: 'boolean', default: true },
          likes: choice,
        },
      },
    })
    expect((await update({ q1: accept({ size: 3 }) })).body?.error?.code).toBe(-32602)
    await update({ q1: accept({ size: 4, likes: ['sea'] }) })
    expect(await client.get(taskId)).toMatchObject({ status: 'working' })
  })

  it('a schema that no form supports is answered as JSON text', async () => {
    const schema = { type: 'object', properties: { stops: { type: 'array', items: { type: 'string' } } } }
    const { server, client, taskId, update } = await asking({ message: 'Where to?', schema })
    const { inputRequests } = await client.get(taskId)
    expect(inputRequests?.q1).toMatchObject({
      params: { requestedSchema: { properties: { json: { type: 'string' } }, required: ['json'] } },
    })
    for (const wrong of [{}, { json: '{' }])
      expect((await update({ q1: accept(wrong) })).body?.error?.code).toBe(-32602)
    await update({ q1: accept({ json: '{"stops":["Rome"]}' }) })
    expect(await answersOf(server)).toEqual([{ content: { stops: ['Rome'] } }])
  })

  it('a declined question cancels the task, and a canceled form keeps it open', async () => {
    const { client, taskId, update } = await asking()
    await update({ q1: { action: 'cancel' } })
    expect(await client.get(taskId)).toMatchObject({ status: 'input_required' })
    await update({ q1: { action: 'decline' } })
    expect(await client.get(taskId)).toMatchObject({
      status: 'cancelled',
      statusMessage: expect.stringContaining('declined'),
    })
  })

  it('a client without forms gets the question as text, and the agent answers with a tool', async () => {
    const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
    const { server, client, taskId } = await asking(undefined, {
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    })
    const seen = await client.get(taskId)
    expect(seen).toMatchObject({ status: 'working', statusMessage: expect.stringContaining('Where to?') })
    expect(seen).not.toHaveProperty('inputRequests')
    expect(seen.statusMessage).toContain(`answer_question and task_id ${taskId}`)
    await client.call('asyncgate.answer_question', { task_id: taskId, content: { city: 'Rome' } })
    expect(await answersOf(server)).toEqual([{ content: { city: 'Rome' } }])
  })

  it('no other caller can answer the question', async () => {
    const { server, taskId } = await asking()
    const mallory = new TaskClient(server, { 'io.asyncgate/agent_id': 'mallory' })
    const inputResponses = { q1: accept({ city: 'Rome' }) }
    const { body } = await mallory.method('tasks/update', taskId, { inputResponses })
    expect(body?.error?.code).toBe(-32602)
    expect((await server.gate.getTask(admin(), { task_id: taskId })).status).toBe('input_required')
  })
})

it('a subscription reports that input is needed', async () => {
  const server = await startMcp()
  await offerSum(server.gate)
  const client = new TaskClient(server)
  const { taskId } = await client.start('sum')
  const subscription = await client.listen({ taskIds: [taskId] })
  await subscription.next()
  await subscription.task()
  const held = await take(server.gate)
  await subscription.task()
  await askInput(server, held, { message: 'Where to?', schema: SCHEMA })
  expect(await subscription.task()).toMatchObject({ status: 'input_required', inputRequests: { q1: {} } })
  await client.method('tasks/update', taskId, { inputResponses: { q1: accept({ city: 'Rome' }) } })
  expect(await subscription.task()).toMatchObject({ status: 'working' })
  await complete(server.gate, await take(server.gate), {})
  subscription.leave()
})

describe('tasks that wait for approval', () => {
  async function start() {
    const server = await startMcp()
    await offerSum(server.gate)
    await server.gate.registerTaskType(admin(), {
      type: 'quick',
      tool: { name: 'quick', wait_seconds: 50 },
    })
    return server
  }

  it('the task is working, and its status message says who can approve it and how', async () => {
    const server = await start()
    const client = new TaskClient(server)
    const { taskId } = await client.start('sum')
    const held = await take(server.gate)
    await server.gate.ask(worker(), { ...held, kind: 'approval', request: { title: 'Delete all?' } })
    const seen = await client.get(taskId)
    expect(seen).toMatchObject({ status: 'working', pollIntervalMs: 5000 })
    expect(seen.statusMessage).toMatch(/approval: Delete all\?.*asyncgate approvals approve/)
    expect(seen.statusMessage).toContain(taskId)
  })

  it.each([
    ['modern', modernCall],
    ['older', bareCall],
  ])('a %s client without task support gets the pending approval immediately', async (_, call) => {
    const server = await start()
    const answering = server.post(call('quick', { agent_id: 'alice' }))
    const held = await take(server.gate)
    await server.gate.ask(worker(), { ...held, kind: 'approval', request: { title: 'Delete all?' } })
    const answer = await answering
    expect(answer.body?.result?.isError).toBeUndefined()
    expect(contentOf(answer)).toMatchObject({
      task_id: held.task_id,
      status: 'pending_approval',
      done: false,
      question: { n: 1, kind: 'approval' },
      hint: expect.stringMatching(/asyncgate approvals approve.*asyncgate.wait_for_task/),
    })
    expect((await server.gate.getTask(agent('alice'), { task_id: held.task_id })).status).toBe(
      'pending_approval',
    )
  })
})
