import { Client, InMemoryTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CallToolResultSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serveStdioMcp } from '../../../src/mcp/transport/stdio.ts'
import { deferred } from '../../../src/util/abort.ts'
import { admin, agent, worker } from '../../support/gates.ts'
import { PROGRAM_LISTING } from '../../support/program.ts'
import { type McpServer, startMcp } from '../endpoint.ts'
import { CONSOLE, offerApproved, onlyTask } from './asked-clients.ts'
import { complete, offerSum, take } from './task-work.ts'

const INFO = { name: 'test', version: '1' }

/** What the user of a client was shown. */
interface Shown {
  readonly mode?: string | undefined
  readonly message: string
  readonly url?: string | undefined
}

type Reply = { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, string | boolean> }

const start = () => startMcp({ parts: () => ({ address: () => CONSOLE }) })

describe('SDK v2, 2026-07-28', () => {
  /** A client whose user reacts to what is shown. */
  async function connect(server: McpServer, react: (shown: Shown) => Reply | Promise<Reply>) {
    const client = new Client(INFO, {
      capabilities: { elicitation: { form: {}, url: {} } },
      versionNegotiation: { mode: 'auto' },
    })
    client.setRequestHandler('elicitation/create', ({ params }) => react(params))
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url)))
    onTestFinished(() => client.close())
    return client
  }

  const call = (client: Client) => client.callTool({ name: 'sum', arguments: { numbers: [1, 2] } })

  it('a call continues by itself after its user has approved on the page', async () => {
    const server = await start()
    await offerApproved(server.gate)
    const shown: Shown[] = []
    const client = await connect(server, async (params) => {
      shown.push(params)
      const task_id = params.url?.split('/').at(-1) ?? ''
      // The person decides on the page later than the client responds.
      setTimeout(() => void server.gate.approve(admin(), { task_id }), 50)
      return { action: 'accept' }
    })
    const calling = call(client)
    await complete(server.gate, await take(server.gate), { sum: 3 })
    expect(await calling).toMatchObject({ structuredContent: { sum: 3 } })
    expect(shown).toMatchObject([
      { mode: 'url', url: expect.stringMatching(/^https:\/\/gate.example\/console\//) },
    ])
  })

  it('a denied call is an error with the reason', async () => {
    const server = await start()
    await offerApproved(server.gate)
    const client = await connect(server, async ({ url }) => {
      await server.gate.deny(admin(), { task_id: url?.split('/').at(-1), reason: 'Not today.' })
      return { action: 'accept' }
    })
    expect(await call(client)).toMatchObject({
      isError: true,
      structuredContent: { error: { message: 'Not today.' } },
    })
  })

  it('a user answers the question of a task in a form', async () => {
    const server = await start()
    await offerSum(server.gate)
    const client = await connect(server, () => ({ action: 'accept', content: { city: 'Rome' } }))
    const calling = call(client)
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const request = { message: 'Where to?', schema }
    await server.gate.ask(worker(), { ...(await take(server.gate)), kind: 'input', request })
    await complete(server.gate, await take(server.gate), { to: 'Rome' })
    expect(await calling).toMatchObject({ structuredContent: { to: 'Rome' } })
  })

  it('a user approves in a form where a rule allows that', async () => {
    const server = await start()
    await offerApproved(server.gate, { approve_by: 'client' })
    const client = await connect(server, ({ mode }) =>
      mode === 'form' ? { action: 'accept', content: { approve: true } } : { action: 'cancel' },
    )
    const calling = call(client)
    await complete(server.gate, await take(server.gate), { sum: 3 })
    expect(await calling).toMatchObject({ structuredContent: { sum: 3 } })
  })

  it('a user who closes the dialog gets the link in the result', async () => {
    const server = await start()
    await offerApproved(server.gate)
    const client = await connect(server, () => ({ action: 'cancel' }))
    expect(await call(client)).toMatchObject({
      structuredContent: { status: 'pending_approval', console_url: expect.stringContaining('/approvals/') },
    })
  })
})

