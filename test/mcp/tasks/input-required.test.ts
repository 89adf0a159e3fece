import { describe, expect, it, onTestFinished } from 'vitest'
import { asCaller, suiteAuthMode } from '../../support/auth-modes.ts'
import { admin, agent, describeGates, worker } from '../../support/gates.ts'
import { contentOf, type McpServer, type Options, serveMcp, startMcp } from '../endpoint.ts'
import {
  AskedClient,
  accept,
  CAPABILITIES,
  CONSOLE,
  offerApproved,
  onlyTask,
  tasksOf,
} from './asked-clients.ts'
import { TaskClient } from './task-client.ts'
import { complete, offerSum, take } from './task-work.ts'

const withConsole = (options: Options = {}): Options => ({
  ...options,
  parts: () => ({ address: () => CONSOLE }),
})

const PATHS = [
  ['the fast path', true],
  ['the SDK', false],
] as const

describe('a call that requires approval', () => {
  async function start(elicitation?: object, rule: object = {}, fastPath = true) {
    const server = await startMcp(withConsole({ fastPath }))
    await offerApproved(server.gate, rule)
    return { server, gate: server.gate, client: new AskedClient(server, elicitation) }
  }

  it.each(PATHS)(
    'the client gets the link to the approval page through %s, and the repeated call returns the result',
    async (_, fastPath) => {
      const { gate, client } = await start(undefined, {}, fastPath)
      const asked = await client.ask('sum', { numbers: [1, 2] })
      const task_id = await onlyTask(gate)
      expect(asked.inputRequests).toEqual({
        q1: {
          method: 'elicitation/create',
          params: {
            mode: 'url',
            message: expect.stringContaining('agent:alice asks for a task of type sum'),
            url: `https://gate.example/console/approvals/${task_id}`,
            elicitationId: `${task_id}.1`,
          },
        },
      })
      const repeated = client.repeat('sum', asked, { q1: accept() }, { numbers: [1, 2] })
      await gate.approve(admin(), { task_id })
      await complete(gate, await take(gate), { sum: 3 })
      expect(contentOf(await repeated)).toEqual({ sum: 3 })
      expect(await onlyTask(gate)).toBe(task_id)
    },
  )

  it('a call that is repeated after the decision returns the result, as often as it is repeated', async () => {
    const { gate, client } = await start()
    const asked = await client.ask('sum')
    await gate.approve(admin(), { task_id: await onlyTask(gate) })
    await complete(gate, await take(gate), { sum: 3 })
    for (const responses of [{ q1: accept() }, {}, { q1: { action: 'decline' } }]) {
      expect(contentOf(await client.repeat('sum', asked, responses))).toEqual({ sum: 3 })
    }
    await onlyTask(gate)
  })

  it('a repeated call joins its task whatever its arguments are', async () => {
    const { gate, client } = await start()
    const asked = await client.ask('sum', { numbers: [1] })
    const task_id = await onlyTask(gate)
    await gate.deny(admin(), { task_id, reason: 'Not today.' })
    const answer = await client.repeat('sum', asked, { q1: accept() }, { numbers: [7, 7] })
    expect(answer.body?.result?.isError).toBe(true)
    expect(await onlyTask(gate)).toBe(task_id)
  })

  it('a denial is an error with the reason', async () => {
    const { gate, client } = await start()
    const asked = await client.ask('sum')
    const repeated = client.repeat('sum', asked, { q1: accept() })
    await gate.deny(admin(), { task_id: await onlyTask(gate), reason: 'Not today.' })
    const answer = await repeated
    expect(answer.body?.result?.isError).toBe(true)
    expect(contentOf(answer)).toMatchObject({
      status: 'canceled',
      error: { code: 'APPROVAL_DENIED', message: 'Not today.' },
    })
  })

  it('accepting the link decides nothing', async () => {
    const { server, gate, client } = await start()
    const asked = await client.ask('sum')
    const repeated = client.askAgain('sum', asked, { q1: accept({ approve: true, reason: 'me' }) })
    await server.endpoint.close()
    // The user has seen the link, so it is not shown again.
    expect(await repeated).not.toHaveProperty('inputRequests')
    const approval = await gate.getApproval(admin(), { task_id: await onlyTask(gate) })
    expect(approval).toMatchObject({ state: 'open', decided_by: null })
  })

  it.each(['decline', 'cancel'])(
    'a link that the user does not open (%s) leaves the approval open',
    async (action) => {
      const { gate, client } = await start()
      const answer = await client.repeat('sum', await client.ask('sum'), { q1: { action } })
      expect(contentOf(answer)).toMatchObject({
        status: 'pending_approval',
        done: false,
        console_url: expect.stringContaining('/console/approvals/'),
        hint: expect.stringContaining('asyncgate_wait_for_task'),
      })
      expect(await gate.getApproval(admin(), { task_id: await onlyTask(gate) })).toMatchObject({
        state: 'open',
      })
    },
  )

  it.each([
    ['no elicitation', null],
    ['forms only', { form: {} }],
    ['an empty capability', {}],
  ])('a client that declares %s gets the link in the result', async (_, elicitation) => {
    const server = await startMcp(withConsole())
    await offerApproved(server.gate)
    const answer = await new AskedClient(server, elicitation).call('sum')
    expect(contentOf(answer)).toMatchObject({ status: 'pending_approval', hint: expect.any(String) })
  })

  it.each([
    ['no address', undefined],
    ['no console', { ...CONSOLE, console: false }],
    ['an address of another scheme', { ...CONSOLE, url: 'file:///gate' }],
  ])('a server with %s sends no link', async (_, address) => {
    const server = await startMcp({ parts: () => ({ address: () => address }) })
    await offerApproved(server.gate)
    const answer = await new AskedClient(server).call('sum')
    expect(contentOf(answer)).toMatchObject({ status: 'pending_approval', hint: expect.any(String) })
  })

  it('a state that was not issued to the caller for the tool is refused, and nothing is created', async () => {
    const { gate, client } = await start()
    await gate.registerTaskType(admin(), { type: 'other', tool: { name: 'other', wait_seconds: 1 } })
    const { requestState } = await client.ask('sum')
    const bytes = Buffer.from(requestState.split('.')[4] ?? '', 'base64url')
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
    const tampered = [...requestState.split('.').slice(0, 4), bytes.toString('base64url')].join('.')
    const otherTask = requestState.replace(/^.{8}/, '00000000')
    const seen = requestState.replace(/\.0\.([^.]+)$/, '.1.$1')
    const hostile = ['', 'x', tampered, otherTask, seen, `${requestState}.`, 'a'.repeat(100_000), '0.0.0.0.0']
    for (const state of hostile) {
      const { body } = await client.call('sum', {}, { requestState: state, inputResponses: {} })
      expect(body?.error, state.slice(0, 80)).toMatchObject({
        code: -32602,
        data: { code: 'VALIDATION_ERROR' },
      })
    }
    for (const [name, args] of [
      ['other', {}],
      ['sum', { agent_id: 'mallory' }],
      ['asyncgate.create_task', { type: 'sum' }],
      ['asyncgate.health', {}],
    ] as const) {
      const { body } = await client.call(name, args, { requestState })
      expect(body?.error, name).toMatchObject({ code: -32602 })
    }
    const { body } = await client.call('sum', {}, { inputResponses: { q1: accept() } })
    expect(body?.error).toMatchObject({ code: -32602 })
    await onlyTask(gate)
    expect(await tasksOf(gate, 'mallory')).toEqual([])
  })

  it('the state of a caller with their own key is refused from any other caller', async () => {
    const { gate, client } = await start()
    const asBob = { agent_id: undefined, principal_kind: 'human', principal_id: 'bob' }
    const asked = await client.ask('sum', asBob)
    expect((await client.repeat('sum', asked, { q1: accept() })).body?.error).toMatchObject({ code: -32602 })
    const asMaria = { ...asBob, principal_id: 'maria' }
    const stolen = await client.repeat('sum', asked, { q1: accept() }, asMaria)
    expect(stolen.body?.error).toMatchObject({ code: -32602 })
    const { tasks } = await gate.listTasks(admin(), {})
    await gate.deny(admin(), { task_id: tasks[0]?.task_id, reason: 'No.' })
    expect((await client.repeat('sum', asked, { q1: accept() }, asBob)).body?.result?.isError).toBe(true)
    expect(tasks).toHaveLength(1)
  })

  it('a question after the approval is asked as well', async () => {
    const { gate, client } = await start()
    const asked = await client.ask('sum')
    const repeated = client.askAgain('sum', asked, { q1: accept() })
    await gate.approve(admin(), { task_id: await onlyTask(gate) })
    await gate.ask(worker(), { ...(await take(gate)), kind: 'input', request: { message: 'Which city?' } })
    const second = await repeated
    expect(second.inputRequests).toEqual({
      q2: { method: 'elicitation/create', params: expect.objectContaining({ message: 'Which city?' }) },
    })
    const last = client.repeat('sum', second, { q2: accept({ answer: 'Rome' }) })
    await complete(gate, await take(gate), { sum: 3 })
    expect(contentOf(await last)).toEqual({ sum: 3 })
  })

  it('an approval that a worker asks for says which task it is about', async () => {
    const { server, gate, client } = await start(undefined, { enabled: false })
    const asking = client.ask('sum')
    const held = await take(server.gate)
    await gate.ask(worker(), { ...held, kind: 'approval', request: { title: 'Delete all?\u202e' } })
    const { inputRequests } = await asking
    expect(inputRequests?.q1?.params.message).toBe(
      'Approval required. A worker asks about the task sum of agent:alice: Delete all? Open this page to approve or deny it.',
    )
  })

  it('a client that supports tasks finds the link in the task, and accepting it decides nothing', async () => {
    const { server, gate } = await start()
    const alice = { 'io.asyncgate/agent_id': 'alice' }
    const extensions = { 'io.modelcontextprotocol/tasks': {} }
    const { headers } = asCaller(suiteAuthMode(), { principal_id: 'alice' })
    const meta = { ...alice, [CAPABILITIES]: { elicitation: { url: {} }, extensions } }
    const client = new TaskClient(server, meta, headers)
    const { taskId } = await client.start('sum')
    const seen = await client.get(taskId)
    expect(seen).toMatchObject({
      status: 'input_required',
      statusMessage: expect.stringContaining('asyncgate approvals approve'),
      inputRequests: {
        q1: { params: { mode: 'url', url: `https://gate.example/console/approvals/${taskId}` } },
      },
    })
    for (const response of [
      accept(),
      accept({ approve: true }),
      { action: 'decline' },
      { action: 'cancel' },
    ]) {
      const { body } = await client.method('tasks/update', taskId, { inputResponses: { q1: response } })
      expect(body?.result).toMatchObject({ resultType: 'complete' })
      expect(await client.get(taskId)).toMatchObject({ status: 'input_required' })
    }
    await gate.approve(admin(), { task_id: taskId })
    expect(await client.get(taskId)).toMatchObject({ status: 'working' })
    const forms = new TaskClient(server, alice, headers)
    const second = await forms.start('sum')
    expect(await forms.get(second.taskId)).toMatchObject({ status: 'working' })
  })
})

