import { describe, expect, it } from 'vitest'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { httpFixture } from './fixture-http.ts'
import { INSTRUCTION } from './fixture-tools.ts'
import { type Bench, fault, open, textOf, until, web } from './support.ts'

const ADMIN = 'human:root'

const toolOf = ({ upstreams }: Bench, tool: string) =>
  upstreams.get('fix')?.catalogue.find((each) => each.tool === tool)
const names = ({ upstreams }: Bench) => upstreams.tools().map(({ tool }) => tool)

describe('pinning of tool definitions', () => {
  it('a changed definition quarantines the tool until an admin accepts exactly that definition', async () => {
    const { url, fixture } = await httpFixture('modern', { description: 'Says it again.' })
    const bench = await open([web(url)])
    const { upstreams } = bench
    const first = toolOf(bench, 'echo')
    expect(first).toMatchObject({ status: 'listed', accepted_by: null, offered: null })

    fixture.redefine('Says it again, and sends a copy to me.')
    await until(() => toolOf(bench, 'echo')?.status === 'quarantined')
    expect(names(bench)).not.toContain('echo')
    expect(upstreams.find('fix__echo')).toBeUndefined()
    const calls = fixture.calls
    const refused = fault('UPSTREAM_TOOL_QUARANTINED', { upstream: 'fix', tool: 'echo' })
    await expect(upstreams.call('fix', 'echo', { text: 'x' })).rejects.toMatchObject(refused)
    expect(fixture.calls).toBe(calls)
    const offered = toolOf(bench, 'echo')
    expect(offered).toMatchObject({
      reason: 'its definition has changed',
      accepted_hash: first?.hash,
      offered: { description: 'Says it again, and sends a copy to me.' },
      accepted: { description: 'Says it again.' },
    })
    expect(upstreams.list()[0]?.counts).toMatchObject({ quarantined: 1, listed: 13 })

    const accept = (hash = '') => upstreams.accept('fix', 'echo', hash, ADMIN)
    await expect(accept('0'.repeat(64))).rejects.toMatchObject(fault('VALIDATION_ERROR', { path: 'hash' }))
    await expect(accept(first?.hash ?? '')).rejects.toMatchObject(fault('VALIDATION_ERROR'))
    expect(await accept(offered?.hash ?? '')).toMatchObject({ status: 'listed', accepted_by: ADMIN })
    expect(await accept(offered?.hash ?? '')).toMatchObject({ status: 'listed' })
    expect(textOf(await upstreams.call('fix', 'echo', { text: 'x' }))).toBe('x')
  })

  it('a definition that changes back to the accepted one needs no decision', async () => {
    const { url, fixture } = await httpFixture('modern', { description: 'A' })
    const bench = await open([web(url)])
    fixture.redefine('B')
    await until(() => toolOf(bench, 'echo')?.status === 'quarantined')
    fixture.redefine('A')
    await until(() => toolOf(bench, 'echo')?.status === 'listed')
    expect(toolOf(bench, 'echo')).toMatchObject({ offered: null })
  })

  it('a tool that appears after the first list is quarantined until an admin accepts it', async () => {
    const { url, fixture } = await httpFixture('modern')
    const bench = await open([web(url)])
    fixture.grow('newcomer')
    await until(() => toolOf(bench, 'newcomer') !== undefined)
    expect(toolOf(bench, 'newcomer')).toMatchObject({
      status: 'quarantined',
      reason: 'its definition was never accepted',
      accepted: null,
    })
    expect(names(bench)).not.toContain('newcomer')
  })

  it('with pinned each_tool, every tool is trusted on first sight', async () => {
    const { url, fixture } = await httpFixture('modern')
    const bench = await open([web(url, { pinned: 'each_tool' })])
    fixture.grow('newcomer')
    await until(() => names(bench).includes('newcomer'))
    fixture.redefine('Something else.')
    await until(() => toolOf(bench, 'echo')?.status === 'quarantined')
  })

  it('with pinned strict, no tool is trusted without an admin', async () => {
    const { url } = await httpFixture('modern')
    const bench = await open([web(url, { pinned: 'strict' })])
    expect(names(bench)).toEqual([])
    const { hash } = toolOf(bench, 'echo') ?? {}
    await bench.upstreams.accept('fix', 'echo', hash ?? '', ADMIN)
    expect(names(bench)).toEqual(['echo'])
  })

  it('accepted definitions survive a restart, and changes in between are detected', async () => {
    const store = await openSqliteStore({ path: ':memory:' })
    const { url, fixture } = await httpFixture('modern')
    const before = await open([web(url)], { store })
    expect(names(before)).toContain('echo')
    await before.upstreams.close()
    fixture.redefine('Another one.')
    fixture.grow('newcomer')
    const after = await open([web(url)], { store })
    expect(names(after)).toContain('wait')
    expect(names(after)).not.toContain('echo')
    expect(names(after)).not.toContain('newcomer')
    await after.upstreams.close()
    // Quarantined definitions can be listed and accepted while the upstream is unreachable.
    const away = await open([web('http://127.0.0.1:1/')], { store })
    const { status, hash } = toolOf(away, 'echo') ?? {}
    expect(status).toBe('quarantined')
    expect(await away.upstreams.accept('fix', 'echo', hash ?? '', ADMIN)).toMatchObject({ status: 'hidden' })
    await away.upstreams.close()
    const again = await open([web(url)], { store })
    expect(names(again)).toContain('echo')
    await again.upstreams.close()
    await store.close()
  })
})

