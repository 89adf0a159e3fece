import { expect, it } from 'vitest'
import { Fault } from '../../../src/core/errors.ts'
import { type Elicitation, InputRequired } from '../../../src/gateway/upstreams/elicitation.ts'
import { describeGates, worker } from '../../support/gates.ts'
import { type StubTool, says } from './stub.ts'
import { ADA, anotherGateway, BOB, type Gateway, openGateway, ROOT, until } from './support.ts'

const SIZE: Elicitation = {
  message: 'Which size?',
  schema: {
    type: 'object',
    properties: { size: { type: 'string', enum: ['s', 'l'] } },
    required: ['size'],
    additionalProperties: false,
  },
}
const never = () => new AbortController().signal

/** A legacy tool: it asks while its call is open. */
const open = (more: Partial<StubTool> = {}): StubTool => ({
  run: async (_, { elicit }) => says(JSON.stringify(await elicit?.(SIZE, never()))),
  ...more,
})

/** A modern tool: it requires the call to be repeated with the answers. */
const repeated = (keys: readonly string[] = ['size'], state: string | undefined = 'opaque'): StubTool => ({
  async run(_, { repetition }) {
    if (repetition !== undefined) return says(JSON.stringify(repetition))
    return new InputRequired(
      keys.map((key) => ({ key, elicitation: { ...SIZE, message: `Which ${key}?` } })),
      state,
      true,
    )
  },
})

const asked = (task_id: string, { gate }: Gateway) =>
  until(async () => (await gate.getTask(ROOT, { task_id })).status === 'input_required')
const closed = (task_id: string, { gate }: Gateway) =>
  until(async () => (await gate.getTask(ROOT, { task_id })).status !== 'input_required')
const answer = ({ gate }: Gateway, task_id: string, content: object = { size: 'l' }) =>
  gate.answerQuestion(ADA, { task_id, content })
const resultText = (text: string) => ({ status: 'succeeded', result: { result: says(text) } })

