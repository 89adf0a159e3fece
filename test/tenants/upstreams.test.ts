import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, it, onTestFinished } from 'vitest'
import type { OpenServer } from '../../src/server/open-server.ts'
import { httpFixture } from '../gateway/upstreams/fixture-http.ts'
import { program, until } from '../gateway/upstreams/support.ts'
import { admin, agent } from '../support/gates.ts'
import { adminOf, describeStores, fileOf, serve } from './support.ts'

const LOCAL = { upstream_private: ['127.0.0.1'] }
const TENANTS = [
  { tenant: 'acme', ...LOCAL, upstream_credentials: ['env:HOME'] },
  { tenant: 'beta', ...LOCAL },
]
const CALL = { type: 'mcp.tool_call', payload: { upstream: 'wiki', tool: 'echo', arguments: { text: 'hi' } } }

/** An upstream of the tenant with a tool that only it has. */
async function addWiki(server: OpenServer, tenant: string) {
  const web = await httpFixture('modern', {
    more: [{ name: `of_${tenant}`, inputSchema: { type: 'object' } }],
  })
  const root = await adminOf(server, tenant)
  const added = await root.post('/v1/upstreams', { name: 'wiki', transport: { type: 'http', url: web.url } })
  expect(added).toMatchObject({ name: 'wiki', transport: { url: web.url } })
  await until(() => toolsOf(server, tenant).length > 0)
  return { ...web, root }
}

const toolsOf = ({ gate }: OpenServer, tenant: string) => gate.upstreamTools(tenant).map(({ name }) => name)

async function connect({ url }: OpenServer, key: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  onTestFinished(() => client.close())
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
  return client
}

async function listedTools(server: OpenServer, key: string): Promise<readonly string[]> {
  const { tools } = await (await connect(server, key)).listTools()
  return tools.map(({ name }) => name).filter((name) => name.includes('__'))
}