describe('tools of an upstream', () => {
  it('every tool has a unique valid name, whatever the upstream calls it', async () => {
    const inputSchema = { type: 'object' as const }
    const long = 'l'.repeat(200)
    const more = [
      { name: long, inputSchema },
      { name: `${long}2`, inputSchema },
      { name: 'a b/ü', inputSchema },
    ]
    const { url } = await httpFixture('legacy', { more })
    const { upstreams } = await open([web(url)])
    const all = upstreams.tools()
    for (const { name } of all) expect(name).toMatch(/^fix__[A-Za-z0-9_-]{1,123}$/)
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
    const ours = all.find(({ tool }) => tool === 'asyncgate.create_task')
    expect(ours?.name).toMatch(/^fix__asyncgate_create_task_[0-9a-f]{10}$/)
    expect(textOf(await upstreams.call('fix', 'asyncgate.create_task', {}))).toBe(
      'asyncgate.create_task has run',
    )
    expect(all.map(({ tool }) => tool)).toContain(`${long}2`)
  })

  it('allow and deny filter the tools, and the operator sets their categories', async () => {
    const { url } = await httpFixture('modern')
    const tools = { allow: ['e*', 'wait', 'b*g'], deny: ['env*'] }
    const bench = await open([web(url, { tools, categories: { echo: 'harmless' } })])
    expect(names(bench)).toEqual(['big', 'echo', 'wait'])
    expect(bench.upstreams.find('fix__echo')?.category).toBe('harmless')
    expect(bench.upstreams.find('fix__wait')?.category).toBeNull()
    expect(toolOf(bench, 'environment')).toMatchObject({
      status: 'hidden',
      reason: 'tools.deny of the upstream names it',
    })
    const missing = fault('UPSTREAM_TOOL_NOT_FOUND', { upstream: 'fix', tool: 'crash' })
    await expect(bench.upstreams.call('fix', 'crash', {})).rejects.toMatchObject(missing)
  })

  it('the tool list is read page by page', async () => {
    const { url, fixture } = await httpFixture('modern', { pageSize: 3 })
    const bench = await open([web(url)])
    expect(names(bench)).toHaveLength(14)
    expect(fixture.lists).toBe(5)
  })

  it('invisible characters are removed from descriptions', async () => {
    const { url } = await httpFixture('modern')
    const { upstreams } = await open([web(url)])
    const tool = upstreams.find('fix__add')
    const shown = `Adds numbers.${INSTRUCTION}`
    expect(tool?.description).toBe(shown)
    expect(tool?.inputSchema.properties).toEqual({ a: { type: 'number', description: shown } })
    expect(JSON.stringify(upstreams.tools())).not.toMatch(/\\u001b|[\u202e\u200b]|\u{E0049}/u)
  })

  it('a result is marked as untrusted data of its upstream', async () => {
    const { url } = await httpFixture('modern')
    const { upstreams } = await open([web(url)])
    expect(await upstreams.call('fix', 'add', {})).toMatchObject({
      content: [{ type: 'text', text: INSTRUCTION }],
      _meta: { theirs: 1, 'asyncgate/origin': 'upstream:fix', 'asyncgate/untrusted': true },
    })
  })
})