describeGates('questions of upstreams', (openGate, storeName) => {
  it('a question of an upstream is a question of the task, and its answer continues the open call', async () => {
    const gateway = await openGateway(openGate, { tools: { order: open() } })
    const { gate, sessions, stub } = gateway
    const task_id = await gateway.call('order')
    await asked(task_id, gateway)
    const { question, lease } = await gate.getTask(ADA, { task_id })
    expect(lease).toBeUndefined()
    expect(question).toMatchObject({
      n: 1,
      kind: 'input',
      origin: 'upstream',
      asked_by: { kind: 'service', id: 'gateway' },
      request: { message: 'Which size?', schema: SIZE.schema, upstream: 'stub' },
    })
    expect(Object.keys(question?.request ?? {}).sort()).toEqual(['message', 'schema', 'upstream'])
    // The call is open, but takes no slot.
    await until(() => sessions.counts.making === 0)
    expect(sessions.counts).toMatchObject({ asked: 1, permits: 0 })
    await answer(gateway, task_id)
    expect(await gateway.ended(task_id)).toMatchObject({
      ...resultText('{"action":"accept","content":{"size":"l"}}'),
      attempt: 0,
      expiry_count: 0,
    })
    expect(stub.calls).toBe(1)
    await until(() => sessions.counts.making === 0)
    expect(sessions.counts).toMatchObject({ asked: 0 })
  })

  it('an answer must match the form, and only the owner or an admin can give it', async () => {
    const gateway = await openGateway(openGate, { tools: { order: open() } })
    const { gate } = gateway
    const task_id = await gateway.call('order')
    await asked(task_id, gateway)
    for (const content of [{}, { size: 'xl' }, { size: 's', more: 1 }, 's', null]) {
      await expect(gate.answerQuestion(ADA, { task_id, content })).rejects.toMatchObject({
        code: 'VALIDATION_ERROR',
      })
    }
    await expect(gate.answerQuestion(ADA, { task_id })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
    await expect(gate.answerQuestion(ADA, { task_id, action: 'decline', content: {} })).rejects.toMatchObject(
      { code: 'VALIDATION_ERROR' },
    )
    await expect(gate.answerQuestion(BOB, { task_id, content: { size: 's' } })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    await gate.answerQuestion(ROOT, { task_id, content: { size: 's' } })
    expect(await gateway.ended(task_id)).toMatchObject({ status: 'succeeded' })
  })

  it.each(['decline', 'cancel'] as const)(
    '%s reaches the upstream, which continues its call',
    async (action) => {
      const gateway = await openGateway(openGate, { tools: { order: open(), modern: repeated() } })
      const legacy = await gateway.call('order')
      const modern = await gateway.call('modern')
      for (const task_id of [legacy, modern]) {
        await asked(task_id, gateway)
        await gateway.gate.answerQuestion(ADA, { task_id, action })
      }
      expect(await gateway.ended(legacy)).toMatchObject(resultText(`{"action":"${action}"}`))
      expect(await gateway.ended(modern)).toMatchObject(
        resultText(`{"inputResponses":{"size":{"action":"${action}"}},"requestState":"opaque"}`),
      )
    },
  )

  it('the question of a worker cannot be declined', async () => {
    const { gate } = await openGateway(openGate, { tools: {} })
    const { task_id } = await gate.createTask(ADA, { type: 'paint' })
    const { tasks } = await gate.leaseNext(worker(), { worker_id: 'w1', accept_types: ['paint'] })
    const lease_id = tasks[0]?.lease_id
    await gate.ask(worker(), { worker_id: 'w1', task_id, lease_id, kind: 'input', request: { message: '?' } })
    await expect(gate.answerQuestion(ADA, { task_id, action: 'decline' })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    })
  })

  it('a worker cannot pretend that an upstream asks', async () => {
    const { gate } = await openGateway(openGate, { tools: {} })
    const { task_id } = await gate.createTask(ADA, { type: 'paint' })
    const { tasks } = await gate.leaseNext(worker(), { worker_id: 'w1', accept_types: ['paint'] })
    const lease = { worker_id: 'w1', task_id, lease_id: tasks[0]?.lease_id }
    const request = { message: '?', upstream: 'github' }
    await expect(gate.ask(worker(), { ...lease, kind: 'input', request })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    })
    await gate.ask(worker(), { ...lease, kind: 'input', request: { message: '?' } })
    expect((await gate.getTask(ADA, { task_id })).question).toMatchObject({ origin: 'worker' })
  })

  it('a call that requires input is repeated with all answers and the exact state, which no client sees', async () => {
    const gateway = await openGateway(openGate, {
      tools: { modern: repeated(['size', 'colour'], ' s\u0000t ') },
    })
    const { gate, stub } = gateway
    const task_id = await gateway.call('modern')
    for (const message of ['Which size?', 'Which colour?']) {
      await until(async () => {
        const { question } = await gate.getTask(ADA, { task_id })
        return JSON.stringify(question?.request ?? null).includes(message)
      })
      await answer(gateway, task_id)
    }
    const accepted = { action: 'accept', content: { size: 'l' } }
    const sent = { inputResponses: { size: accepted, colour: accepted }, requestState: ' s\u0000t ' }
    const task = await gateway.ended(task_id)
    expect(task).toMatchObject(resultText(JSON.stringify(sent)))
    expect(stub.calls).toBe(2)
    const { receipts } = await gate.listReceipts(ADA, { task_id })
    expect(JSON.stringify(receipts)).not.toContain('s\\u0000t')
    await gate.close()
    const { store } = await anotherGateway(gateway)
    expect(await store.entries.count(stub.tenant, 'upstream_question', 10)).toBe(0)
  })

  it('a call that requires input continues after a restart of the gateway', async () => {
    const gateway = await openGateway(openGate, { tools: { modern: repeated() } })
    const task_id = await gateway.call('modern')
    await asked(task_id, gateway)
    await gateway.gate.close()
    const after = await anotherGateway(gateway, { tools: { modern: repeated() } })
    await answer(after, task_id)
    expect(await after.ended(task_id)).toMatchObject({ status: 'succeeded', attempt: 0 })
    expect(after.stub.calls).toBe(1)
  })

  it.each([
    ['stops', async (gateway: Gateway) => gateway.gate.close()],
    [
      'is killed',
      async ({ gate }: Gateway) => {
        gate.toolCalls.withdraw = async () => false
        await gate.close()
      },
    ],
  ])('the question of an open call is closed when its server %s', async (_, end) => {
    const reads = { annotations: { readOnlyHint: true } }
    const gateway = await openGateway(openGate, { tools: { write: open(), read: open(reads) } })
    const write = await gateway.call('write')
    const read = await gateway.call('read')
    for (const task_id of [write, read]) await asked(task_id, gateway)
    await end(gateway)
    const after = await anotherGateway(gateway, { tools: { write: open(), read: open(reads) } })
    // It may have had its effect, and repeating it is not harmless.
    expect(await after.ended(write)).toMatchObject({
      status: 'failed',
      result: { error: { code: 'UPSTREAM_OUTCOME_UNKNOWN' } },
    })
    await until(async () => (await after.gate.getTask(ROOT, { task_id: read })).question?.n === 2)
    await answer(after, read)
    expect(await after.ended(read)).toMatchObject({ status: 'succeeded' })
  })

  it('an answer after the call has ended is refused, and the outcome of the call is stored', async () => {
    let fail = () => {}
    const run: StubTool['run'] = async (_, { elicit }) => {
      const broken = new Promise<never>((_resolve, reject) => {
        fail = () =>
          reject(new Fault('UPSTREAM_UNAVAILABLE', { upstream: 'stub', problem: 'connection lost' }))
      })
      await Promise.race([elicit?.(SIZE, never()), broken])
      return says('answered')
    }
    const gateway = await openGateway(openGate, { tools: { order: { run } } })
    const task_id = await gateway.call('order')
    await asked(task_id, gateway)
    fail()
    await closed(task_id, gateway)
    expect(await gateway.ended(task_id)).toMatchObject({
      status: 'failed',
      result: { error: { code: 'UPSTREAM_OUTCOME_UNKNOWN' } },
    })
    await expect(answer(gateway, task_id)).rejects.toMatchObject({
      code: 'ALREADY_DECIDED',
      details: { state: 'withdrawn', decided_by: 'service:gateway' },
    })
  })

  it('a question that the upstream withdraws is closed, and the call continues', async () => {
    const stop = new AbortController()
    const run: StubTool['run'] = async (_, { elicit }) => {
      await elicit?.(SIZE, stop.signal).catch(() => {})
      return says('went on')
    }
    const gateway = await openGateway(openGate, { tools: { order: { run } } })
    const task_id = await gateway.call('order')
    await asked(task_id, gateway)
    stop.abort()
    await closed(task_id, gateway)
    expect(await gateway.ended(task_id)).toMatchObject(resultText('went on'))
  })

  it('a canceled task or an expired question ends the open call', async () => {
    const aborted: string[] = []
    const tool = (name: string): StubTool => ({
      async run(_, { elicit, signal }) {
        signal?.addEventListener('abort', () => aborted.push(name))
        return says(JSON.stringify(await elicit?.(SIZE, never())))
      },
    })
    const gateway = await openGateway(openGate, {
      tools: { canceled: tool('canceled'), expired: tool('expired') },
      limits: { gateway_question_seconds: 1 },
    })
    const { gate, sessions } = gateway
    const expired = await gateway.call('expired')
    await asked(expired, gateway)
    const canceled = await gateway.call('canceled')
    await asked(canceled, gateway)
    await gate.cancelTask(ADA, { task_id: canceled })
    await until(() => aborted.includes('canceled'))
    await until(async () => {
      await gate.sweep()
      return aborted.includes('expired')
    })
    expect(await gateway.ended(expired)).toMatchObject({
      status: 'failed',
      result: { error: { code: 'INPUT_EXPIRED' } },
    })
    expect(sessions.counts.asked).toBe(0)
  })

  it('an upstream that asks without end is refused, and its call continues', async () => {
    const run: StubTool['run'] = async (_, { elicit }) => {
      const all = Array.from({ length: 10_000 }, () => elicit?.(SIZE, never()))
      const settled = await Promise.allSettled(all)
      return says(String(settled.filter(({ status }) => status === 'fulfilled').length))
    }
    const gateway = await openGateway(openGate, { tools: { flood: { run } } })
    const task_id = await gateway.call('flood')
    for (let n = 1; n <= 8; n++) {
      await until(async () => (await gateway.gate.getTask(ROOT, { task_id })).question?.n === n)
      await answer(gateway, task_id)
    }
    expect(await gateway.ended(task_id)).toMatchObject(resultText('8'))
  })

  it('a task asks at most 100 questions', async () => {
    const run: StubTool['run'] = async (_, { elicit }) => {
      for (let n = 1; ; n++) {
        const refusal = await elicit?.(SIZE, never()).then(
          () => undefined,
          (error: Error) => error.message,
        )
        if (refusal !== undefined) return says(`${n}: ${refusal}`)
      }
    }
    const gateway = await openGateway(openGate, { tools: { flood: { run } } })
    const task_id = await gateway.call('flood')
    for (let n = 1; n <= 100; n++) {
      await until(async () => (await gateway.gate.getTask(ROOT, { task_id })).question?.n === n)
      await answer(gateway, task_id)
    }
    const { result } = await gateway.ended(task_id)
    expect(JSON.stringify(result)).toContain('101: ')
  })

  it('the text of a question is redacted like a result', async () => {
    const card: Elicitation = { ...SIZE, message: 'Charge 4111 1111 1111 1111?' }
    const tools: Record<string, StubTool> = {
      open: { run: async (_, { elicit }) => says(JSON.stringify(await elicit?.(card, never()))) },
      repeat: {
        run: async (_, { repetition }) =>
          repetition === undefined
            ? new InputRequired([{ key: 'k', elicitation: card }], undefined, true)
            : says('repeated'),
      },
    }
    const gateway = await openGateway(openGate, { tools })
    const { gate } = gateway
    await gate.putPolicy(ROOT, {
      id: 'cards',
      action: 'REDACT',
      priority: 150,
      redact: { targets: 'result', patterns: ['card'] },
    })
    for (const tool of ['open', 'repeat']) {
      const task_id = await gateway.call(tool)
      await asked(task_id, gateway)
      const { question } = await gate.getTask(ADA, { task_id })
      expect(JSON.stringify(question)).not.toContain('4111')
      expect(question?.request).toMatchObject({ message: expect.stringContaining('Charge') })
      await answer(gateway, task_id)
      expect(await gateway.ended(task_id)).toMatchObject({ status: 'succeeded' })
    }
  })

  it.skipIf(storeName !== 'postgres')(
    'the server at which a call is open continues it, whichever server receives the answer',
    async () => {
      const first = await openGateway(openGate, { tools: { order: open() } })
      const second = await anotherGateway(first, {
        tools: { order: open() },
        settings: { instance_id: 'second' },
      })
      const payload = { upstream: 'stub', tool: 'order', arguments: {} }
      const { task_id } = await first.gate.createTask(ADA, { type: 'mcp.tool_call', payload })
      await until(async () => (await first.gate.getTask(ROOT, { task_id })).status === 'input_required')
      const calls = first.stub.calls + second.stub.calls
      await answer(first.sessions.counts.asked === 1 ? second : first, task_id)
      expect(await first.ended(task_id, 20)).toMatchObject({ status: 'succeeded', attempt: 0 })
      expect(first.stub.calls + second.stub.calls).toBe(calls)
    },
    30_000,
  )
})
