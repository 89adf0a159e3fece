import { PassThrough } from 'node:stream'
import { InMemoryServerEventBus, InMemoryTransport, type JSONRPCMessage } from '@modelcontextprotocol/server'
import { expect, it, onTestFinished } from 'vitest'
import { defineServer } from '../../../src/mcp/server.ts'
import { PeerRequests, type PeerResponse } from '../../../src/mcp/transport/peer.ts'
import { serveStdioMcp } from '../../../src/mcp/transport/stdio.ts'
import { ListeningTransport } from '../../../src/mcp/transport/stdio-listen.ts'
import { until } from '../../gateway/calls/support.ts'
import { startMcp } from '../endpoint.ts'
import { talkingTools } from './talking.ts'

async function connect(capabilities: object) {
  const { gate } = await startMcp()
  const [input, output] = [new PassThrough(), new PassThrough()]
  const stdio = serveStdioMcp(gate, { sources: [talkingTools()], streams: { input, output } })
  onTestFinished(() => stdio.close())
  const lines: string[] = []
  let rest = ''
  output.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
  })
  const say = (message: object) => input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const hear = async (words: string): Promise<Record<string, unknown>> => {
    await until(() => lines.some((line) => line.includes(words)))
    return JSON.parse(lines.find((line) => line.includes(words)) ?? '')
  }
  const clientInfo = { name: 'raw', version: '1' }
  say({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities, clientInfo } })
  await hear('"id":0')
  say({ method: 'notifications/initialized' })
  const call = (id: number, name: string, args: object = {}) =>
    say({ id, method: 'tools/call', params: { name, arguments: args } })
  return { say, hear, call, lines }
}

it('a tool asks the client of a stdio connection, with an id that it chooses', async () => {
  const { say, hear, call } = await connect({ elicitation: {} })
  call(1, 'ask', { id: 'question:task:1' })
  expect(await hear('elicitation/create')).toMatchObject({
    id: 'question:task:1',
    params: { message: 'Who?' },
  })
  say({ id: 'question:task:1', result: { action: 'accept', content: { name: 'Ada' } } })
  expect(await hear('"id":1')).toMatchObject({
    result: { structuredContent: { given: { content: { name: 'Ada' } } } },
  })
})

it('the client of a stdio connection sets its log level', async () => {
  const { say, hear, call, lines } = await connect({})
  say({ id: 1, method: 'logging/setLevel', params: { level: 'error' } })
  await hear('"id":1')
  call(2, 'log')
  await hear('"id":2')
  const logged = lines.filter((line) => line.includes('notifications/message'))
  expect(logged.map((line) => JSON.parse(line).params.level)).toEqual(['error'])
})

it('a response over stdio that no request waits for goes to the hook for durable questions', async () => {
  const { gate } = await startMcp()
  const { definition } = defineServer(gate, {})
  const unmatched: PeerResponse[] = []
  const [client, wire] = InMemoryTransport.createLinkedPair()
  const passed: JSONRPCMessage[] = []
  const transport = new ListeningTransport(wire, {
    definition: {
      ...definition,
      async onUnmatchedResponse(response) {
        unmatched.push(response)
      },
    },
    bus: new InMemoryServerEventBus(),
    credential: { kind: 'shared', tenant: 'default' },
    requests: new PeerRequests(),
  })
  transport.onmessage = (message) => passed.push(message)
  await transport.start()
  await client.start()
  await client.send({ jsonrpc: '2.0', id: 'question:task:1', result: { action: 'decline' } })
  await client.send({ jsonrpc: '2.0', id: 7, result: {} })
  await until(() => passed.length === 1)
  expect(unmatched).toEqual([{ id: 'question:task:1', result: { action: 'decline' } }])
  // The ids of requests of the SDK are numbers.
  expect(passed).toMatchObject([{ id: 7 }])
})
