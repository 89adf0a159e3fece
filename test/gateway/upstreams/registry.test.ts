import { expect, it } from 'vitest'
import type { Upstreams, UpstreamsOptions } from '../../../src/gateway/upstreams/upstreams.ts'
import { admin, agent, type Bench, describeGates, type Open } from '../../support/gates.ts'
import { httpFixture } from './fixture-http.ts'
import { fault, program, registryOn, textOf, until } from './support.ts'

interface WithUpstreams extends Bench {
  readonly upstreams: Upstreams
}

/** A gate with an upstream registry on the same database. */
async function withUpstreams(open: Open, options?: Partial<UpstreamsOptions>): Promise<WithUpstreams> {
  const opened: Upstreams[] = []
  const bench = await open({
    async upstreams(store) {
      const upstreams = await registryOn(store, options)
      opened.push(upstreams)
      return upstreams
    },
  })
  const [upstreams] = opened
  if (upstreams === undefined) throw new Error('the gate was opened without upstreams')
  return { ...bench, upstreams }
}

const at = (url: string, more: object = {}) => ({ name: 'fix', transport: { type: 'http', url }, ...more })

describeGates('the upstream registry', (open) => {
  it('only admins can add, read and remove upstreams', async () => {
    const { url } = await httpFixture('modern')
    const { gate, upstreams } = await withUpstreams(open)
    expect(await gate.listUpstreams(admin(), {})).toEqual({ upstreams: [], next_cursor: null })
    const added = await gate.addUpstream(admin(), at(url))
    expect(added).toMatchObject({
      name: 'fix',
      source: 'api',
      transport: { type: 'http', url, headers: {} },
      enabled: true,
      pinned: 'first_use',
      concurrency: 8,
      updated_by: 'human:root',
      health: { state: 'connecting' },
    })
    await upstreams.settled()
    expect(textOf(await upstreams.call('fix', 'echo', { text: 'x' }))).toBe('x')
    expect(await gate.getUpstream(admin(), { name: 'fix' })).toMatchObject({
      health: { state: 'ready', server: 'fixture 1' },
      counts: { listed: 14, quarantined: 0, hidden: 0 },
      catalogue: expect.arrayContaining([expect.objectContaining({ name: 'fix__echo', status: 'listed' })]),
    })
    // Adding the same record again changes nothing; a different record replaces it.
    expect(await gate.addUpstream(admin(), at(url))).toMatchObject({ updated_at: added.updated_at })
    const changed = await gate.addUpstream(admin(), at(url, { enabled: false }))
    expect(changed).toMatchObject({ enabled: false, health: { state: 'disabled' } })
    expect(upstreams.tools()).toEqual([])
    expect(await gate.removeUpstream(admin(), { name: 'fix' })).toEqual({ name: 'fix', removed: true })
    expect(await gate.removeUpstream(admin(), { name: 'fix' })).toEqual({ name: 'fix', removed: false })
    await expect(gate.getUpstream(admin(), { name: 'fix' })).rejects.toMatchObject(
      fault('UPSTREAM_NOT_FOUND'),
    )
    for (const call of [
      gate.listUpstreams(agent(), {}),
      gate.getUpstream(agent(), { name: 'fix' }),
      gate.addUpstream(agent(), at(url)),
      gate.removeUpstream(agent(), { name: 'fix' }),
      gate.acceptUpstreamTool(agent(), { name: 'fix', tool: 'echo', hash: '0'.repeat(64) }),
    ]) {
      await expect(call).rejects.toMatchObject({ code: 'FORBIDDEN' })
    }
  })

  it('removing an upstream deletes its accepted definitions', async () => {
    const { url, fixture } = await httpFixture('modern')
    const { gate, upstreams } = await withUpstreams(open)
    await gate.addUpstream(admin(), at(url))
    await upstreams.settled()
    fixture.redefine('Another.')
    await until(() => upstreams.find('fix__echo') === undefined)
    await gate.addUpstream(admin(), at(url, { concurrency: 3 }))
    await upstreams.settled()
    expect(upstreams.find('fix__echo')).toBeUndefined()
    await gate.removeUpstream(admin(), { name: 'fix' })
    await gate.addUpstream(admin(), at(url))
    await upstreams.settled()
    expect(upstreams.find('fix__echo')).toBeDefined()
  })

  it('an admin accepts the definition with the hash that they have seen', async () => {
    const { url, fixture } = await httpFixture('modern')
    const { gate, upstreams } = await withUpstreams(open)
    await gate.addUpstream(admin(), at(url))
    await upstreams.settled()
    fixture.redefine('Another.')
    await until(() => upstreams.find('fix__echo') === undefined)
    const { catalogue } = await gate.getUpstream(admin(), { name: 'fix' })
    const { hash } = catalogue.find(({ tool }) => tool === 'echo') ?? {}
    const accept = (input: object) =>
      gate.acceptUpstreamTool(admin(), { name: 'fix', tool: 'echo', hash, ...input })
    await expect(accept({ name: 'other' })).rejects.toMatchObject(fault('UPSTREAM_NOT_FOUND'))
    await expect(accept({ tool: 'other' })).rejects.toMatchObject(fault('UPSTREAM_TOOL_NOT_FOUND'))
    await expect(accept({ hash: 'f'.repeat(64) })).rejects.toMatchObject(fault('VALIDATION_ERROR'))
    expect(await accept({})).toMatchObject({ status: 'listed', accepted_by: 'human:root' })
    expect(upstreams.find('fix__echo')?.description).toBe('Another.')
  })

  it.each([
    [
      'a stdio program',
      { transport: { type: 'stdio', command: '/bin/sh', args: ['-c', 'id'] } },
      'transport.type',
    ],
    ['a private address', { transport: { type: 'http', url: 'https://10.0.0.1/mcp' } }, 'transport.url'],
    ['a metadata address', { transport: { type: 'http', url: 'http://169.254.169.254/' } }, 'transport.url'],
    [
      'http to a public address',
      { transport: { type: 'http', url: 'http://mcp.example/' } },
      'transport.url',
    ],
    [
      'a password in the URL',
      { transport: { type: 'http', url: 'https://a:b@mcp.example/' } },
      'transport.url',
    ],
    ['an invalid URL', { transport: { type: 'http', url: 'mcp' } }, 'transport.url'],
    ['a literal credential', { transport: header('Bearer abc') }, 'transport.headers.Authorization'],
    [
      'a variable that is not permitted',
      { transport: header('env:HOME') },
      'transport.headers.Authorization',
    ],
    [
      'a file that is not permitted',
      { transport: header('file:/etc/passwd') },
      'transport.headers.Authorization',
    ],
    [
      'a protocol header',
      { transport: header('env:T', 'Mcp-Session-Id') },
      'transport.headers.Mcp-Session-Id',
    ],
    ['a name with underscores', { name: 'a__b' }, 'name'],
    ['a reserved name', { name: 'asyncgate-2' }, 'name'],
    ["a name from the operator's file", { name: 'local' }, 'name'],
    ['excessive concurrency', { concurrency: 100_000 }, 'concurrency'],
    ['an unknown field', { surprise: true }, ''],
  ])('an upstream with %s is refused', async (_, fields, path) => {
    const fixed = [program('legacy', {}, { name: 'local', enabled: false })]
    const { gate, store } = await withUpstreams(open, { fixed, credentials: ['env:TOKEN'], egress: {} })
    const input = { name: 'fix', transport: { type: 'http', url: 'https://mcp.example/' }, ...fields }
    await expect(gate.addUpstream(admin(), input)).rejects.toMatchObject(fault('VALIDATION_ERROR', { path }))
    const { tenant } = await store.tenant('default')
    expect(await store.entries.list(tenant, 'upstream', '', 10)).toEqual([])
  })

  it("upstreams of the operator's file are listed and cannot be changed over the API", async () => {
    const fixed = [
      program('legacy', { KEY: 'env:HOME', PLAIN: 'a secret' }, { name: 'local', enabled: false }),
    ]
    const { gate } = await withUpstreams(open, { fixed })
    const { upstreams } = await gate.listUpstreams(admin(), {})
    expect(upstreams).toMatchObject([
      {
        name: 'local',
        source: 'file',
        transport: { type: 'stdio', command: process.execPath },
        updated_by: null,
      },
    ])
    expect(JSON.stringify(upstreams)).not.toMatch(/a secret|fixture-stdio|KEY/)
    await expect(gate.removeUpstream(admin(), { name: 'local' })).rejects.toMatchObject(
      fault('VALIDATION_ERROR', { path: 'name' }),
    )
  })

  it('the registry stores references instead of secrets and hides query values', async () => {
    const credentials = ['env:TOKEN']
    const { gate, store } = await withUpstreams(open, { credentials, env: { TOKEN: 'open-sesame' } })
    const transport = { ...header('Bearer env:TOKEN'), url: 'https://mcp.invalid/x?project=1&key=abc' }
    const added = await gate.addUpstream(admin(), { name: 'fix', transport, enabled: false })
    expect(added.transport).toMatchObject({
      url: 'https://mcp.invalid/x?project=***&key=***',
      headers: { Authorization: 'Bearer env:TOKEN' },
    })
    const { tenant } = await store.tenant('default')
    const storedEntries = await store.entries.list(tenant, 'upstream', '', 10)
    expect(JSON.stringify([storedEntries, await gate.listUpstreams(admin(), {})])).not.toContain(
      'open-sesame',
    )
  })

  it('a tenant without upstreams lists none and finds none of another tenant', async () => {
    const { url } = await httpFixture('modern')
    const { gate } = await withUpstreams(open)
    await gate.addUpstream(admin(), at(url))
    const { name } = at(url)
    const other = admin('elsewhere')
    expect(await gate.listUpstreams(other, {})).toEqual({ upstreams: [], next_cursor: null })
    expect(await gate.removeUpstream(other, { name })).toEqual({ name, removed: false })
    const accepting = gate.acceptUpstreamTool(other, { name, tool: 'echo', hash: '0'.repeat(64) })
    for (const refused of [gate.getUpstream(other, { name }), accepting]) {
      await expect(refused).rejects.toMatchObject(fault('UPSTREAM_NOT_FOUND'))
    }
    expect((await gate.listUpstreams(admin(), {})).upstreams).toHaveLength(1)
  })

  it('the registry is NOT_CONFIGURED without its setting', async () => {
    const { gate } = await open()
    await expect(gate.listUpstreams(admin(), {})).rejects.toMatchObject(
      fault('NOT_CONFIGURED', { feature: 'upstreams', settings: ['ASYNCGATE_UPSTREAMS_FILE'] }),
    )
  })

  it('an upstream is refused if the server has as many as it can', async () => {
    const { gate, upstreams } = await withUpstreams(open, { hasRoom: () => false })
    await expect(gate.addUpstream(admin(), at('http://127.0.0.1:9/mcp'))).rejects.toMatchObject(
      fault('VALIDATION_ERROR', { problem: expect.stringContaining('this server can have') }),
    )
    expect(upstreams.list()).toEqual([])
  })

  it('registered upstreams survive a restart', async () => {
    const { url } = await httpFixture('modern')
    const { gate, upstreams, store } = await withUpstreams(open)
    await gate.addUpstream(admin(), at(url))
    await upstreams.settled()
    await upstreams.close()
    const again = await registryOn(store)
    await again.settled()
    expect(again.find('fix__echo')).toBeDefined()
  })
})

describeGates(
  'the upstream registry of two processes',
  (open) => {
    it('two processes share one upstream registry', async () => {
      const { url, fixture } = await httpFixture('modern')
      const one = await withUpstreams(open)
      const two = await withUpstreams(one.another)
      await one.gate.addUpstream(admin(), at(url))
      await until(() => two.upstreams.find('fix__echo') !== undefined)
      fixture.redefine('Another.')
      for (const { upstreams } of [one, two]) await until(() => upstreams.find('fix__echo') === undefined)
      const { hash = '' } = one.upstreams.get('fix')?.catalogue.find(({ tool }) => tool === 'echo') ?? {}
      await one.gate.acceptUpstreamTool(admin(), { name: 'fix', tool: 'echo', hash })
      await until(() => two.upstreams.find('fix__echo') !== undefined)
      await one.gate.removeUpstream(admin(), { name: 'fix' })
      await until(() => two.upstreams.list().length === 0)
    })
  },
  ['postgres'],
)

function header(value: string, name = 'Authorization') {
  return { type: 'http', url: 'https://mcp.example/', headers: { [name]: value } }
}
