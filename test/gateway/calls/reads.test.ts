import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { describe, expect, it } from 'vitest'
import { asCaller, suiteAuthMode } from '../../support/auth-modes.ts'
import { admin } from '../../support/gates.ts'
import { PROGRAM } from '../../support/program.ts'
import { upstreamsOf } from '../../support/tenants.ts'
import { httpFixture } from '../upstreams/fixture-http.ts'
import { FixtureReads, type FixtureReadsOptions } from '../upstreams/fixture-reads.ts'
import { INSTRUCTION } from '../upstreams/fixture-tools.ts'
import { folder, installed, record, web } from '../upstreams/support.ts'
import { type Served, serve } from './served.ts'
import { until } from './support.ts'

const ROOT = admin()
const PRIVATE = { ASYNCGATE_UPSTREAM_PRIVATE: '127.0.0.1' }
const ERAS = ['modern', 'legacy'] as const
const NOTES = [
  { uri: 'note://a', name: 'A' },
  { uri: 'note://b', name: 'B' },
]

/** The current SDK client in both eras over HTTP and stdio, and the client of SDK v1. */
async function everyClient(served: Served) {
  const clientV1 = new ClientV1({ name: 'old', version: '1' })
  const { headers } = asCaller(suiteAuthMode(), {})
  await clientV1.connect(
    new StreamableHTTPClientTransport(new URL(`${served.url}/mcp${PROGRAM}`), {
      requestInit: { headers: { ...headers } },
    }),
  )
  const clients = [
    await served.connect('modern'),
    await served.connect('legacy'),
    await served.connectStdio('modern'),
    await served.connectStdio('legacy'),
  ]
  return { clients, clientV1 }
}

/** A server with one upstream, `fix`, that has these prompts and resources. */
async function start(
  options: FixtureReadsOptions,
  env: object = {},
  fields: object = {},
  era: 'modern' | 'legacy' = 'modern',
) {
  const reads = new FixtureReads(options)
  const upstream = await httpFixture(era, { reads })
  const served = await serve([web(upstream.url, { ...fields })], { ...PRIVATE, ...env })
  return { reads, upstream, served }
}

const blocked = { ASYNCGATE_UPSTREAM_DEFAULT: 'BLOCK' }
const asking = { ASYNCGATE_UPSTREAM_DEFAULT: 'REQUIRE_APPROVAL' }
const errorOf = (code: string, details: object = {}) => ({
  data: { code, details: expect.objectContaining(details) },
})

