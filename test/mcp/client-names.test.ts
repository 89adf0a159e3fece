import { PassThrough } from 'node:stream'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { agentName } from '../../src/mcp/tools/identity.ts'
import { serveStdioMcp } from '../../src/mcp/transport/stdio.ts'
import { asCaller, personKey, suiteAuthMode } from '../support/auth-modes.ts'
import { admin } from '../support/gates.ts'
import { PROGRAM_LISTING } from '../support/program.ts'
import { bareCall, contentOf, type McpServer, META, modernPost, postTo, startMcp } from './endpoint.ts'

const ERAS = ['legacy', 'modern'] as const

/** An official client with this name. */
async function connect(
  { url }: Pick<McpServer, 'url'>,
  name: string,
  era: (typeof ERAS)[number],
): Promise<Client> {
  const mode = era === 'legacy' ? 'legacy' : { pin: '2026-07-28' }
  const client = new Client({ name, version: '1' }, { versionNegotiation: { mode } })
  const { headers } = asCaller(suiteAuthMode(), {})
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  onTestFinished(() => client.close())
  return client
}

const created = z.looseObject({ task_id: z.string() })

async function ownerOf(server: McpServer, client: Client, args: object = {}) {
  const answer = await client.callTool({ name: 'asyncgate.create_task', arguments: { type: 'x', ...args } })
  const { task_id } = created.parse(answer.structuredContent)
  return (await server.gate.getTask(admin(), { task_id })).created_by
}

describe.each(ERAS)('a %s client without an agent_id', (era) => {
  it('the agent id is derived from the client name, and two clients of one name are the same agent', async () => {
    const server = await startMcp()
    const clients = [await connect(server, 'Claude Code', era), await connect(server, 'Claude Code', era)]
    for (const client of clients) {
      expect(await ownerOf(server, client)).toMatchObject({ kind: 'agent', id: 'claude-code' })
    }
    const { structuredContent } = await (await connect(server, 'codex', era)).callTool({
      name: 'asyncgate.list_tasks',
      arguments: {},
    })
    expect(structuredContent).toMatchObject({ tasks: [] })
  })

  it('an explicit agent_id takes precedence over the client name', async () => {
    const server = await startMcp()
    const client = await connect(server, 'Claude Code', era)
    expect(await ownerOf(server, client, { agent_id: 'alice' })).toMatchObject({ id: 'alice' })
    expect(await ownerOf(server, client, { principal_ai: 'hexy' })).toMatchObject({ id: 'hexy' })
  })

  it('a principal_kind without an id does not make the client a person or an admin', async () => {
    const server = await startMcp()
    const client = await connect(server, 'root', era)
    expect(await ownerOf(server, client, { principal_kind: 'human' })).toMatchObject({
      kind: 'agent',
      id: 'root',
    })
    const answer = await client.callTool({ name: 'asyncgate.list_policies', arguments: {} })
    expect(answer).toMatchObject({ isError: true, structuredContent: { code: 'FORBIDDEN' } })
  })
})

describe.each(ERAS)('a %s client of a URL that names an agent', (era) => {
  it('the client acts as that agent, and sees only the tasks of that agent', async () => {
    const server = await startMcp()
    const alice = await connect({ url: `${server.url}&agent=alice` }, 'Claude Code', era)
    expect(await ownerOf(server, alice)).toMatchObject({ kind: 'agent', id: 'alice' })
    const spaced = await connect({ url: `${server.url}&agent=a%20%26%20b` }, 'Claude Code', era)
    expect(await ownerOf(server, spaced)).toMatchObject({ kind: 'agent', id: 'a & b' })
    const listed = async (client: Client) =>
      (await client.callTool({ name: 'asyncgate.list_tasks', arguments: {} })).structuredContent
    expect(await listed(alice)).toMatchObject({ tasks: [{ created_by: { id: 'alice' } }] })
    expect(await listed(spaced)).toMatchObject({ tasks: [{ created_by: { id: 'a & b' } }] })
  })

  it('a caller that the arguments or the metadata name takes precedence over the URL', async () => {
    const server = await startMcp()
    const client = await connect({ url: `${server.url}&agent=alice` }, 'Claude Code', era)
    expect(await ownerOf(server, client, { agent_id: 'bob' })).toMatchObject({ id: 'bob' })
    const _meta = { 'io.asyncgate/agent_id': 'carol' }
    const answer = await client.callTool({ name: 'asyncgate.create_task', arguments: { type: 'x' }, _meta })
    const { task_id } = created.parse(answer.structuredContent)
    const { created_by } = await server.gate.getTask(admin(), { task_id })
    expect(created_by).toMatchObject({ id: 'carol' })
  })
})

