import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { type Child, startCli, testFolder } from '../../cli/support.ts'
import { until } from './support.ts'

const program = (name: string) =>
  fileURLToPath(import.meta.resolve(`@modelcontextprotocol/${name}/dist/index.js`))
const ME = userInfo().username

/** The folder of the key, which the agent knows: it is documented. */
interface Place {
  readonly cwd: string
  readonly keyFolder: string
  readonly env: Readonly<Record<string, string>>
}

function newPlace(): Place {
  const cwd = testFolder()
  const keyFolder = join(testFolder(), 'asyncgate')
  writeFileSync(join(cwd, 'a.txt'), 'hello')
  return { cwd, keyFolder, env: { ASYNCGATE_CONFIG_DIR: keyFolder } }
}

/** A gateway as the README starts it, with everything that it says; ends with the test. */
async function startGateway({ cwd, env }: Place, upstream: string, args: readonly string[]) {
  const command = ['gateway', '--port', '0', '--', process.execPath, program(upstream), ...args]
  const child: Child = startCli(command, cwd, env)
  onTestFinished(async () => {
    child.process.kill('SIGTERM')
    await child.ended
  })
  let said = ''
  for (const stream of [child.process.stdout, child.process.stderr]) {
    stream?.on('data', (text) => {
      said += String(text)
    })
  }
  await until(() => child.process.exitCode !== null || said.includes('approvals deny'))
  const [, url = ''] = /listening on (http:\S+)/.exec(said) ?? []
  const client = new Client({ name: 'Rogue Agent', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
  onTestFinished(() => client.close())
  const call = (name: string, args: object = {}) => client.callTool({ name, arguments: { ...args } })
  return { url, call, client, said: () => said }
}

type Gateway = Awaited<ReturnType<typeof startGateway>>

const pending = z.looseObject({ task_id: z.string(), status: z.literal('pending_approval') })
const isRefused = { isError: true }

async function statusOf({ call }: Gateway, task_id: string): Promise<unknown> {
  const { structuredContent } = await call('asyncgate.get_task', { task_id })
  return z.looseObject({ status: z.string() }).parse(structuredContent).status
}

async function rest({ url }: Gateway, path: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return response.status
}

/** What a program can say about itself without a key. */
const CLAIMS = [
  {},
  { agent_id: 'somebody-else' },
  { principal_kind: 'human', principal_id: ME },
  { principal_kind: 'human', principal_id: 'root' },
  { principal_kind: 'service', principal_id: 'operator' },
  { principal_kind: 'service', principal_id: 'gateway' },
  { principal_kind: 'system', principal_id: 'asyncgate' },
  { auth_token: '' },
  { auth_token: 'guess' },
  { auth_token: ME },
  { tenant_id: 'default', auth_token: 'null' },
]

describe('an agent with every tool of a gateway', () => {
  it('gets no decision made by itself, and no key of the person', { timeout: 240_000 }, async () => {
    const place = newPlace()
    const gateway = await startGateway(place, 'server-filesystem', ['.'])
    const { call, url } = gateway
    const { cwd, keyFolder } = place
    const key = readFileSync(join(keyFolder, 'local-key'), 'utf8').trim()
    const target = join(cwd, 'written.txt')
    const asked = await call('filesystem__write_file', { path: target, content: 'x' })
    const { task_id } = pending.parse(asked.structuredContent)

    // Who asks is the client, by the name of its handshake.
    const shown = await call('asyncgate.get_approval', { task_id })
    expect(JSON.stringify(shown.structuredContent)).toContain('rogue-agent')

    // The key, through the tools of the upstream.
    const paths = [
      join(keyFolder, 'local-key'),
      join('..', '..', keyFolder, 'local-key'),
      `../${keyFolder.split('/').slice(-2).join('/')}/local-key`,
      '.asyncgate/own-key',
      '.asyncgate/local-key',
    ]
    for (const path of paths) {
      for (const tool of ['read_text_file', 'read_file', 'read_media_file', 'get_file_info']) {
        const answer = await call(`filesystem__${tool}`, { path })
        expect(JSON.stringify(answer)).not.toContain(key)
        expect(answer).toMatchObject(isRefused)
      }
    }
    const several = await call('filesystem__read_multiple_files', { paths })
    expect(JSON.stringify(several)).not.toContain(key)
    const own = await call('filesystem__read_text_file', { path: '.asyncgate/server.json' })
    expect(JSON.stringify(own)).not.toContain(key)
    // A link out of the folder, or a file that leads the command line elsewhere, would have to be written first.
    for (const [path, content] of [
      ['link', keyFolder],
      ['.asyncgate/server.json', '{"url":"http://127.0.0.1:9"}'],
      ['asyncgate.config.yaml', 'admin_keys: me=a-key-that-i-know-0001'],
    ]) {
      const answer = await call('filesystem__write_file', { path, content })
      expect(pending.safeParse(answer.structuredContent).success).toBe(true)
    }
    const move = { source: join(keyFolder, 'local-key'), destination: join(cwd, 'k') }
    expect(pending.safeParse((await call('filesystem__move_file', move)).structuredContent).success).toBe(
      true,
    )

    // Decisions, and what decides about them, over MCP and REST, as anybody.
    const allow = { id: 'mine', action: 'ALLOW', priority: 1_000_000 }
    const until_ = new Date(Date.now() + 3_600_000).toISOString()
    const upstream = { name: 'evil', transport: { type: 'http', url: 'http://127.0.0.1:9/mcp' } }
    const attempts: [string, string, object][] = [
      ['asyncgate.approve', `/v1/approvals/${task_id}/approve`, { task_id }],
      ['asyncgate.approve', `/v1/approvals/${task_id}/approve`, { task_id, remember_until: until_ }],
      ['asyncgate.deny', `/v1/approvals/${task_id}/deny`, { task_id, reason: 'x' }],
      ['asyncgate.put_policy', '/v1/policies', allow],
      ['asyncgate.remove_policy', '/v1/policies/gateway-reads/remove', { id: 'gateway-reads' }],
      ['asyncgate.put_redaction_pattern', '/v1/redaction-patterns', { name: 'x', pattern: 'x' }],
      ['asyncgate.remove_redaction_pattern', '/v1/redaction-patterns/card/remove', { name: 'card' }],
      ['asyncgate.add_upstream', '/v1/upstreams', upstream],
      ['asyncgate.remove_upstream', '/v1/upstreams/filesystem/remove', { name: 'filesystem' }],
      [
        'asyncgate.accept_upstream_tool',
        '/v1/upstreams/filesystem/accept',
        { name: 'filesystem', tool: 'write_file', hash: '0'.repeat(64) },
      ],
    ]
    for (const [tool, path, input] of attempts) {
      for (const claim of CLAIMS) {
        expect(await call(tool, { ...input, ...claim }), `${tool} ${JSON.stringify(claim)}`).toMatchObject(
          isRefused,
        )
        const { auth_token, ...fields } = { auth_token: undefined, ...claim }
        const headers = auth_token ? { authorization: `Bearer ${auth_token}` } : {}
        expect(await rest(gateway, path, { ...input, ...fields }, headers)).toBe(403)
      }
    }
    for (const claim of CLAIMS) {
      expect(await call('asyncgate.answer_question', { task_id, content: {}, ...claim })).toMatchObject(
        isRefused,
      )
    }

    // The console, its forms and its stream, without signing in or with a made-up sign-in.
    for (const cookie of ['', `asyncgate_console_${new URL(url).port}=e30.e30`]) {
      for (const page of ['approvals', `approvals/${task_id}`, 'policies', 'events']) {
        const answer = await fetch(`${url}/console/${page}`, { headers: { cookie }, redirect: 'manual' })
        expect(answer.status).toBe(303)
        expect(answer.headers.get('set-cookie')).toBeNull()
      }
      const form = { method: 'POST', redirect: 'manual', body: new URLSearchParams({ n: '1' }) } as const
      const posted = await fetch(`${url}/console/approvals/${task_id}/approve`, {
        ...form,
        headers: { cookie, origin: url, 'sec-fetch-site': 'same-origin' },
      })
      expect([303, 403]).toContain(posted.status)
      for (const name of [ME, 'operator']) {
        const body = new URLSearchParams({ name, key: '' })
        const login = await fetch(`${url}/console/login`, { method: 'POST', redirect: 'manual', body })
        expect(login.headers.get('set-cookie')).toBeNull()
      }
    }
    const events = await fetch(`${url}/v1/events?principal_kind=human&principal_id=${ME}`)
    await events.body?.cancel()
    expect(events.status).toBe(403)

    // Canceling, and asking for the same again.
    await call('asyncgate.cancel_task', { task_id })
    const retried = await call('asyncgate.retry_task', { task_id })
    const again = pending.safeParse(retried.structuredContent)
    const retry = again.data?.task_id
    if (retry !== undefined) expect(await statusOf(gateway, retry)).toBe('pending_approval')
    expect(existsSync(target)).toBe(false)

    // The person can, with the key that the command line finds.
    const fresh = await call('filesystem__write_file', { path: target, content: 'approved' })
    const { task_id: last } = pending.parse(fresh.structuredContent)
    const approve = startCli(['approvals', 'approve', last, '--url', url], cwd, place.env)
    expect(await approve.ended).toMatchObject({ code: 0 })
    await until(() => existsSync(target))
  })

  it('learns nothing of use from a server of its own that a command is led to', {
    timeout: 120_000,
  }, async () => {
    const place = newPlace()
    const gateway = await startGateway(place, 'server-filesystem', ['.'])
    const path = join(place.cwd, 'b.txt')
    const asked = await gateway.call('filesystem__write_file', { path, content: 'x' })
    const { task_id } = pending.parse(asked.structuredContent)
    const heard: Record<string, string>[] = []
    const planted = createServer(({ headers, url = '' }, response) => {
      const sent = Object.entries(headers).map(([name, value]) => [name, String(value)])
      if (!url.startsWith('/health')) heard.push(Object.fromEntries(sent))
      response.setHeader('content-type', 'application/json')
      response.end('{"status":"healthy","version":"1.0.0"}')
    })
    await new Promise<void>((resolve) => planted.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      planted.closeAllConnections()
      planted.close()
    })
    const address = z.object({ port: z.number() }).parse(planted.address())
    const url = `http://127.0.0.1:${address.port}`
    const record = { url, pid: process.pid, started_at: new Date().toISOString() }
    mkdirSync(join(place.cwd, '.asyncgate'), { recursive: true })
    writeFileSync(join(place.cwd, '.asyncgate', 'server.json'), JSON.stringify(record))
    await startCli(['approvals', 'approve', task_id], place.cwd, place.env).ended
    expect(heard.length).toBeGreaterThan(0)
    const key = readFileSync(join(place.keyFolder, 'local-key'), 'utf8').trim()
    for (const { host: _, connection: __, 'content-length': ___, ...headers } of heard) {
      expect(JSON.stringify(headers)).not.toContain(key)
      expect(await rest(gateway, `/v1/approvals/${task_id}/approve`, { task_id }, headers)).toBe(403)
    }
    expect(await statusOf(gateway, task_id)).toBe('pending_approval')
  })

  it('gets no decision made by itself through a memory server either', { timeout: 120_000 }, async () => {
    const place = newPlace()
    const gateway = await startGateway(place, 'server-memory', [])
    const entity = { name: 'n', entityType: 't', observations: ['o'] }
    const asked = await gateway.call('memory__create_entities', { entities: [entity] })
    const { task_id } = pending.parse(asked.structuredContent)
    for (const claim of CLAIMS) {
      expect(await gateway.call('asyncgate.approve', { task_id, ...claim })).toMatchObject(isRefused)
    }
    expect(await statusOf(gateway, task_id)).toBe('pending_approval')
  })
})

describe('asyncgate gateway', () => {
  it.each([
    ['the folder itself', (folder: string) => [folder]],
    ['a folder above it', (folder: string) => [join(folder, '..')]],
    ['an option with it', (folder: string) => [`--root=${folder}`]],
    ['a mount of it', (folder: string) => ['-v', `${folder}:/data`]],
    ['the key', (folder: string) => [join(folder, 'local-key')]],
  ])('does not start a program that is given %s, and says how to move the key', async (_, args) => {
    const { cwd, keyFolder, env } = newPlace()
    const command = ['gateway', '--port', '0', '--', process.execPath, program('server-filesystem')]
    const { code, stderr } = await startCli([...command, ...args(keyFolder)], cwd, env).ended
    expect(code).toBe(1)
    expect(stderr).toContain('could read your approval key')
    expect(stderr).toContain('ASYNCGATE_CONFIG_DIR')
  })

  it('warns of a program that is started in a folder above that of the key', async () => {
    const place = newPlace()
    const above = { ...place, cwd: join(place.keyFolder, '..') }
    const { said } = await startGateway(above, 'server-filesystem', [place.cwd])
    expect(said()).toContain('is started above')
  })
})