describe('upstream prompts and resources', () => {
  it('every official client lists, reads and completes them under the name of the upstream', async () => {
    const served = await serve([installed('server-everything')])
    const { clients, clientV1 } = await everyClient(served)
    const prompt = { name: 'everything__args-prompt', arguments: { city: 'Oslo' } }
    const uri = 'everything+demo://resource/static/document/features.md'
    const blob = 'everything+demo://resource/dynamic/blob/1'
    const ref = { type: 'ref/prompt', name: 'everything__completable-prompt' } as const
    const complete = { ref, argument: { name: 'department', value: 'S' } }
    for (const client of [...clients, clientV1]) {
      expect(client.getServerCapabilities()).toMatchObject({
        prompts: { listChanged: true },
        resources: { listChanged: true },
        completions: {},
      })
      const { prompts } = await client.listPrompts()
      expect(prompts).toHaveLength(5)
      expect(prompts[0]).toMatchObject({ name: 'delegate' })
      expect(prompts[1]).toMatchObject({
        name: prompt.name,
        arguments: [{ name: 'city', required: true }, {}],
      })
      const { resources } = await client.listResources()
      expect(resources).toContainEqual(expect.objectContaining({ uri, mimeType: 'text/markdown' }))
      const { resourceTemplates } = await client.listResourceTemplates()
      expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain(
        'everything+demo://resource/dynamic/text/{resourceId}',
      )
      expect(await client.getPrompt(prompt)).toMatchObject({
        messages: [{ role: 'user', content: { type: 'text', text: "What's weather in Oslo?" } }],
        _meta: { 'asyncgate/origin': 'upstream:everything', 'asyncgate/untrusted': true },
      })
      expect(await client.readResource({ uri })).toMatchObject({
        contents: [{ uri, text: expect.stringContaining('Everything') }],
        _meta: { 'asyncgate/untrusted': true },
      })
      expect(await client.readResource({ uri: blob })).toMatchObject({
        contents: [{ uri: blob, blob: expect.any(String) }],
      })
      expect(await client.complete(complete)).toMatchObject({ completion: { values: ['Sales', 'Support'] } })
    }
    await clientV1.close()
    expect(upstreamsOf(served).get('everything')?.offers).toEqual({
      prompts: 4,
      resources: expect.any(Number),
      resource_templates: 2,
    })
    const { tasks } = await served.gate.listTasks(ROOT, { type: 'mcp.tool_call', limit: 100 })
    expect(tasks).toHaveLength(15)
    expect(tasks.every(({ status }) => status === 'succeeded')).toBe(true)
    expect(tasks.map(({ payload }) => payload)).toContainEqual({
      upstream: 'everything',
      tool: 'resources/read',
      arguments: { uri: 'demo://resource/static/document/features.md' },
    })
  })

  it('embedded resources are renamed so that they can be read', async () => {
    const served = await serve([installed('server-everything')])
    const client = await served.connect()
    const { messages } = await client.getPrompt({
      name: 'everything__resource-prompt',
      arguments: { resourceType: 'Text', resourceId: '1' },
    })
    const uri = 'everything+demo://resource/dynamic/text/1'
    expect(messages).toContainEqual(
      expect.objectContaining({
        content: expect.objectContaining({ resource: expect.objectContaining({ uri }) }),
      }),
    )
    expect(await client.readResource({ uri })).toMatchObject({ contents: [{ uri }] })
  })

  it('changes of lists are announced only if an upstream has them', async () => {
    const served = await serve([installed('server-filesystem', [folder()])])
    for (const client of (await everyClient(served)).clients) {
      const { prompts, resources } = client.getServerCapabilities() ?? {}
      expect({ prompts, resources }).toEqual({ prompts: {}, resources: { subscribe: true } })
    }
  })

  it.each(ERAS)('all pages are read from a server of the %s era, and lists are paginated', async (era) => {
    const many = Array.from({ length: 720 }, (_, i) => ({
      uri: `note://${String(i).padStart(4, '0')}`,
      name: `${i}`,
    }))
    const { served } = await start(
      { resources: many, prompts: [{ name: 'one' }, { name: 'two' }], pageSize: 100 },
      {},
      {},
      era,
    )
    const { clientV1 } = await everyClient(served)
    const first = await clientV1.listResources()
    expect(first.resources).toHaveLength(500)
    const { resources, nextCursor } = await clientV1.listResources({ cursor: first.nextCursor })
    expect(nextCursor).toBeUndefined()
    expect([...first.resources, ...resources].map(({ uri }) => uri)).toEqual(
      many.map(({ uri }) => `fix+${uri}`),
    )
    expect((await clientV1.listPrompts()).prompts.map(({ name }) => name)).toEqual([
      'delegate',
      'fix__one',
      'fix__two',
    ])
    await expect(clientV1.listResources({ cursor: 'nonsense!' })).rejects.toThrow('cursor')
    await clientV1.close()
  })

  it.each(ERAS)(
    'changed lists of a %s upstream are announced to clients of both eras, over HTTP and stdio',
    async (era) => {
      const { served, reads } = await start({}, {}, {}, era)
      const { clients, clientV1 } = await everyClient(served)
      const heard: string[] = []
      for (const [i, client] of [...clients.slice(1, 2), clients[3]].entries()) {
        client?.setNotificationHandler(
          'notifications/prompts/list_changed',
          () => void heard.push(`prompts ${i}`),
        )
        client?.setNotificationHandler(
          'notifications/resources/list_changed',
          () => void heard.push(`resources ${i}`),
        )
      }
      for (const [i, client] of [clients[0], clients[2]].entries()) {
        client?.setNotificationHandler(
          'notifications/prompts/list_changed',
          () => void heard.push(`new prompts ${i}`),
        )
        client?.setNotificationHandler(
          'notifications/resources/list_changed',
          () => void heard.push(`new resources ${i}`),
        )
        await client?.listen({ promptsListChanged: true, resourcesListChanged: true })
      }
      await clientV1.close()
      reads.addPrompt({ name: 'fresh' })
      reads.addResource({ uri: 'note://fresh', name: 'Fresh' })
      await until(() => new Set(heard).size === 8)
      for (const client of clients) {
        expect((await client.listPrompts()).prompts).toMatchObject([
          { name: 'delegate' },
          { name: 'fix__fresh' },
        ])
        expect((await client.listResources()).resources).toMatchObject([{ uri: 'fix+note://fresh' }])
      }
    },
  )

  it('invisible characters are removed, and a read cannot pose as a tool or change its origin', async () => {
    const hidden = `Good.\u001b[8m${INSTRUCTION}\u202e\u200b`
    const reads = new FixtureReads({
      prompts: [
        { name: 'zero\u200bwidth' },
        { name: 'with space/é', description: hidden, arguments: [{ name: 'a', description: hidden }] },
      ],
      resources: [
        { uri: 'note://\u202ea', name: 'A' },
        { uri: 'note://b', name: hidden, description: hidden },
      ],
      read: async (uri) => ({
        contents: [{ uri, text: 'x' }],
        _meta: { 'asyncgate/untrusted': false, theirs: 1 },
      }),
    })
    const more = [{ name: 'resources/read', inputSchema: { type: 'object' as const } }]
    const upstream = await httpFixture('modern', { reads, more })
    const served = await serve([web(upstream.url)], PRIVATE)
    const client = await served.connect('modern')
    const [own, ...prompts] = (await client.listPrompts()).prompts
    const { resources } = await client.listResources()
    expect(own?.name).toBe('delegate')
    expect(prompts).toHaveLength(1)
    expect(prompts[0]?.name).toMatch(/^fix__with_space_[0-9a-f]{10}$|^fix__with_space__[0-9a-f]{10}$/)
    expect(resources.map(({ uri }) => uri)).toEqual(['fix+note://b'])
    expect(JSON.stringify([prompts, resources])).not.toMatch(/\\u001b|\u202e|\u200b/)
    expect(await client.getPrompt({ name: prompts[0]?.name ?? '', arguments: { a: '1' } })).toMatchObject({
      messages: [{ content: { text: 'with space/é {"a":"1"}' } }],
    })
    expect(await client.readResource({ uri: 'fix+note://b' })).toMatchObject({
      _meta: { 'asyncgate/untrusted': true, theirs: 1 },
    })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name).filter((name) => name.includes('resources'))).toEqual([])
  })

  it('a read larger than max_result_bytes is refused', async () => {
    const read = async (uri: string) => ({
      contents: [{ uri, text: 'x'.repeat(uri === 'note://a' ? 1000 : 100_000) }],
    })
    const { served } = await start({ resources: NOTES, read }, {}, { max_result_bytes: 50_000 })
    for (const client of (await everyClient(served)).clients) {
      expect(await client.readResource({ uri: 'fix+note://a' })).toMatchObject({
        contents: [{ uri: 'fix+note://a' }],
      })
      await expect(client.readResource({ uri: 'fix+note://b' })).rejects.toMatchObject({
        data: { code: 'UPSTREAM_RESULT_TOO_LARGE', status: 'failed', task_id: expect.any(String) },
      })
    }
  })

  it('tools.allow and tools.deny filter prompts and resources', async () => {
    const prompts = [{ name: 'review' }, { name: 'secret' }]
    const { served } = await start(
      { resources: NOTES, prompts },
      {},
      { tools: { deny: ['prompts/get:secret', 'resources/*'] } },
    )
    const client = await served.connect()
    expect(client.getServerCapabilities()?.resources).toEqual({ subscribe: true })
    expect((await client.listResources()).resources).toEqual([])
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['delegate', 'fix__review'])
    await expect(client.getPrompt({ name: 'fix__secret' })).rejects.toMatchObject(
      errorOf('UPSTREAM_TOOL_NOT_FOUND', { tool: 'prompts/get:secret' }),
    )
    const direct = {
      type: 'mcp.tool_call',
      payload: { upstream: 'fix', tool: 'resources/read', arguments: { uri: 'note://a' } },
    }
    await expect(served.gate.createTask(ROOT, direct)).rejects.toMatchObject({
      code: 'UPSTREAM_TOOL_NOT_FOUND',
    })
  })

  it('a missing prompt or resource is refused with a protocol error', async () => {
    const { served } = await start({ resources: NOTES, prompts: [{ name: 'review' }] })
    for (const client of (await everyClient(served)).clients) {
      await expect(client.getPrompt({ name: 'nobody__review' })).rejects.toThrow(
        'Unknown prompt: nobody__review',
      )
      await expect(client.getPrompt({ name: 'fix__other' })).rejects.toMatchObject({ code: -32_602 })
      await expect(client.readResource({ uri: 'fix+note://c' })).rejects.toMatchObject({ code: -32_602 })
    }
  })
})

