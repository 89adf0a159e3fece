import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Caller } from '../../../src/core/principal.ts'
import { TOOL_SETS } from '../../../src/core/tool-sets.ts'
import { OPERATIONS } from '../../../src/features/catalogue.ts'
import { personKey } from '../../support/auth-modes.ts'
import { PROGRAM } from '../../support/program.ts'
import { type McpServer, modernCall, modernPost, type Post, postTo, startMcp } from '../endpoint.ts'

const ADMIN: Caller = { tenant: 'default', principal: { kind: 'human', id: 'root' }, role: 'admin' }

const Tools = z.array(
  z.looseObject({
    name: z.string(),
    inputSchema: z.looseObject({ properties: z.record(z.string(), z.unknown()).optional() }),
    outputSchema: z.unknown().optional(),
  }),
)

interface Asked {
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly post?: Post
}

async function listed(
  server: McpServer,
  { query = '', headers = {}, post = modernPost('tools/list') }: Asked = {},
) {
  const sent = { body: post.body, headers: { ...post.headers, ...headers } }
  const { body } = await postTo(server.url + query, sent)
  return Tools.parse(body?.result?.tools)
}

const namesIn = async (server: McpServer, asked?: Asked) =>
  (await listed(server, asked)).map(({ name }) => name)

const BARE_LIST = { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }

const textOf = (answer: Awaited<ReturnType<McpServer['call']>>) =>
  answer.body?.result?.content?.[0]?.text ?? ''

describe('tool sets', () => {
  it('each set contains the operations that declare it, in both eras and on both paths', async () => {
    for (const fastPath of [true, false]) {
      const server = await startMcp({ query: '', fastPath })
      for (const set of ['agent', 'worker', 'ledger', 'operator'] as const) {
        const members = OPERATIONS.filter(({ toolsets }) => toolsets?.includes(set))
        const expected = members.map(({ name }) => `asyncgate_${name}`)
        expect(await namesIn(server, { query: `?toolsets=${set}` })).toEqual(expected)
        expect(await namesIn(server, { query: `?toolsets=${set}`, post: BARE_LIST })).toEqual(expected)
      }
    }
  })

  it('several sets are combined without duplicates', async () => {
    const server = await startMcp({ query: '' })
    const [agent, ledger] = [await namesIn(server), await namesIn(server, { query: '?toolsets=ledger' })]
    const both = await namesIn(server, { query: '?toolsets=agent,ledger' })
    expect(both.toSorted()).toEqual([...new Set([...agent, ...ledger])].toSorted())
  })

  it('the URL counts more than the header, and the header more than the default', async () => {
    const server = await startMcp({ query: '' })
    const headers = { 'x-asyncgate-toolsets': 'worker' }
    expect(await namesIn(server, { headers })).toContain('asyncgate_lease_next')
    const query = '?toolsets=gateway'
    expect(await namesIn(server, { query, headers })).toEqual(
      ['get_task', 'wait_for_task', 'cancel_task'].map((name) => `asyncgate_${name}`),
    )
  })

  it.each(['?toolsets=agents', '?toolsets=', '?schemas=all', '?toolsets=agent,,worker'])(
    'the request %s is refused with the possible values',
    async (query) => {
      const server = await startMcp({ query: '' })
      const { status, body } = await postTo(server.url + query, modernPost('tools/list'))
      expect(status).toBe(400)
      expect(body?.error?.data).toMatchObject({ code: 'VALIDATION_ERROR' })
    },
  )

  it('a tool that is not listed can be called', async () => {
    const server = await startMcp({ query: '' })
    expect(await namesIn(server)).not.toContain('asyncgate_health')
    expect(JSON.parse(textOf(await server.call('asyncgate_health')))).toMatchObject({ status: 'healthy' })
  })
})

describe('what a model is shown', () => {
  it('every name fits the pattern of model APIs in every set', async () => {
    const server = await startMcp({ query: '' })
    await offerTypes(server, 3)
    for (const set of TOOL_SETS) {
      for (const name of await namesIn(server, { query: `?toolsets=${set}` }))
        expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    }
  })

  it('names are listed with dots if the server is set to it', async () => {
    const server = await startMcp({ query: '?toolsets=discover,agent', toolNames: 'dot' })
    expect(await namesIn(server)).toEqual(
      expect.arrayContaining(['asyncgate.create_task', 'asyncgate.find_tools', 'asyncgate.call_tool']),
    )
  })

  it('every parameter has a description', async () => {
    const server = await startMcp({ query: '?toolsets=all' })
    const Described = z.record(z.string(), z.looseObject({ description: z.string().min(3) }))
    for (const { name, inputSchema } of await listed(server))
      expect(Described.safeParse(inputSchema.properties).error, name).toBeUndefined()
  })

  it('arguments that identify the caller are listed only for a client without a name', async () => {
    const server = await startMcp({ query: '' })
    const has = (tools: z.output<typeof Tools>) =>
      tools.some(({ inputSchema }) => 'agent_id' in Object(inputSchema.properties))
    expect(has(await listed(server))).toBe(false)
    expect(has(await listed(server, { post: BARE_LIST }))).toBe(true)
    const person = { authorization: `Bearer ${personKey('root')}` }
    expect(has(await listed(server, { post: BARE_LIST, headers: person }))).toBe(false)
  })

  it('schemas of results and data are only for programs', async () => {
    const server = await startMcp({ query: '' })
    for (const { outputSchema } of await listed(server)) expect(outputSchema).toBeUndefined()
    for (const { outputSchema } of await listed(server, { query: PROGRAM }))
      expect(outputSchema).toBeDefined()
    const call = modernCall('asyncgate_create_task', { type: 'x', agent_id: 'a' })
    expect((await postTo(server.url, call)).body?.result).not.toHaveProperty('structuredContent')
    expect((await postTo(server.url + PROGRAM, call)).body?.result).toHaveProperty('structuredContent')
  })
})

