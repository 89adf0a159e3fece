import { PassThrough } from 'node:stream'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { serveStdioMcp } from '../../../src/mcp/transport/stdio.ts'
import { describeGates } from '../../support/gates.ts'
import { type McpServer, modernPost, serveMcp } from '../endpoint.ts'
import { TASKS_META } from '../tasks/task-client.ts'
import { offerSum } from '../tasks/task-work.ts'
import { EVENTS, post, RawClient } from './talking.ts'

const CHANGED = 'notifications/tools/list_changed'
const LISTS = { toolsListChanged: true }

/** What a client has received so far. */
type Received = () => string

function collect(chunks: AsyncIterable<string>): Received {
  let text = ''
  const reading = async () => {
    for await (const chunk of chunks) text += chunk
  }
  // The server may end the connection when the test is over.
  void reading().catch(() => {})
  return () => text
}

async function received(response: Response): Promise<Received> {
  expect(response.status).toBe(200)
  const body = response.body?.pipeThrough(new TextDecoderStream())
  if (body === undefined) throw new Error('no stream')
  return collect(body)
}

async function served(gate: Gate): Promise<McpServer> {
  const server = await serveMcp(gate)
  onTestFinished(() => server.close())
  return server
}

async function connectStdio(gate: Gate, messages: readonly unknown[], answer: string): Promise<Received> {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const handle = serveStdioMcp(gate, { streams: { input, output } })
  onTestFinished(() => handle.close())
  const text = collect(output.setEncoding('utf8'))
  for (const message of messages) input.write(`${JSON.stringify(message)}\n`)
  await vi.waitFor(() => expect(text()).toContain(answer))
  return text
}

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
}

/** Opens a connection on which the client learns of changed lists. */
const CLIENTS: Readonly<Record<string, (gate: Gate) => Promise<Received>>> = {
  'a subscription': async (gate) => received(await (await served(gate)).listen(LISTS)),
  'a subscription to lists and tasks': async (gate) => {
    const { url } = await served(gate)
    const params = { _meta: TASKS_META, notifications: { ...LISTS, taskIds: [] } }
    const { body, headers = {} } = modernPost('subscriptions/listen', params)
    return received(await post(url, Object(body), { ...EVENTS, ...headers }))
  },
  'a stream of 2025-11-25': async (gate) => {
    const { url } = await served(gate)
    return received(await (await RawClient.initialize(url)).get(url))
  },
  'a stream of 2025-11-25 without a session': async (gate) => {
    const { url } = await served(gate)
    return received(await fetch(url, { headers: { accept: 'text/event-stream' } }))
  },
  stdio: (gate) => {
    const { body } = modernPost('subscriptions/listen', { notifications: LISTS }, {}, 'ears')
    return connectStdio(gate, [body], 'notifications/subscriptions/acknowledged')
  },
  'stdio of 2025-11-25': (gate) => {
    const hello = { jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE }
    const ready = { jsonrpc: '2.0', method: 'notifications/initialized' }
    return connectStdio(gate, [hello, ready], 'protocolVersion')
  },
}

describeGates(
  'lists of tools on two servers',
  (open) => {
    it.each(Object.entries(CLIENTS))(
      'a client with %s is told of a change on the other server after two idle minutes',
      async (_, connect) => {
        vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
        onTestFinished(() => void vi.useRealTimers())
        const { gate, another } = await open({ realTime: true })
        const { gate: other } = await another({ realTime: true })
        const text = await connect(gate)
        /** The server reads the changes of other servers every two seconds. */
        const twoSeconds = async () => {
          vi.advanceTimersByTime(2_000)
          // A read takes several queries in sequence, and must end before the next one can begin.
          for (let query = 0; query < 6; query++) await gate.checkHealth()
        }
        for (let i = 0; i < 60; i++) await twoSeconds()
        expect(text()).not.toContain(CHANGED)
        await offerSum(other)
        for (let i = 0; i < 60 && !text().includes(CHANGED); i++) await twoSeconds()
        expect(text()).toContain(CHANGED)
      },
    )
  },
  ['postgres'],
)
