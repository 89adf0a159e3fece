import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { expect, it, onTestFinished } from 'vitest'
import { admin } from '../../support/gates.ts'
import { soon } from '../../support/steps.ts'
import { startMcp } from '../endpoint.ts'

const KEY = 'a-key-that-is-long-enough'
const EVENTS = { accept: 'text/event-stream' }
const TYPE = { type: 'summarise', tool: {}, payload_schema: { type: 'object' } }

/** Reads a stream in parts; resolves with the text so far when it contains the words, or at the end. */
function readerOf(response: Response) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return async (words?: string): Promise<string> => {
    while (reader !== undefined && (words === undefined || !text.includes(words))) {
      const { done, value } = await soon(reader.read())
      if (done) break
      text += value
    }
    return text
  }
}

it('a 2025-11-25 client is notified over HTTP of a changed tool list', async () => {
  const server = await startMcp({ apiKey: KEY })
  const client = new Client({ name: 'test', version: '1' })
  onTestFinished(() => client.close())
  const changed = new Promise<void>((resolve) => {
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve())
  })
  const streaming = new Promise<void>((resolve) => {
    const fetchAndTell: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (init?.method === 'GET' && response.status === 200) resolve()
      return response
    }
    const transport = new StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: { authorization: `Bearer ${KEY}` } },
      fetch: fetchAndTell,
    })
    void client.connect(transport)
  })
  await soon(streaming)
  expect(client.getServerCapabilities()?.tools).toEqual({ listChanged: true })
  await server.gate.registerTaskType(admin(), TYPE)
  await soon(changed)
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toContain('summarise')
})

it('the stream requires the key and a client that accepts events', async () => {
  const server = await startMcp({ apiKey: KEY })
  const key = { authorization: `Bearer ${KEY}` }
  expect((await fetch(server.url, { headers: EVENTS })).status).toBe(401)
  expect((await fetch(server.url, { headers: { ...EVENTS, authorization: 'Bearer wrong' } })).status).toBe(
    401,
  )
  expect((await fetch(server.url, { headers: { ...key, accept: 'application/json' } })).status).toBe(405)
})

it('the stream reports a change once and ends when the server stops', async () => {
  const server = await startMcp()
  const response = await fetch(server.url, { headers: EVENTS })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  await server.gate.registerTaskType(admin(), { type: 'plain' })
  await server.gate.registerTaskType(admin(), TYPE)
  const read = readerOf(response)
  await read('list_changed')
  await server.endpoint.close()
  const text = await read()
  expect(text.match(/notifications\/tools\/list_changed/g) ?? []).toHaveLength(1)
})