it('a URL that names another principal than that of the key is refused', async () => {
  const server = await startMcp()
  const headers = { authorization: `Bearer ${personKey('root')}` }
  const post = { ...bareCall('asyncgate.list_tasks', {}), headers }
  const refused = await postTo(`${server.url}&agent=alice`, post)
  expect(refused.body?.result).toMatchObject({ isError: true, structuredContent: { code: 'FORBIDDEN' } })
  const accepted = await postTo(`${server.url}&agent=root`, post)
  expect(accepted.body?.result).toMatchObject({ structuredContent: { tasks: [] } })
})

it.each(['agent=', 'agent=a&agent=b', `agent=${'x'.repeat(256)}`, 'agent=%00'])(
  'a URL with %j is refused',
  async (query) => {
    const server = await startMcp()
    const { status, body } = await postTo(`${server.url}&${query}`, bareCall('asyncgate.list_tasks', {}))
    expect(status).toBe(400)
    expect(body?.error?.data).toMatchObject({ code: 'VALIDATION_ERROR', details: { path: 'agent' } })
  },
)

it('the receipt of a created task contains the client instance', async () => {
  const server = await startMcp()
  const instances = []
  for (const instance of ['one', 'two', 'two']) {
    const _meta = { ...META, 'io.asyncgate/client_instance': instance }
    const params = { _meta, name: 'asyncgate.create_task', arguments: { type: 'x' } }
    const post = modernPost('tools/call', params, { 'mcp-name': 'asyncgate.create_task' })
    const { task_id } = contentOf(await server.post(post))
    const { receipts } = await server.gate.listReceipts(admin(), { task_id: String(task_id) })
    instances.push(JSON.stringify(receipts).match(/"created_by_instance_id":"([0-9a-f]{12})"/)?.[1])
  }
  const [one, two, again] = instances
  expect(one).toBeDefined()
  expect(one).not.toBe(two)
  expect(two).toBe(again)
})

it('a client without a name acts as service:operator and cannot decide anything', async () => {
  const server = await startMcp()
  const { task_id } = contentOf(await server.post(bareCall('asyncgate.create_task', { type: 'x' })))
  const { created_by } = await server.gate.getTask(admin(), { task_id: String(task_id) })
  expect(created_by).toEqual({ kind: 'service', id: 'operator' })
  const rule = { id: 'mine', action: 'ALLOW' }
  for (const who of [{}, { agent_id: 'a' }, { principal_kind: 'human', principal_id: 'nobody-with-a-key' }]) {
    const answer = await server.post(bareCall('asyncgate.put_policy', { ...rule, ...who }))
    expect(answer.body?.result).toMatchObject({ isError: true, structuredContent: { code: 'FORBIDDEN' } })
  }
})

it.each([
  ['its client name', {}, 'zed'],
  ['the option of the server', { agent: 'alice' }, 'alice'],
])('a stdio client acts as the agent of %s', async (_, options, id) => {
  const server = await startMcp()
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const handle = serveStdioMcp(server.gate, {
    ...options,
    listing: PROGRAM_LISTING,
    streams: { input: stdin, output: stdout },
  })
  onTestFinished(() => handle.close())
  const clientInfo = { name: 'Zed', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const say = (message: object) => stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  say({ id: 0, method: 'initialize', params })
  say({ method: 'notifications/initialized' })
  say({ id: 1, method: 'tools/call', params: { name: 'asyncgate.create_task', arguments: { type: 'x' } } })
  let text = ''
  for await (const chunk of stdout.setEncoding('utf8')) {
    text += chunk
    if (/"id":1[,}][^\n]*\n/.test(text) || /\n[^\n]*"id":1[^\n]*\n/.test(text)) break
  }
  const { tasks } = await server.gate.listTasks(admin(), {})
  expect(tasks).toMatchObject([{ created_by: { kind: 'agent', id } }])
})

it.each([
  ['claude-code', 'claude-code'],
  ['Claude Code', 'claude-code'],
  ['  Visual Studio Code (Insiders) ', 'visual-studio-code-insiders'],
  ['mcp_client.v2', 'mcp_client.v2'],
  ['Ünïcode', 'unicode'],
  ['agent:root', 'agent-root'],
  ['../..', ''],
  ['日本', ''],
  ['x'.repeat(200), 'x'.repeat(64)],
])('the client name %j becomes the agent id %j', (name, agent) => {
  expect(agentName(name)).toBe(agent)
})
