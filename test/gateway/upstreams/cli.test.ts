import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Authenticator } from '../../../src/auth/credential.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { type Gate, openGate } from '../../../src/features/gate.ts'
import { createLogger } from '../../../src/http/log.ts'
import { openUpstreams, readUpstreams } from '../../../src/server/gateway.ts'
import { startServer } from '../../../src/server/http-server.ts'
import { readUpstreamsFile } from '../../../src/server/operator-files.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { cli, startServer as startProcess, testFolder } from '../../cli/support.ts'
import { authSettings, personKey } from '../../support/auth-modes.ts'
import { admin } from '../../support/gates.ts'
import { upstreamsOf } from '../../support/tenants.ts'
import { httpFixture } from './fixture-http.ts'
import { program, textOf, until } from './support.ts'

const policies = (gate: Gate, rules: readonly object[]) =>
  Promise.all(rules.map((rule) => gate.putPolicy(admin(), rule)))

const SETTINGS = { upstream_private: ['127.0.0.1'], upstream_credentials: ['env:HOME'] }

const MISSING = { type: 'stdio', command: '/nowhere/to/be/found', args: [], env: {} } as const

/** A server with upstreams, and the CLI connected to it. */
async function serve(settings: Readonly<Record<string, unknown>> = {}) {
  const store = await openSqliteStore({ path: ':memory:' })
  const config = loadConfig({ env: {}, flags: { ...SETTINGS, ...settings } })
  const registries = openUpstreams(config, store, {
    logger: createLogger('silent'),
    fixed: readUpstreams(config),
    secrets: [],
  })
  const gate = openGate({ store, upstreams: registries })
  const server = await startServer({
    gate,
    authenticator: new Authenticator(authSettings('insecure development')),
    guard: { allowed_hosts: [], allowed_origins: [] },
    maxBodyBytes: 1024 * 1024,
  })
  onTestFinished(async () => {
    await server.close()
    await registries.close()
    await gate.close()
  })
  await registries.start()
  const upstreams = upstreamsOf({ upstreams: registries })
  await upstreams.settled()
  const ask = (...args: string[]) =>
    cli(['upstreams', ...args], {
      ASYNCGATE_URL: `http://127.0.0.1:${server.port}`,
      ASYNCGATE_API_KEY: personKey('root'),
    })
  const say = async (...args: string[]) => {
    const { code, stdout, stderr } = await ask(...args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return stdout
  }
  return { gate, upstreams, ask, say }
}

describe('asyncgate upstreams', () => {
  it('upstreams show prints for each tool whether it is allowed, needs approval or is blocked, and why', async () => {
    const { url } = await httpFixture('modern')
    const { gate, upstreams, say } = await serve()
    await policies(gate, [
      { id: 'fix', action: 'ALLOW', scope: { upstream: 'fix' } },
      { id: 'no-crash', action: 'BLOCK', priority: 9, scope: { tool: 'crash' }, description: 'Never.' },
      { id: 'ask', action: 'REQUIRE_APPROVAL', priority: 9, scope: { tool: 'add' } },
      {
        id: 'long',
        action: 'BLOCK',
        priority: 9,
        scope: { tool: 'big' },
        condition: { '>': [{ var: 'args.bytes' }, 5] },
      },
      { id: 'alice', action: 'BLOCK', priority: 9, scope: { tool: 'echo', principal: 'alice' } },
    ])
    await say('add', 'fix', url)
    await upstreams.settled()
    const shown = await say('show', 'fix')
    expect(shown).toMatch(/^TOOL +STATE +NAME +CATEGORY +CALLS +WHY$/m)
    expect(shown).toMatch(/^steps +listed +fix__steps +allowed +Rule fix allows this\.$/m)
    expect(shown).toMatch(/^crash +listed +fix__crash +blocked +Rule no-crash \(Never\) blocks this\.$/m)
    expect(shown).toMatch(
      /^add +listed +fix__add +needs approval +Rule ask says that this needs approval\.$/m,
    )
    expect(shown).toMatch(
      /^big +listed +fix__big +depends on the arguments +Rule long may block this, depending on the arguments\. Otherwise: Rule fix allows this\.$/m,
    )
    expect(shown).toMatch(/^echo +listed +fix__echo +depends on the caller +Rule alice may block this/m)
    const { catalogue } = JSON.parse(await say('show', 'fix', '--json'))
    expect(catalogue.find(({ tool }: { tool: string }) => tool === 'add').policy).toEqual({
      outcome: 'needs_approval',
      depends_on: [],
      rule_id: 'ask',
      reason: 'Rule ask says that this needs approval.',
    })
  })

  it('the CLI adds, lists, shows and removes upstreams', async () => {
    const { url } = await httpFixture('modern')
    const { upstreams, ask, say } = await serve()
    expect(await say('list')).toBe('There are no upstreams.\n')
    const options = [
      '--allow',
      'e*',
      '--deny',
      'env*',
      '--category',
      'echo=harmless',
      '--header',
      'X-Home=env:HOME',
    ]
    expect(await say('add', 'fix', url, ...options)).toContain('fix is added.')
    await upstreams.settled()
    expect(await say('list')).toMatch(new RegExp(`^fix +ready +closed +1 +0 +api +${url}$`, 'm'))
    const shown = await say('show', 'fix')
    expect(shown).toContain('header     X-Home: env:HOME')
    expect(shown).toContain('server     fixture 1, MCP 2026-07-28')
    expect(shown).toMatch(
      /^echo +listed +fix__echo +harmless +blocked +No rule allows this, and calls of upstream tools are blocked by default\.$/m,
    )
    expect(shown).toMatch(/^crash +hidden +fix__crash +tools\.allow of the upstream does not name it$/m)
    expect(JSON.parse(await say('show', 'fix', '--json'))).toMatchObject({
      name: 'fix',
      counts: { listed: 1 },
    })
    expect(await ask('show', 'other')).toMatchObject({ code: 3 })
    expect(await ask('add', 'fix', 'https://10.0.0.1/')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('ASYNCGATE_UPSTREAM_PRIVATE'),
    })
    expect(await ask('list', '--as', 'agent:alice')).toMatchObject({ code: 4 })
    expect(await say('remove', 'fix')).toBe('fix is removed\n')
    expect(await ask('remove', 'fix')).toMatchObject({ code: 3 })
  })

  it('upstreams accept shows quarantined definitions with visible escapes and accepts them', async () => {
    const strange = { name: "it's $(id)", inputSchema: { type: 'object' as const } }
    const { url, fixture } = await httpFixture('modern', { more: [strange] })
    const { upstreams, ask, say } = await serve()
    await say('add', 'fix', url, '--pinned', 'strict', '--allow', 'echo', '--allow', 'it*')
    await upstreams.settled()
    const offer = await say('accept', 'fix')
    expect(offer).toContain('echo: its definition was never accepted')
    expect(offer).toContain(`accept fix 'it'\\''s $(id)' --hash `)
    await say('accept', 'fix', '--all')
    expect(upstreams.tools()).toHaveLength(2)
    expect(await say('accept', 'fix')).toBe('Nothing waits to be accepted.\n')

    fixture.redefine('Says it again.\u202e And more.')
    await until(() => upstreams.find('fix__echo') === undefined)
    const change = await say('accept', 'fix', 'echo')
    expect(change).toMatch(
      /accepted before:\n.*"Says it again\.".*offered now:\n.*"Says it again\.\\u202e And more\."/s,
    )
    const [, hash = ''] = /--hash ([0-9a-f]{64})/.exec(change) ?? []
    expect(await ask('accept', 'fix', 'echo', '--hash', '0'.repeat(64))).toMatchObject({ code: 2 })
    expect(await say('accept', 'fix', 'echo', '--hash', hash)).toBe('echo is accepted: listed\n')
    expect(await ask('accept', 'fix', 'echo')).toMatchObject({ code: 3 })
    expect(await ask('accept', 'fix', '--hash', hash)).toMatchObject({ code: 2 })
  })
})