describeStores('upstreams of tenants', (database) => {
  it('upstreams with the same name in two tenants are independent', async () => {
    const server = await serve(await database(), TENANTS)
    const acme = await addWiki(server, 'acme')
    const beta = await addWiki(server, 'beta')
    expect(await acme.root.get('/v1/upstreams/wiki')).toMatchObject({ transport: { url: acme.url } })
    expect(await beta.root.get('/v1/upstreams/wiki')).toMatchObject({ transport: { url: beta.url } })

    expect(await listedTools(server, acme.root.key)).toContain('wiki__of_acme')
    expect(await listedTools(server, acme.root.key)).not.toContain('wiki__of_beta')
    const called = await (await connect(server, beta.root.key)).callTool({
      name: 'wiki__of_beta',
      arguments: {},
    })
    expect(called.content).toMatchObject([{ text: 'of_beta has run' }])
    const { task_id } = await server.gate.createTask(agent('ann', 'acme'), CALL)
    const done = await server.gate.waitForTask(agent('ann', 'acme'), { task_id, wait_seconds: 20 })
    expect(done).toMatchObject({ status: 'succeeded' })
    expect([acme.fixture.calls, beta.fixture.calls]).toEqual([1, 1])

    expect((await server.gate.listSessions(admin('beta'), {})).sessions).toHaveLength(1)
    expect((await server.gate.listSessions(admin('acme'), {})).sessions).toEqual([])
    expect(await beta.root.post('/v1/upstreams/wiki/remove', {})).toEqual({ name: 'wiki', removed: true })
    expect(toolsOf(server, 'beta')).toEqual([])
    expect(toolsOf(server, 'acme')).toContain('wiki__of_acme')
  })

  it('a tenant without upstreams sees none, over REST and over MCP', async () => {
    const server = await serve(await database(), TENANTS)
    const acme = await addWiki(server, 'acme')
    const other = await adminOf(server, 'other')
    expect(await other.get('/v1/upstreams')).toEqual({ upstreams: [], next_cursor: null })
    expect(await other.get('/v1/upstreams/wiki')).toMatchObject({ code: 'UPSTREAM_NOT_FOUND' })
    expect(await other.get('/v1/sessions')).toEqual({ sessions: [], next_cursor: null })
    expect(await other.post('/v1/tasks', CALL)).toMatchObject({ code: 'UPSTREAM_NOT_FOUND' })
    expect(await listedTools(server, other.key)).toEqual([])
    const calling = (await connect(server, other.key)).callTool({
      name: 'wiki__echo',
      arguments: { text: 'x' },
    })
    await expect(calling).rejects.toThrow('Unknown tool')
    expect(acme.fixture.calls).toBe(0)
    const offers = (tenant: string) => server.gate.upstreamOffers(tenant).upstreams
    expect([offers('acme'), offers('other'), offers('default')]).toEqual([['wiki'], [], []])
  })

  it('upstreams of every tenant connect again after a restart, also if its upstreams of the file are gone', async () => {
    const url = await database()
    const local = {
      tenant: 'acme',
      name: 'local',
      transport: { type: 'http', url: 'https://local.example/mcp' },
      enabled: false,
    }
    const first = await serve(url, TENANTS, { ASYNCGATE_UPSTREAMS_FILE: fileOf([local]) })
    await addWiki(first, 'acme')
    await first.close()
    const second = await serve(url, TENANTS)
    await until(() => toolsOf(second, 'acme').includes('wiki__of_acme'))
    expect(toolsOf(second, 'beta')).toEqual([])
  })

  it('private addresses, credentials and programs are allowed by the operator for each tenant', async () => {
    const token = { Authorization: 'Bearer env:HOME' }
    const wiki = (headers = {}) => ({
      name: 'wiki',
      transport: { type: 'http', url: 'http://127.0.0.1:9/mcp', headers },
    })
    const { transport } = program('legacy')
    const server = await serve(await database(), TENANTS, {
      ASYNCGATE_UPSTREAMS_FILE: fileOf([
        { tenant: 'acme', name: 'local', transport },
        { name: 'local', transport: { type: 'http', url: 'https://local.example/mcp' } },
      ]),
    })
    const [acme, beta, other] = await Promise.all(
      ['acme', 'beta', 'other'].map((tenant) => adminOf(server, tenant)),
    )
    const problemOf = (path: string) => ({ code: 'VALIDATION_ERROR', details: { path } })
    expect(await acme?.post('/v1/upstreams', wiki(token))).toMatchObject({ name: 'wiki' })
    expect(await beta?.post('/v1/upstreams', wiki(token))).toMatchObject(
      problemOf('transport.headers.Authorization'),
    )
    expect(await other?.post('/v1/upstreams', wiki())).toMatchObject(problemOf('transport.url'))
    for (const root of [acme, beta]) {
      const added = await root?.post('/v1/upstreams', { name: 'mine', transport })
      expect(added).toMatchObject(problemOf('transport.type'))
    }
    expect(await acme?.get('/v1/upstreams/local')).toMatchObject({
      source: 'file',
      transport: { type: 'stdio' },
    })
    expect(await beta?.get('/v1/upstreams/local')).toMatchObject({ code: 'UPSTREAM_NOT_FOUND' })
    expect(await server.gate.getUpstream(admin(), { name: 'local' })).toMatchObject({
      transport: { type: 'http' },
    })
  })
})

describeStores(
  'upstreams of tenants with two servers',
  (database) => {
    it('an upstream that a tenant adds or removes on one server is noticed by the other', async () => {
      const url = await database()
      const [one, two] = [await serve(url, TENANTS), await serve(url, TENANTS)]
      const acme = await addWiki(one, 'acme')
      await until(() => toolsOf(two, 'acme').includes('wiki__of_acme'))
      expect(toolsOf(two, 'beta')).toEqual([])
      const { task_id } = await two.gate.createTask(agent('ann', 'acme'), CALL)
      const done = await two.gate.waitForTask(agent('ann', 'acme'), { task_id, wait_seconds: 20 })
      expect(done).toMatchObject({ status: 'succeeded' })
      await acme.root.post('/v1/upstreams/wiki/remove', {})
      await until(() => toolsOf(two, 'acme').length === 0)
    })
  },
  ['postgres'],
)
