import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, it, onTestFinished } from 'vitest'
import type { Caller } from '../../../src/core/principal.ts'
import { DEFAULT_TENANT } from '../../../src/core/principal.ts'
import { asCaller, suiteAuthMode } from '../../support/auth-modes.ts'
import { type McpServer, startMcp } from '../endpoint.ts'
import { ScriptedModel } from './scripted-model.ts'

const ADMIN: Caller = { tenant: DEFAULT_TENANT, principal: { kind: 'human', id: 'root' }, role: 'admin' }
const WORKER: Caller = { tenant: DEFAULT_TENANT, principal: { kind: 'worker', id: 'w' }, role: 'worker' }

async function open(
  query = '',
): Promise<{ server: McpServer; model: ScriptedModel; again(): Promise<ScriptedModel> }> {
  const server = await startMcp({ query })
  const again = async () => {
    const client = new Client({ name: 'scripted', version: '1' })
    const requestInit = { headers: { ...asCaller(suiteAuthMode(), {}).headers } }
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit }))
    onTestFinished(() => client.close())
    const model = new ScriptedModel(client)
    await model.connect()
    return model
  }
  return { server, model: await again(), again }
}

/** Serves one task of any type. */
async function serve({ gate }: McpServer, finish: 'echo' | 'large' | 'fail' | 'ask'): Promise<void> {
  const { tasks } = await gate.leaseNext(WORKER, { worker_id: 'w', wait_seconds: 10 })
  const [offer] = tasks
  if (offer === undefined) throw new Error('there is no task')
  const lease = { worker_id: 'w', task_id: offer.task_id, lease_id: offer.lease_id }
  switch (finish) {
    case 'echo':
      await gate.complete(WORKER, { ...lease, result: { echo: offer.payload } })
      return
    case 'large':
      await gate.complete(WORKER, { ...lease, result: { rows: Array.from({ length: 10_000 }, (_, i) => i) } })
      return
    case 'fail':
      await gate.fail(WORKER, { ...lease, error: { message: 'The printer is on fire.' }, retryable: false })
      return
    case 'ask': {
      const schema = { type: 'object', required: ['city'], properties: { city: { type: 'string' } } }
      await gate.ask(WORKER, { ...lease, kind: 'input', request: { message: 'Which city?', schema } })
    }
  }
}

it('a model delegates work and waits for its result', async () => {
  const { server, model } = await open()
  await model.act('create a task for a worker', { type: 'echo', payload: { hello: 'world' } })
  const [done] = await Promise.all([model.act('wait for the task to end'), serve(server, 'echo')])
  expect(done.data).toMatchObject({ done: true, status: 'succeeded', result: { echo: { hello: 'world' } } })
  expect(model.called).toEqual(['asyncgate_create_task', 'asyncgate_wait_for_task'])
})

it('a model comes back later in a new session, finds the result and acknowledges it', async () => {
  const { server, model, again } = await open()
  await model.act('create a task for a worker', { type: 'echo', payload: { n: 1 } })
  await serve(server, 'echo')
  const later = await again()
  let inbox = await later.act('list my inbox')
  expect(inbox.data).toMatchObject({ receipt_type: 'task.result_ready' })
  expect((await later.act('get the current state of the task')).data).toMatchObject({
    result: { echo: { n: 1 } },
  })
  while (inbox.data.receipt_id !== undefined) {
    await later.act('acknowledge the receipt')
    inbox = await later.act('list my inbox')
  }
  expect(inbox.data.items).toHaveLength(0)
})

it('a model answers the question of a task', async () => {
  const { server, model } = await open()
  await model.act('create a task for a worker', { type: 'weather' })
  await serve(server, 'ask')
  const waiting = await model.act('wait for the task to end')
  expect(waiting.data).toMatchObject({
    status: 'input_required',
    question: { request: { message: 'Which city?' } },
  })
  await model.act('answer the question', { content: { city: 'Rome' } })
  const [done] = await Promise.all([model.act('wait for the task to end'), serve(server, 'echo')])
  expect(done.data).toMatchObject({ done: true, status: 'succeeded' })
})

