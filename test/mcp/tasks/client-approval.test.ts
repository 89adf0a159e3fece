import { describe, expect, it } from 'vitest'
import { admin, agent, worker } from '../../support/gates.ts'
import { contentOf, type Options, startMcp } from '../endpoint.ts'
import { AskedClient, accept, CAPABILITIES, CONSOLE, offerApproved, onlyTask } from './asked-clients.ts'
import { TaskClient } from './task-client.ts'
import { complete, take } from './task-work.ts'

const FOR_CLIENT = { approve_by: 'client' }
const options: Options = { parts: () => ({ address: () => CONSOLE }) }

async function start(rule: object = FOR_CLIENT, elicitation?: object) {
  const server = await startMcp(options)
  await offerApproved(server.gate, rule)
  return { server, gate: server.gate, client: new AskedClient(server, elicitation) }
}

/** A client that supports tasks. */
const taskClient = (server: { readonly url: string }, agent_id: string, elicitation: object = { form: {} }) =>
  new TaskClient(server, {
    'io.asyncgate/agent_id': agent_id,
    [CAPABILITIES]: { elicitation, extensions: { 'io.modelcontextprotocol/tasks': {} } },
  })

describe('a rule with approve_by client', () => {
  it('the user of the client approves in a form that shows what is done, and the decision is recorded', async () => {
    const { gate, client } = await start()
    const asked = await client.ask('sum', { numbers: [1, 2] })
    const task_id = await onlyTask(gate)
    expect(asked.inputRequests?.q1?.params).toMatchObject({
      mode: 'form',
      message: expect.stringMatching(
        /agent:alice asks for a task of type sum[\s\S]*"numbers": \[\s*1,\s*2\s*\]/,
      ),
      requestedSchema: { properties: { approve: { type: 'boolean' } }, required: ['approve'] },
    })
    const repeated = client.repeat('sum', asked, { q1: accept({ approve: true, reason: 'It is mine.' }) })
    await complete(gate, await take(gate), { sum: 3 })
    expect(contentOf(await repeated)).toEqual({ sum: 3 })
    expect(await gate.getApproval(admin(), { task_id })).toMatchObject({
      state: 'approved',
      decided_by: { kind: 'agent', id: 'alice' },
      answer: { comment: 'It is mine.', client: { name: 'test', version: '1' } },
    })
    const { receipts } = await gate.listReceipts(agent(), { task_id, receipt_type: 'question.answered' })
    expect(receipts).toMatchObject([
      { from: { kind: 'agent', id: 'alice' }, body: { decision: 'approved', via: 'client' } },
    ])
  })

  it.each([
    ['no', accept({ approve: false, reason: 'Too much.' }), 'Too much.'],
    ['no without a reason', accept({ approve: false }), 'The user of the client denied it.'],
    ['a declined form', { action: 'decline' }, 'The user of the client denied it.'],
  ])('%s denies the task', async (_, response, message) => {
    const { client } = await start()
    const answer = await client.repeat('sum', await client.ask('sum'), { q1: response })
    expect(answer.body?.result?.isError).toBe(true)
    expect(contentOf(answer)).toMatchObject({ error: { code: 'APPROVAL_DENIED', message } })
  })

  it('a form without a decision decides nothing', async () => {
    const { gate, client } = await start()
    let asked = await client.ask('sum')
    for (const content of [{}, { approve: 'yes' }, { approve: 1 }, { reason: 'x' }]) {
      asked = await client.askAgain('sum', asked, { q1: accept(content) })
      expect(asked.inputRequests?.q1?.params.message).toContain('content.approve: is not true or false')
    }
    const answer = await client.repeat('sum', asked, { q1: { action: 'cancel' } })
    expect(contentOf(answer)).toMatchObject({ status: 'pending_approval' })
    expect(await gate.getApproval(admin(), { task_id: await onlyTask(gate) })).toMatchObject({
      state: 'open',
    })
  })

  it('a person can decide as well, and the first decision counts', async () => {
    const { gate, client } = await start()
    const asked = await client.ask('sum')
    const task_id = await onlyTask(gate)
    await gate.deny(admin(), { task_id, reason: 'No.' })
    const answer = await client.repeat('sum', asked, { q1: accept({ approve: true }) })
    expect(contentOf(answer)).toMatchObject({ error: { code: 'APPROVAL_DENIED', message: 'No.' } })
    expect(await gate.getApproval(admin(), { task_id })).toMatchObject({ decided_by: { id: 'root' } })
  })

  it('a client that supports tasks decides with tasks/update', async () => {
    const { server, gate } = await start()
    const client = taskClient(server, 'alice')
    const { taskId } = await client.start('sum')
    expect(await client.get(taskId)).toMatchObject({
      status: 'input_required',
      inputRequests: { q1: { params: { mode: 'form' } } },
    })
    await client.method('tasks/update', taskId, { inputResponses: { q1: accept({ approve: true }) } })
    expect(await client.get(taskId)).toMatchObject({ status: 'working' })
    expect(await gate.getApproval(admin(), { task_id: taskId })).toMatchObject({ state: 'approved' })
  })

  it('work that is too large for the form is decided on the page', async () => {
    const { client } = await start()
    const asked = await client.ask('sum', { numbers: Array.from({ length: 1000 }, (_, n) => n) })
    expect(asked.inputRequests?.q1?.params).toMatchObject({ mode: 'url' })
  })

  it('a link that is shown instead of the form decides nothing', async () => {
    const { server, gate } = await start()
    const client = taskClient(server, 'alice', { url: {} })
    const { taskId } = await client.start('sum')
    expect(await client.get(taskId)).toMatchObject({ inputRequests: { q1: { params: { mode: 'url' } } } })
    for (const response of [accept({ approve: true }), { action: 'decline' }])
      await client.method('tasks/update', taskId, { inputResponses: { q1: response } })
    expect(await gate.getApproval(admin(), { task_id: taskId })).toMatchObject({ state: 'open' })
  })

  it('approval by a person is required again if the rule changes before the user decides', async () => {
    const { gate, client } = await start()
    const asked = await client.ask('sum')
    const task_id = await onlyTask(gate)
    await gate.putPolicy(admin(), { id: 'ask', action: 'REQUIRE_APPROVAL', scope: { type: 'sum' } })
    const { body } = await client.repeat('sum', asked, { q1: accept({ approve: true }) })
    expect(body?.error).toMatchObject({ data: { code: 'FORBIDDEN' } })
    expect(await gate.getApproval(admin(), { task_id })).toMatchObject({ state: 'open' })
  })

  it('approval is refused if a rule blocks the task by then', async () => {
    const { gate, client } = await start()
    const asked = await client.ask('sum')
    await gate.putPolicy(admin(), { id: 'stop', action: 'BLOCK', scope: { type: 'sum' }, priority: 9 })
    const { body } = await client.repeat('sum', asked, { q1: accept({ approve: true }) })
    expect(body?.error).toMatchObject({ data: { code: 'POLICY_BLOCKED' } })
  })
})