describe("the operator's file", () => {
  const file = (content: string) => {
    const path = join(testFolder(), 'upstreams.yaml')
    writeFileSync(path, content)
    return path
  }

  it("the operator's file defines stdio and HTTP upstreams", async () => {
    const { transport } = program('legacy')
    const { url } = await httpFixture('modern')
    const list = [
      { name: 'local', transport },
      { name: 'remote', transport: { type: 'http', url }, concurrency: 2 },
    ]
    const { upstreams, ask, say } = await serve({ upstreams_file: file(JSON.stringify(list)) })
    expect(textOf(await upstreams.call('local', 'echo', { text: 'a' }))).toBe('a')
    expect(textOf(await upstreams.call('remote', 'echo', { text: 'b' }))).toBe('b')
    expect(await say('list')).toMatch(/^local +ready +closed +14 +0 +file/m)
    expect(await ask('remove', 'local')).toMatchObject({ code: 2 })
  })

  it.each([
    ['- name: [', 'is not YAML or JSON'],
    ['name: a', 'is not a list of upstreams'],
    ['- name: a', '[0].transport'],
    [
      '- { name: A, transport: { type: http, url: "https://x.example/" } }',
      '[0].name must be 1 to 32 lower-case letters',
    ],
    ['- { name: a, transport: { type: carrier-pigeon } }', '[0].transport.type'],
    ['- { name: a, transport: { type: stdio, command: x, env: { N: 1 } } }', '[0].transport.env.N'],
    [
      '- { name: a, transport: { type: stdio, command: x } }\n- { name: a, transport: { type: stdio, command: y } }',
      'has upstream a twice',
    ],
  ])('an invalid file is refused with the location of the error: %s', (content, expectedMessage) => {
    expect(() => readUpstreamsFile(file(content))).toThrow(expectedMessage)
  })

  it('a missing file is reported', () => {
    expect(() => readUpstreamsFile('/nowhere/upstreams.yaml')).toThrow('cannot be read (ENOENT)')
  })
})

it('asyncgate serve prints for each upstream how many tools are allowed, need approval or are blocked', async () => {
  const home = testFolder()
  const upstreams = [program('legacy'), { ...program('legacy'), name: 'gone', transport: MISSING }]
  writeFileSync(join(home, 'upstreams.json'), JSON.stringify(upstreams))
  writeFileSync(
    join(home, 'policies.json'),
    JSON.stringify({
      rules: [
        { id: 'echo', action: 'ALLOW', scope: { tool: 'e*' } },
        { id: 'add', action: 'REQUIRE_APPROVAL', scope: { tool: 'add' } },
        {
          id: 'big',
          action: 'ALLOW',
          scope: { tool: 'big' },
          condition: { '<': [{ var: 'args.bytes' }, 5] },
        },
      ],
    }),
  )
  const server = await startProcess(['serve'], home, {
    ASYNCGATE_ALLOW_INSECURE_DEV: 'true',
    ASYNCGATE_UPSTREAMS_FILE: join(home, 'upstreams.json'),
    ASYNCGATE_POLICIES_FILE: join(home, 'policies.json'),
  })
  await until(() => /fix: .*gone: |gone: .*fix: /s.test(server.output()))
  expect(server.output()).toContain(
    '  fix: 14 tools. 2 run at once, 1 needs approval, 10 blocked, 1 depends on the call.\n',
  )
  expect(server.output()).toMatch(/^ {2}gone: not connected: ./m)
  expect(await server.stop()).toMatchObject({ code: 0 })
})
