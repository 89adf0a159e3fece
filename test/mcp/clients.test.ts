import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioTransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { startMcp } from './endpoint.ts'

const folder = mkdtempSync(join(tmpdir(), 'asyncgate-stdio-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The node arguments for a stdio server on a separate database. */
function child(name: string): { command: string; args: string[] } {
  const script = fileURLToPath(new URL('transport/stdio-child.ts', import.meta.url))
  return { command: process.execPath, args: ['--import', 'tsx', script, join(folder, `${name}.db`)] }
}

interface Session {
  list(): Promise<{ tools: { name: string }[] }>
  call(name: string, args: Record<string, unknown>): Promise<unknown>
  close(): Promise<unknown>
}

const INFO = { name: 'test', version: '1' }
const KEY = 'a-key-that-is-long-enough'
const requestInit = { headers: { authorization: `Bearer ${KEY}` } }
const httpUrl = async () => new URL((await startMcp({ apiKey: KEY })).url)

async function newSession(
  transport: Parameters<Client['connect']>[0],
  mode: 'auto' | 'legacy',
): Promise<Session> {
  const client = new Client(INFO, { versionNegotiation: { mode } })
  await client.connect(transport)
  return {
    list: () => client.listTools(),
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: () => client.close(),
  }
}

async function sessionV1(transport: Parameters<ClientV1['connect']>[0]): Promise<Session> {
  const client = new ClientV1(INFO)
  await client.connect(transport)
  return {
    list: () => client.listTools(),
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: () => client.close(),
  }
}

const CLIENTS: Readonly<Record<string, () => Promise<Session>>> = {
  'SDK v2 over HTTP, modern': async () =>
    newSession(new StreamableHTTPClientTransport(await httpUrl(), { requestInit }), 'auto'),
  'SDK v2 over HTTP, older revision': async () =>
    newSession(new StreamableHTTPClientTransport(await httpUrl(), { requestInit }), 'legacy'),
  'SDK v1 over HTTP': async () => sessionV1(new HttpTransportV1(await httpUrl(), { requestInit })),
  'SDK v2 over stdio, modern': () => newSession(new StdioClientTransport(child('modern')), 'auto'),
  'SDK v2 over stdio, older revision': () => newSession(new StdioClientTransport(child('legacy')), 'legacy'),
  'SDK v1 over stdio': () => sessionV1(new StdioTransportV1(child('v1'))),
}

const Result = z.object({
  isError: z.boolean().optional(),
  structuredContent: z.record(z.string(), z.unknown()),
})
const Leased = z.object({ tasks: z.tuple([z.object({ task_id: z.string(), lease_id: z.string() })]) })

describe.each(Object.entries(CLIENTS))('%s', (_, connect) => {
  it('the client lists the tools, runs a task to its end and gets an error', async () => {
    const session = await connect()
    const call = async (name: string, args: Record<string, unknown>) =>
      Result.parse(await session.call(`asyncgate.${name}`, args))
    try {
      const { tools } = await session.list()
      expect(tools.map(({ name }) => name)).toContain('asyncgate_create_task')

      const alice = { agent_id: 'alice' }
      const created = await call('create_task', { type: 'sum', payload: { numbers: [1, 2] }, ...alice })
      const { task_id } = created.structuredContent
      const leased = await call('lease_next', { worker_id: 'w', accept_types: ['sum'] })
      const [{ lease_id }] = Leased.parse(leased.structuredContent).tasks
      const artifacts = [{ type: 'url', url: 'https://example.com/3' }]
      await call('complete', { worker_id: 'w', task_id, lease_id, result: { sum: 3 }, artifacts })
      const done = await call('wait_for_task', { task_id, wait_seconds: 5, ...alice })
      expect(done.structuredContent).toMatchObject({
        done: true,
        status: 'succeeded',
        result: { result: { sum: 3 } },
      })

      const late = await call('fail', { worker_id: 'w', task_id, lease_id, error: { message: 'late' } })
      expect(late).toMatchObject({ isError: true, structuredContent: { hint: expect.any(String) } })
    } finally {
      await session.close()
    }
  })
})