type ConnectV1 = (server: McpServer, client: ClientV1) => Promise<void>

const CONNECTIONS: Readonly<Record<string, ConnectV1>> = {
  async stdio(server, client) {
    const [near, far] = InMemoryTransport.createLinkedPair()
    const served = serveStdioMcp(server.gate, {
      listing: PROGRAM_LISTING,
      transport: far,
      onError: (error) => server.errors.push(error),
    })
    onTestFinished(() => served.close())
    await client.connect(near)
  },
  async HTTP(server, client) {
    await client.connect(new HttpTransportV1(new URL(server.url)))
  },
}

describe.each(Object.entries(CONNECTIONS))('SDK v1, 2025-11-25, over %s', (_, connectTo) => {
  const SCHEMA = {
    type: 'object',
    properties: { city: { type: 'string', pattern: '^R' } },
    required: ['city'],
  }

  /** A client whose user reacts to what is shown. The signal is aborted when the server withdraws the question. */
  async function connect(
    server: McpServer,
    react: (shown: Shown, signal: AbortSignal) => Reply | Promise<Reply>,
    elicitation: Record<string, object> = { form: {}, url: {} },
  ) {
    const client = new ClientV1({ name: 'alice', version: '1' }, { capabilities: { elicitation } })
    const completed: string[] = []
    client.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) => react(params, signal))
    client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
      completed.push(params.elicitationId)
    })
    onTestFinished(() => client.close())
    await connectTo(server, client)
    return { client, completed }
  }

  const call = (client: ClientV1) => client.callTool({ name: 'sum', arguments: { numbers: [1, 2] } })
  const forever = () => new Promise<never>(() => {})

  it('a call continues by itself after a person has approved on the page', async () => {
    const server = await start()
    await offerApproved(server.gate)
    const { client, completed } = await connect(server, ({ url }) => {
      const task_id = url?.split('/').at(-1) ?? ''
      setTimeout(() => void server.gate.approve(admin(), { task_id }), 50)
      return { action: 'accept' }
    })
    const calling = call(client)
    const held = await take(server.gate)
    await complete(server.gate, held, { sum: 3 })
    expect(await calling).toMatchObject({ structuredContent: { sum: 3 } })
    expect(completed).toEqual([`${held.task_id}.1`])
    await onlyTask(server.gate)
  })

  it('a call ends with the reason of a denial', async () => {
    const server = await start()
    await offerApproved(server.gate)
    const { client } = await connect(server, async ({ url }) => {
      await server.gate.deny(admin(), { task_id: url?.split('/').at(-1), reason: 'Not today.' })
      return { action: 'accept' }
    })
    expect(await call(client)).toMatchObject({
      isError: true,
      structuredContent: { error: { message: 'Not today.' } },
    })
  })

  it('a user answers in a form, again if the answer is refused', async () => {
    const server = await start()
    await offerSum(server.gate)
    const shown: string[] = []
    const { client } = await connect(server, ({ message }) => {
      shown.push(message)
      return { action: 'accept', content: { city: shown.length === 1 ? 'Paris' : 'Rome' } }
    })
    const calling = call(client)
    const request = { message: 'Where to?', schema: SCHEMA }
    await server.gate.ask(worker(), { ...(await take(server.gate)), kind: 'input', request })
    await complete(server.gate, await take(server.gate), { to: 'Rome' })
    expect(await calling).toMatchObject({ structuredContent: { to: 'Rome' } })
    expect(shown).toEqual(['Where to?', expect.stringMatching(/refused.*city[\s\S]*Where to\?/)])
  })

  it('a question that is answered elsewhere is withdrawn from the client, and the call continues', async () => {
    const server = await start()
    await offerSum(server.gate)
    const withdrawn = deferred<void>()
    const { client } = await connect(server, (_, signal) => {
      signal.addEventListener('abort', () => withdrawn.resolve())
      void server.gate.answerQuestion(agent('alice'), { task_id: held.task_id, content: { city: 'Rome' } })
      return forever()
    })
    const calling = call(client)
    const held = await take(server.gate)
    await server.gate.ask(worker(), {
      ...held,
      kind: 'input',
      request: { message: 'Where to?', schema: SCHEMA },
    })
    await complete(server.gate, await take(server.gate), { to: 'Rome' })
    expect(await calling).toMatchObject({ structuredContent: { to: 'Rome' } })
    await withdrawn.promise
  })

  it('a user approves in a form only where a rule allows that', async () => {
    const server = await start()
    await offerApproved(server.gate)
    const { client } = await connect(server, () => ({ action: 'accept', content: { approve: true } }), {
      form: {},
    })
    expect(await call(client)).toMatchObject({ structuredContent: { status: 'pending_approval' } })
    const task_id = await onlyTask(server.gate)
    await server.gate.deny(admin(), { task_id, reason: 'No.' })
    await server.gate.putPolicy(admin(), {
      id: 'ask',
      action: 'REQUIRE_APPROVAL',
      scope: { type: 'sum' },
      approve_by: 'client',
    })
    const calling = call(client)
    const held = await take(server.gate)
    await complete(server.gate, held, { sum: 3 })
    expect(await calling).toMatchObject({ structuredContent: { sum: 3 } })
    expect(await server.gate.getApproval(admin(), { task_id: held.task_id })).toMatchObject({
      decided_by: { kind: 'agent', id: 'alice' },
      answer: { client: { name: 'alice' } },
    })
  })

  it.each(['cancel', 'decline'] as const)(
    'a link that is not opened (%s) leaves the approval open',
    async (action) => {
      const server = await start()
      await offerApproved(server.gate)
      const { client, completed } = await connect(server, () => ({ action }))
      expect(await call(client)).toMatchObject({
        structuredContent: { status: 'pending_approval', hint: expect.stringContaining('wait_for_task') },
      })
      expect(completed).toEqual([])
    },
  )

  it('a client that fails to ask, or cannot, gets the link in the result', async () => {
    const server = await start()
    await offerApproved(server.gate)
    const broken = await connect(server, () => Promise.reject(new Error('no window')))
    const plain = await connect(server, () => expect.unreachable('it cannot ask'), { form: {} })
    for (const { client } of [broken, plain]) {
      expect(await call(client)).toMatchObject({
        structuredContent: { status: 'pending_approval', console_url: expect.any(String) },
      })
    }
  })

  it('the user is asked while the client waits for the result of a task', async () => {
    const server = await start()
    await offerSum(server.gate)
    const { client } = await connect(server, () => ({ action: 'accept', content: { city: 'Rome' } }))
    await client.listTools()
    const stream = client.experimental.tasks.callToolStream(
      { name: 'sum', arguments: {} },
      CallToolResultSchema,
    )
    const working = (async () => {
      const request = { message: 'Where to?', schema: SCHEMA }
      await server.gate.ask(worker(), { ...(await take(server.gate)), kind: 'input', request })
      await complete(server.gate, await take(server.gate), { to: 'Rome' })
    })()
    let result: unknown
    for await (const message of stream) if (message.type === 'result') result = message.result
    await working
    expect(result).toMatchObject({ structuredContent: { to: 'Rome' } })
  })

  it('the approval stays open if the client disconnects while its user is asked', async () => {
    const server = await start()
    await offerApproved(server.gate)
    const asked = deferred<void>()
    const { client } = await connect(server, () => {
      asked.resolve()
      return forever()
    })
    const calling = call(client).catch((error: unknown) => error)
    await asked.promise
    await client.close()
    expect(await calling).toBeInstanceOf(Error)
    const task_id = await onlyTask(server.gate)
    expect(await server.gate.getApproval(admin(), { task_id })).toMatchObject({ state: 'open' })
    expect(server.errors).toEqual([])
  })
})