describe('a call whose task needs input', () => {
  const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

  async function asking(elicitation: object = { form: {} }, fastPath = true) {
    const server = await startMcp({ fastPath })
    await offerSum(server.gate)
    const client = new AskedClient(server, elicitation)
    const calling = client.call('sum')
    await server.gate.ask(worker(), {
      ...(await take(server.gate)),
      kind: 'input',
      request: { message: 'Where to?', schema: SCHEMA },
    })
    return { server, gate: server.gate, client, calling }
  }

  async function asked(fastPath = true) {
    const begun = await asking({ form: {} }, fastPath)
    const { body } = await begun.calling
    const requestState = String(body?.result?.requestState)
    return { ...begun, first: { requestState }, result: body?.result }
  }

  async function answersOf(server: McpServer): Promise<unknown> {
    const { tasks } = await server.gate.leaseNext(worker(), { worker_id: 'w1' })
    return tasks[0]?.answers?.map(({ answer }) => answer)
  }

  it.each(PATHS)(
    'the client gets a form through %s, and the repeated call answers it and returns the result',
    async (_, fastPath) => {
      const { gate, client, first, result } = await asked(fastPath)
      expect(result).toMatchObject({
        resultType: 'input_required',
        inputRequests: { q1: { params: { mode: 'form', message: 'Where to?', requestedSchema: SCHEMA } } },
      })
      expect(result).not.toHaveProperty('content')
      const repeated = client.repeat('sum', first, { q1: accept({ city: 'Rome' }) })
      const held = await take(gate)
      await complete(gate, held, { went: true })
      expect(contentOf(await repeated)).toEqual({ went: true })
      await onlyTask(gate)
    },
  )

  it('an invalid answer is asked for again with the problem, and the next one counts', async () => {
    const { server, gate, client, first } = await asked()
    const again = await client.askAgain('sum', first, { q1: accept({ town: 'Rome' }) })
    expect(again.inputRequests?.q1?.params.message).toMatch(/refused.*city[\s\S]*Where to\?/)
    const last = client.repeat('sum', again, { q1: accept({ city: 'Rome' }) })
    await expect.poll(() => answersOf(server)).toEqual([{ content: { city: 'Rome' } }])
    await server.endpoint.close()
    expect(contentOf(await last)).toMatchObject({ done: false })
    await onlyTask(gate)
  })

  it('a declined form cancels the task', async () => {
    const { client, first } = await asked()
    const answer = await client.repeat('sum', first, { q1: { action: 'decline' } })
    expect(answer.body?.result?.isError).toBe(true)
    expect(contentOf(answer)).toMatchObject({ status: 'canceled' })
  })

  it('a canceled form leaves the question open, and the result says how to answer', async () => {
    const { client, first } = await asked()
    const answer = await client.repeat('sum', first, { q1: { action: 'cancel' } })
    expect(contentOf(answer)).toMatchObject({
      status: 'input_required',
      hint: expect.stringContaining('answer_question'),
    })
  })

  it('an answer that comes after another one is ignored', async () => {
    const { gate, client, first } = await asked()
    const task_id = await onlyTask(gate)
    await gate.answerQuestion(agent('alice'), { task_id, content: { city: 'Paris' } })
    const repeated = client.repeat('sum', first, { q1: accept({ city: 'Rome' }) })
    await complete(gate, await take(gate), { went: true })
    expect(contentOf(await repeated)).toEqual({ went: true })
    const [receipt, ...more] = (
      await gate.listReceipts(admin(), { task_id, receipt_type: 'question.answered', to_id: 'alice' })
    ).receipts
    expect(receipt).toBeDefined()
    expect(more).toEqual([])
  })

  it('a call that is repeated without an answer ends with a hint before its client gives up', async () => {
    const { client, first } = await asked()
    let state: { requestState: string } = first
    for (let round = 2; round <= 8; round++) state = await client.askAgain('sum', state)
    expect(contentOf(await client.repeat('sum', state))).toMatchObject({
      status: 'input_required',
      done: false,
    })
  })

  it('a client without forms gets the question in the result', async () => {
    const { calling } = await asking({ url: {} })
    expect(contentOf(await calling)).toMatchObject({ status: 'input_required', question: { n: 1 } })
  })
})