it('a model cancels a task that is no longer needed', async () => {
  const { model } = await open()
  await model.act('create a task for a worker', { type: 'echo' })
  expect((await model.act('cancel the task', { reason: 'not needed' })).data).toMatchObject({ ok: true })
  expect((await model.act('get the current state of the task')).data).toMatchObject({ status: 'canceled' })
})

it('a model reads why a task failed and retries it', async () => {
  const { server, model } = await open()
  await model.act('create a task for a worker', { type: 'print', payload: { page: 7 } })
  const [failed] = await Promise.all([model.act('wait for the task to end'), serve(server, 'fail')])
  expect(failed.text).toContain('The printer is on fire.')
  await model.act('retry the failed task', { idempotency_key: 'again' })
  const [done] = await Promise.all([model.act('wait for the task to end'), serve(server, 'echo')])
  expect(done.data).toMatchObject({ status: 'succeeded', result: { echo: { page: 7 } } })
})

it('a model reads a large result page by page, as the reply tells it', async () => {
  const { server, model } = await open()
  await model.act('create a task for a worker', { type: 'export' })
  const [done] = await Promise.all([model.act('wait for the task to end'), serve(server, 'large')])
  let page = await model.follow(done)
  let text = String(page.data.content)
  while (page.data.next_offset !== null) {
    page = await model.act('fetch the result', { offset: page.data.next_offset })
    text += String(page.data.content)
  }
  expect(JSON.parse(text).rows).toHaveLength(10_000)
  expect(model.called).toContain('asyncgate_fetch_task_result')
})

it('a model finds out which types of work exist before it creates a task', async () => {
  const { server, model } = await open()
  await server.gate.registerTaskType(ADMIN, { type: 'translate', description: 'Translates a text.' })
  expect((await model.act('list task types that are registered')).data).toMatchObject({ type: 'translate' })
  expect((await model.act('create a task for a worker')).data).toMatchObject({ status: 'queued' })
})

it('a model learns that no worker serves a type', async () => {
  const { model } = await open()
  const created = await model.act('create a task for a worker', { type: 'nobody-does-this' })
  expect(created.data).toMatchObject({ live_workers: 0, hint: expect.stringContaining('No worker') })
})

it('a model lists the tasks that failed', async () => {
  const { server, model } = await open()
  await model.act('create a task for a worker', { type: 'print' })
  await serve(server, 'fail')
  const listed = await model.act('list my tasks', { status: 'failed' })
  expect(listed.data.tasks).toMatchObject([{ type: 'print', error: 'The printer is on fire.' }])
})

it('a model passes on the link for approval, and gets the result once a person has approved', async () => {
  const { server, model } = await open()
  await server.gate.putPolicy(ADMIN, { id: 'pay', action: 'REQUIRE_APPROVAL', scope: { type: 'pay' } })
  const created = await model.act('create a task for a worker', { type: 'pay', payload: { amount: 5 } })
  expect(created.data).toMatchObject({ status: 'pending_approval', hint: expect.stringContaining('approve') })
  await server.gate.approve(ADMIN, { task_id: created.data.task_id })
  const [done] = await Promise.all([model.act('wait for the task to end'), serve(server, 'echo')])
  expect(done.data).toMatchObject({ status: 'succeeded', result: { echo: { amount: 5 } } })
})

it('a model sends a request again without doing the work twice', async () => {
  const { model } = await open()
  const wish = { type: 'echo', idempotency_key: 'once' }
  const first = await model.act('create a task for a worker', wish)
  const second = await model.act('create a task for a worker', wish)
  expect(second.data).toMatchObject({ task_id: first.data.task_id, is_duplicate: true })
})

it('a model with two tools finds a tool and calls it', async () => {
  const { server, model } = await open('?toolsets=discover')
  const tool = { name: 'shout_text', description: 'Writes a text in capital letters.' }
  const payload_schema = { type: 'object', properties: { text: { type: 'string' } } }
  await server.gate.registerTaskType(ADMIN, { type: 'shout', tool, payload_schema })
  const found = await model.act('find tools', { query: 'capital letters' })
  expect(found.data).toMatchObject({ name: 'shout_text', inputSchema: payload_schema })
  const [done] = await Promise.all([
    model.act('call the tool', { arguments: { text: 'hello' } }),
    serve(server, 'echo'),
  ])
  expect(done.data).toMatchObject({ echo: { text: 'hello' } })
})