/** Types that are tools, named by their number. */
async function offerTypes({ gate }: McpServer, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const payload_schema = {
      type: 'object',
      properties: { [`field_${i}`]: { type: 'string', description: 'A text' } },
    }
    const description = `Does the work with the number ${i}, which is ${i % 2 === 0 ? 'even' : 'odd'}.`
    await gate.registerTaskType(ADMIN, {
      type: `work-${i}`,
      description,
      payload_schema,
      tool: { wait_seconds: 0 },
    })
  }
}

describe('discovery of tools', () => {
  it('200 tools cost at most 800 tokens, and each can be found and called', async () => {
    const server = await startMcp({ query: '?toolsets=discover' })
    await offerTypes(server, 200)
    const tools = await listed(server)
    expect(tools.map(({ name }) => name)).toEqual(['asyncgate_find_tools', 'asyncgate_call_tool'])
    expect(countTokens(JSON.stringify(tools))).toBeLessThanOrEqual(800)
    const found = JSON.parse(textOf(await server.call('asyncgate_find_tools', { query: 'work number 77' })))
    expect(found.tools[0]).toMatchObject({ name: 'work-77', inputSchema: { properties: { field_77: {} } } })
    const called = await server.call('asyncgate_call_tool', { name: 'work-77', arguments: { field_77: 'x' } })
    const { task_id } = JSON.parse(textOf(called))
    expect(await server.gate.getTask(ADMIN, { task_id })).toMatchObject({
      type: 'work-77',
      payload: { field_77: 'x' },
    })
  })

  it('policies apply to the tool that is called', async () => {
    const server = await startMcp({ query: '?toolsets=discover' })
    await offerTypes(server, 2)
    await server.gate.putPolicy(ADMIN, { id: 'no', action: 'BLOCK', scope: { type: 'work-0' } })
    await server.gate.putPolicy(ADMIN, { id: 'ask', action: 'REQUIRE_APPROVAL', scope: { type: 'work-1' } })
    expect(textOf(await server.call('asyncgate_call_tool', { name: 'work-0' }))).toMatch(/^POLICY_BLOCKED: /)
    expect(textOf(await server.call('asyncgate_call_tool', { name: 'work-1' }))).toContain('pending_approval')
  })

  it('an agent does not find the tools of admins, and a person does', async () => {
    const server = await startMcp({ query: '?toolsets=discover' })
    const query = { query: 'put_policy rule' }
    const asAgent = await server.call('asyncgate_find_tools', query)
    const person = { authorization: `Bearer ${personKey('root')}` }
    const asPerson = await server.post(modernCall('asyncgate_find_tools', query, person))
    expect(textOf(asAgent)).not.toContain('asyncgate_put_policy')
    expect(textOf(asPerson)).toContain('asyncgate_put_policy')
  })

  it.each([
    ['no name', {}],
    ['a name that is no text', { name: 7 }],
    ['arguments that are no object', { name: 'asyncgate_health', arguments: [] }],
    ['itself', { name: 'asyncgate_call_tool', arguments: { name: 'asyncgate_health' } }],
    ['an unknown field', { name: 'asyncgate_health', args: {} }],
  ])('a call of %s is refused with the reason', async (_, args) => {
    const server = await startMcp({ query: '' })
    const { body } = await server.call('asyncgate_call_tool', args)
    expect(body?.result).toMatchObject({ isError: true })
    expect(body?.result?.content?.[0]?.text).toMatch(/^VALIDATION_ERROR: /)
  })

  it('a call of an unknown tool is a protocol error that names it', async () => {
    const server = await startMcp({ query: '' })
    const { body } = await server.call('asyncgate_call_tool', { name: 'nothing' })
    expect(body?.error).toMatchObject({ code: -32602, message: expect.stringContaining('nothing') })
  })

  it('a search without matches says so', async () => {
    const server = await startMcp({ query: '' })
    const reply = JSON.parse(textOf(await server.call('asyncgate_find_tools', { query: 'zzzzqqqq' })))
    expect(reply).toMatchObject({ tools: [], hint: expect.any(String) })
  })
})