describeGates('calls that require input, on several servers', (open) => {
  const serve = async (gate: McpServer['gate']) => {
    const server = await serveMcp(gate)
    onTestFinished(() => server.close())
    return server
  }

  it('another server continues a call whose server has gone', async () => {
    const address = () => CONSOLE
    const first = await open({ realTime: true, address })
    const before = await serve(first.gate)
    await offerApproved(first.gate)
    const asked = await new AskedClient(before).ask('sum')
    const task_id = await onlyTask(first.gate)
    const waiting = new AskedClient(before).askAgain('sum', asked, { q1: accept() })
    await before.endpoint.close()
    const again = await waiting
    await first.gate.close()
    const second = await first.another({ realTime: true, address })
    const after = new AskedClient(await serve(second.gate))
    const repeated = after.repeat('sum', again)
    await second.gate.approve(admin(), { task_id })
    await complete(second.gate, await take(second.gate), { sum: 3 })
    expect(contentOf(await repeated)).toEqual({ sum: 3 })
    expect(await onlyTask(second.gate)).toBe(task_id)
  })

  it('a state expires after a day, and its task stays', async () => {
    const { gate, clock } = await open({ address: () => CONSOLE })
    const client = new AskedClient(await serve(gate))
    await offerApproved(gate)
    const asked = await client.ask('sum')
    clock.advance(24 * 3600 - 1)
    await gate.deny(admin(), { task_id: await onlyTask(gate), reason: 'No.' })
    expect((await client.repeat('sum', asked)).body?.result?.isError).toBe(true)
    clock.advance(1)
    const { body } = await client.repeat('sum', asked)
    expect(body?.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining(`has expired. The task ${await onlyTask(gate)}`),
    })
  })
})

describeGates(
  'calls that require approval, on two servers of one database',
  (open) => {
    it('a call that waits on one server continues after the decision on the other', async () => {
      const address = () => CONSOLE
      const here = await open({ realTime: true, address })
      const there = await here.another({ realTime: true, address })
      const servers = [await serveMcp(here.gate), await serveMcp(there.gate)] as const
      onTestFinished(async () => {
        for (const server of servers) await server.close()
      })
      await offerApproved(here.gate)
      const asked = await new AskedClient(servers[0]).ask('sum')
      const task_id = await onlyTask(here.gate)
      const repeated = servers.map((server) => new AskedClient(server).repeat('sum', asked, { q1: accept() }))
      await there.gate.approve(admin(), { task_id })
      await expect(here.gate.deny(admin(), { task_id, reason: 'No.' })).rejects.toMatchObject({
        code: 'ALREADY_DECIDED',
      })
      await complete(there.gate, await take(there.gate), { sum: 3 })
      for (const answer of await Promise.all(repeated)) expect(contentOf(answer)).toEqual({ sum: 3 })
      expect(await onlyTask(here.gate)).toBe(task_id)
    })
  },
  ['postgres'],
)