describe('resource URIs without an upstream name', () => {
  const two = async () => {
    const records = []
    for (const [name, resources] of [
      ['one', NOTES],
      ['two', NOTES.slice(0, 1)],
    ] as const) {
      const reads = new FixtureReads({
        resources,
        read: async (uri) => ({ contents: [{ uri, text: name }] }),
      })
      records.push(web((await httpFixture('modern', { reads })).url, { name }))
    }
    return serve(records, PRIVATE)
  }

  it('a URI without a prefix is accepted if it belongs to exactly one upstream', async () => {
    const client = await (await two()).connect('modern')
    expect(await client.readResource({ uri: 'note://b' })).toMatchObject({
      contents: [{ uri: 'one+note://b', text: 'one' }],
    })
    for (const name of ['one', 'two']) {
      const uri = `${name}+note://a`
      expect(await client.readResource({ uri })).toMatchObject({ contents: [{ uri, text: name }] })
    }
    await expect(client.readResource({ uri: 'note://a' })).rejects.toThrow(
      'begin with the name of an upstream',
    )
    await expect(client.readResource({ uri: 'note://c' })).rejects.toThrow(
      'begin with the name of an upstream',
    )
  })
})

describe('policy and lifecycle of reads', () => {
  const options = { resources: NOTES, prompts: [{ name: 'review' }] }

  it('a blocked read leaves the same record as a blocked call', async () => {
    const { served } = await start(options, blocked)
    await served.gate.putPolicy(ROOT, {
      id: 'prompts',
      action: 'ALLOW',
      scope: { upstream: 'fix', tool: 'prompts/get:*' },
    })
    await served.gate.putPolicy(ROOT, {
      id: 'only-a',
      action: 'ALLOW',
      scope: { tool: 'resources/read' },
      condition: { '==': [{ var: 'args.uri' }, 'note://a'] },
    })
    const { clients } = await everyClient(served)
    for (const client of clients) {
      expect(await client.getPrompt({ name: 'fix__review' })).toMatchObject({ messages: [{}] })
      expect(await client.readResource({ uri: 'fix+note://a' })).toMatchObject({ contents: [{}] })
      await expect(client.readResource({ uri: 'fix+note://b' })).rejects.toMatchObject(
        errorOf('POLICY_BLOCKED', { task_id: expect.any(String) }),
      )
    }
    const { tasks } = await served.gate.listTasks(ROOT, { status: 'failed' })
    expect(tasks).toHaveLength(clients.length)
    const { receipts } = await served.gate.listReceiptsLedger(ROOT, { receipt_type: 'policy.blocked' })
    expect(receipts).toHaveLength(clients.length)
  })

  it('a read that needs approval names its task, and a remembered approval covers only that resource', async () => {
    const { served } = await start(options, asking)
    for (const [i, client] of (await everyClient(served)).clients.entries()) {
      const meta = { _meta: { 'io.asyncgate/agent_id': `agent-${i}` } }
      const read = (uri: string) => client.readResource({ uri, ...meta })
      const refusal = await read('fix+note://a').catch((error: unknown) => error)
      expect(refusal).toMatchObject(errorOf('READ_NOT_DONE', { status: 'pending_approval' }))
      const { task_id } = Object(refusal).data.details
      expect(Object(refusal).message).toContain(task_id)
      const until = new Date(Date.now() + 3_600_000).toISOString()
      await served.gate.approve(ROOT, { task_id, remember_until: until })
      const { result } = await served.gate.waitForTask(ROOT, { task_id, wait_seconds: 5, until: 'done' })
      expect(result?.result).toMatchObject({ contents: [{ uri: 'note://a' }] })
      expect(await read('fix+note://a')).toMatchObject({ contents: [{ uri: 'fix+note://a' }] })
      await expect(read('fix+note://b')).rejects.toMatchObject(errorOf('READ_NOT_DONE'))
    }
  })

  it('reads and completions are redacted like results', async () => {
    const card = 'card 4111111111111111'
    const read = async (uri: string) => ({ contents: [{ uri, text: card }] })
    const get = () => ({
      messages: [{ role: 'user' as const, content: { type: 'text' as const, text: card } }],
    })
    const { served, reads } = await start({ ...options, read, get })
    await served.gate.putPolicy(ROOT, {
      id: 'cards',
      action: 'REDACT',
      redact: { targets: 'both', patterns: ['card'] },
    })
    const client = await served.connect('modern')
    expect(await client.readResource({ uri: 'fix+note://a' })).toMatchObject({
      contents: [{ text: 'card [REDACTED]' }],
    })
    expect(await client.getPrompt({ name: 'fix__review' })).toMatchObject({
      messages: [{ content: { text: 'card [REDACTED]' } }],
    })
    const ref = { type: 'ref/prompt', name: 'fix__review' } as const
    const complete = (value: string) => client.complete({ ref, argument: { name: 'a', value } })
    expect(await complete('x')).toMatchObject({ completion: { values: ['xone', 'card [REDACTED]'] } })
    expect(await complete(card)).toMatchObject({ completion: { values: [] } })
    expect(reads.completed).toEqual(['x'])
  })

  it('a read that is not allowed yields no completions', async () => {
    const { served, reads } = await start(options, asking)
    const client = await served.connect('modern')
    const ref = { type: 'ref/resource', uri: 'fix+note://{id}' } as const
    const answer = await client.complete({ ref, argument: { name: 'id', value: 'x' } })
    expect(answer).toMatchObject({ completion: { values: [] } })
    expect(reads.completed).toEqual([])
  })

  it('a read that the client aborts is canceled at the upstream', async () => {
    let begun = 0
    let stopped = 0
    const read = (_: string, signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) => {
        begun += 1
        signal.addEventListener('abort', () => {
          stopped += 1
          reject(signal.reason)
        })
      })
    const { served } = await start({ ...options, read })
    const clients = [
      await served.connect('modern'),
      await served.connectStdio('modern'),
      await served.connectStdio('legacy'),
    ]
    for (const [i, client] of clients.entries()) {
      const stop = new AbortController()
      const reading = client.readResource({ uri: 'fix+note://a' }, { signal: stop.signal })
      await until(() => begun === i + 1)
      stop.abort()
      await expect(reading).rejects.toThrow()
      await until(() => stopped === i + 1)
      const { tasks } = await served.gate.listTasks(ROOT, { status: 'canceled' })
      expect(tasks).toHaveLength(i + 1)
    }
  })

  it('a read that exceeds the wait continues as a task, or is canceled with at_timeout cancel', async () => {
    const read = () => new Promise<never>(() => {})
    for (const [how, code, status] of [
      ['keep', 'READ_NOT_DONE', 'running'],
      ['cancel', 'UPSTREAM_TIMEOUT', 'canceled'],
    ] as const) {
      const env = { ASYNCGATE_GATEWAY_WAIT_SECONDS: '0', ASYNCGATE_GATEWAY_AT_TIMEOUT: how }
      const { served } = await start({ ...options, read }, env)
      const client = await served.connect('modern')
      const refusal = await client.readResource({ uri: 'fix+note://a' }).catch((error: unknown) => error)
      expect(refusal).toMatchObject(errorOf(code))
      const { task_id } = Object(refusal).data.details
      await until(async () => (await served.gate.getTask(ROOT, { task_id })).status === status)
    }
  })

  it('a read from an upstream that is down fails with UPSTREAM_UNAVAILABLE', async () => {
    const reads = new FixtureReads(options)
    const upstream = await httpFixture('modern', { reads })
    const down = record({
      name: 'down',
      transport: { type: 'stdio', command: '/no/such/program' },
      restart: { first_ms: 60_000, max_ms: 60_000 },
    })
    const served = await serve([web(upstream.url), down], PRIVATE)
    for (const client of (await everyClient(served)).clients) {
      await expect(client.readResource({ uri: 'down+note://a' })).rejects.toMatchObject(
        errorOf('UPSTREAM_UNAVAILABLE'),
      )
      await expect(client.getPrompt({ name: 'down__review' })).rejects.toMatchObject(
        errorOf('UPSTREAM_UNAVAILABLE'),
      )
    }
  })

  it('a read can be created as a task over REST, and its arguments are validated', async () => {
    const { served } = await start(options)
    const made = (tool: string, args: object) =>
      served.gate.createTask(ROOT, {
        type: 'mcp.tool_call',
        payload: { upstream: 'fix', tool, arguments: args },
      })
    const { task_id } = await made('prompts/get:review', { file: 'a.ts' })
    const { result } = await served.gate.waitForTask(ROOT, { task_id, wait_seconds: 5 })
    expect(result?.result).toMatchObject({ messages: [{ content: { text: 'review {"file":"a.ts"}' } }] })
    await expect(made('prompts/get:review', { file: 1 })).rejects.toMatchObject({
      details: { path: 'payload.arguments.file' },
    })
    await expect(made('resources/read', {})).rejects.toMatchObject({
      details: { path: 'payload.arguments.uri' },
    })
  })
})
