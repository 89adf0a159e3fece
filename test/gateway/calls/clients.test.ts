import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { serveStdioMcp } from '../../../src/mcp/transport/stdio.ts'
import { bareCall, META, modernCall, modernPost, postTo, sendsOwnKey } from '../../mcp/endpoint.ts'
import { asCaller, suiteAuthMode } from '../../support/auth-modes.ts'
import { admin } from '../../support/gates.ts'
import { PROGRAM, PROGRAM_LISTING } from '../../support/program.ts'
import { httpFixture } from '../upstreams/fixture-http.ts'
import type { FixtureOptions } from '../upstreams/fixture-tools.ts'
import { web } from '../upstreams/support.ts'
import { type Served, serve } from './served.ts'
import { until } from './support.ts'

const ROOT = admin()
const PRIVATE = { ASYNCGATE_UPSTREAM_PRIVATE: '127.0.0.1' }

async function start(env: Readonly<Record<string, string>> = {}, options: FixtureOptions = {}) {
  const upstream = await httpFixture('modern', options)
  const served = await serve([web(upstream.url)], { ...PRIVATE, ...env })
  return { served, upstream, url: `${served.url}/mcp${PROGRAM}` }
}

const hello = (name: string) => ({
  body: {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name, version: '7' } },
  },
})

const sessionsOf = async ({ gate }: Served) => (await gate.listSessions(ROOT, {})).sessions
const said = (text: string) => ({ status: 200, body: { result: { content: [{ text }] } } })

describe('client sessions', () => {
  it('a legacy client has the session of its initialize request until it deletes the session', async () => {
    const { served, url } = await start()
    const ids: string[] = []
    for (const name of ['claude', 'claude', 'o\u202ether\n']) {
      const answer = await postTo(url, hello(name))
      ids.push(answer.headers.get('mcp-session-id') ?? '')
    }
    expect(new Set(ids).size).toBe(3)
    for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]+$/)
    const call = (id: string) =>
      postTo(url, { ...bareCall('fix__echo', { text: id }), headers: { 'mcp-session-id': id } })
    for (const id of ids) expect(await call(id)).toMatchObject(said(id))
    expect(await sessionsOf(served)).toMatchObject([
      { client: { name: 'claude', version: '7' }, calls: 1 },
      { client: { name: 'claude', version: '7' }, calls: 1 },
      { client: { name: 'other', version: '7' }, calls: 1 },
    ])
    const leave = (id: string) =>
      fetch(url, {
        method: 'DELETE',
        headers: { ...asCaller(suiteAuthMode(), {}).headers, 'mcp-session-id': id },
      })
    expect((await leave(ids[0] ?? '')).status).toBe(204)
    await until(async () => (await sessionsOf(served)).length === 2)
    // An unknown session id, as after a restart, opens a session.
    expect(await call('from-before')).toMatchObject(said('from-before'))
    expect(await call(ids[0] ?? '')).toMatchObject({ status: 404 })
    expect(await sessionsOf(served)).toHaveLength(3)
    expect((await leave('')).status).toBe(405)
  })

  it('a 2026-07-28 client has a session per client instance, or per name and version', async () => {
    for (const ASYNCGATE_MCP_FAST_PATH of ['true', 'false']) {
      const { served, url } = await start({ ASYNCGATE_MCP_FAST_PATH })
      const instance = (id: string) =>
        modernPost(
          'tools/call',
          {
            name: 'fix__echo',
            arguments: { text: 'x' },
            _meta: { ...META, 'io.asyncgate/client_instance': id },
          },
          { 'mcp-name': 'fix__echo' },
        )
      for (const post of [instance('a'), instance('b'), instance('a')]) {
        expect(await postTo(url, post)).toMatchObject(said('x'))
      }
      await postTo(url, modernCall('fix__echo', { text: 'x' }))
      await postTo(url, modernCall('fix__echo', { text: 'x' }))
      expect((await sessionsOf(served)).map(({ calls, client }) => [calls, client.name])).toEqual([
        [2, 'test'],
        [1, 'test'],
        [2, 'test'],
      ])
    }
  })

  it('a session belongs to the calling principal, which is not passed to the tool as an argument', async () => {
    const { served, url } = await start()
    const args = { text: 'x', agent_id: 'ada' }
    await postTo(url, modernCall('fix__echo', args))
    await postTo(url, modernCall('fix__echo', { text: 'x', agent_id: 'bob' }))
    expect((await sessionsOf(served)).map(({ principal }) => principal)).toEqual(['agent:ada', 'agent:bob'])
    const { tasks } = await served.gate.listTasks(ROOT, { created_by: 'ada' })
    const [task] = tasks
    expect(await served.gate.getTask(ROOT, { task_id: task?.task_id })).toMatchObject({
      payload: { upstream: 'fix', tool: 'echo', arguments: { text: 'x' } },
      principal_ai: 'ada',
    })
  })

  it("the caller's key is not passed to a tool that declares the same argument", async () => {
    const key = 'a-key-that-is-long-enough-for-a-server'
    const properties = {
      auth_token: { type: 'string', description: 'Your AsyncGate key, if you cannot send it as a header' },
      agent_id: { type: 'string' },
    }
    const more = [{ name: 'greedy', inputSchema: { type: 'object' as const, properties } }]
    const env = { ASYNCGATE_ALLOW_INSECURE_DEV: 'false', ASYNCGATE_API_KEY: key }
    const { served, url } = await start(env, { more })
    sendsOwnKey(url)
    await postTo(url, bareCall('fix__greedy', { auth_token: key, agent_id: 'ada', arg_agent_id: 'theirs' }))
    await postTo(url, modernCall('fix__greedy', { auth_token: key, agent_id: 'ada' }))
    const { tasks } = await served.gate.listTasks(ROOT, { created_by: 'ada' })
    expect(tasks.map(({ payload }) => Object(payload).arguments)).toEqual([{}, { agent_id: 'theirs' }])
    expect(JSON.stringify(tasks)).not.toContain(key)
  })

  it('a stdio client has one session, which ends with its process', async () => {
    const { served } = await start()
    const [input, output] = [new PassThrough(), new PassThrough()]
    const stdio = serveStdioMcp(served.gate, {
      listing: PROGRAM_LISTING,
      sources: served.sources,
      streams: { input, output },
    })
    let heard = ''
    output.setEncoding('utf8').on('data', (text: string) => {
      heard += text
    })
    const say = (message: object) => input.write(`${JSON.stringify(message)}\n`)
    say(hello('cursor').body)
    await until(() => heard.includes('"id":1'))
    say({ jsonrpc: '2.0', method: 'notifications/initialized' })
    const { body } = bareCall('fix__echo', { text: 'over stdio' }, 2)
    say(Object(body))
    await until(() => heard.includes('over stdio'))
    expect(await sessionsOf(served)).toMatchObject([{ client: { name: 'cursor', version: '7' } }])
    await stdio.close()
    expect(await sessionsOf(served)).toEqual([])
  })
})