describe('a client cannot approve', () => {
  const YES = { q1: accept({ approve: true }) }

  it('without such a rule, whatever it sends', async () => {
    const { server, gate } = await start({})
    const client = new AskedClient(server, { form: {} })
    const answer = await client.call('sum', { approve_by: 'client', approve: true })
    const { task_id } = contentOf(answer)
    // A state for this task, as if the client had been asked.
    const state = { task_id: String(task_id), n: 1, round: 1, isSeen: false }
    const requestState = await gate.sealCall(agent('alice'), 'sum', state)
    await client.repeat('sum', { requestState }, { ...YES, q0: YES.q1, approve: true })
    for (const elicitation of [{ form: {} }, { url: {} }, { form: {}, url: {} }]) {
      const tasks = taskClient(server, 'alice', elicitation)
      await tasks.method('tasks/update', String(task_id), { inputResponses: YES })
      await tasks.call('asyncgate.answer_question', {
        task_id,
        agent_id: 'alice',
        content: { approve: true },
      })
      expect(await gate.getApproval(admin(), { task_id })).toMatchObject({ state: 'open' })
    }
    for (const approve of [true, false]) {
      const decision = { task_id: String(task_id), n: 1, approve, reason: undefined }
      const deciding = gate.decideInClient(
        agent('alice'),
        { instance: '', name: null, version: null },
        decision,
      )
      await expect(deciding).rejects.toMatchObject({ code: 'FORBIDDEN' })
    }
  })

  it('where another rule decides that a person has to', async () => {
    const { server, gate } = await start()
    await gate.putPolicy(admin(), { id: 'person', action: 'REQUIRE_APPROVAL', scope: {}, priority: 1 })
    const client = taskClient(server, 'alice')
    const { taskId } = await client.start('sum')
    expect(await client.get(taskId)).toMatchObject({ status: 'working' })
    await client.method('tasks/update', taskId, { inputResponses: YES })
    expect(await gate.getApproval(admin(), { task_id: taskId })).toMatchObject({
      state: 'open',
      request: { rule_id: 'person' },
    })
  })

  it('as another principal, not even with the role admin', async () => {
    const { server, gate } = await start()
    const { taskId } = await taskClient(server, 'alice').start('sum')
    for (const id of ['mallory', 'bob']) {
      const other = taskClient(server, id)
      await other.method('tasks/update', taskId, { inputResponses: YES })
    }
    const client = { instance: '', name: 'x', version: null }
    const decision = { task_id: taskId, n: 1, approve: true, reason: undefined }
    for (const other of [agent('mallory'), admin()]) {
      await expect(gate.decideInClient(other, client, decision)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    }
    expect(await gate.getApproval(admin(), { task_id: taskId })).toMatchObject({ state: 'open' })
  })

  it('what a worker asks', async () => {
    const { server, gate } = await start({ ...FOR_CLIENT, enabled: false })
    const client = taskClient(server, 'alice')
    const { taskId } = await client.start('sum')
    const held = await take(gate)
    const request = { title: 'Delete all?', approve_by: 'client' }
    await expect(gate.ask(worker(), { ...held, kind: 'approval', request })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    })
    await gate.ask(worker(), { ...held, kind: 'approval', request: { title: 'Delete all?' } })
    await client.method('tasks/update', taskId, { inputResponses: YES })
    expect(await gate.getApproval(admin(), { task_id: taskId })).toMatchObject({ state: 'open' })
  })
})