describe('tool definitions', () => {
  const tool = (name: string, outputSchema: object) => ({
    name,
    description: 'Answers with data.',
    inputSchema: { type: 'object' as const, properties: { agent_id: { type: 'number' } } },
    outputSchema: { type: 'object' as const, ...outputSchema },
    annotations: { readOnlyHint: true, title: 'Data' },
  })

  it("a definition is forwarded, and its output schema only if it can be combined with AsyncGate's own results", async () => {
    const plain = { properties: { n: { type: 'number' } }, required: ['n'] }
    const more = [
      tool('plain', { $schema: 'http://json-schema.org/draft-07/schema#', ...plain }),
      tool('referring', { properties: { n: { $ref: '#/$defs/n' } }, $defs: { n: { type: 'number' } } }),
      tool('old', { $schema: 'http://json-schema.org/draft-04/schema#', ...plain }),
    ]
    const { served } = await start({ ASYNCGATE_GATEWAY_WAIT_SECONDS: '0' }, { more })
    const client = await served.connect('modern')
    const { tools } = await client.listTools()
    const shown = (name: string) => tools.find((each) => each.name === `fix__${name}`)
    expect(shown('plain')).toMatchObject({
      description: expect.stringMatching(/^Answers with data\.\n\nIf the result is not there within 0 s/),
      // The field of the tool is renamed.
      inputSchema: { properties: { agent_id: { type: 'string' }, arg_agent_id: { type: 'number' } } },
      annotations: { readOnlyHint: true },
      outputSchema: { type: 'object', anyOf: [{ type: 'object', ...plain }, {}, {}, {}] },
    })
    expect(shown('referring')?.outputSchema).toBeUndefined()
    expect(shown('old')?.outputSchema).toBeUndefined()
    // The client validates the result against the schema, including the result of an unfinished call.
    expect(await client.callTool({ name: 'fix__plain', arguments: {} })).toMatchObject({
      structuredContent: { done: false },
    })
  })
})
