import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { userInfo } from 'node:os'
import { join, relative } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { startCli, testFolder } from '../../cli/support.ts'
import { installedProgram, spawnGateway, startGateway } from '../support/gateway-process.ts'
import { until } from './support.ts'

const FILESYSTEM = installedProgram('@modelcontextprotocol/server-filesystem/dist/index.js')
const MEMORY = installedProgram('@modelcontextprotocol/server-memory/dist/index.js')
const ME = userInfo().username

/** The folder of the key is documented, so the agent knows it. */
interface Workspace {
  readonly cwd: string
  readonly keyFolder: string
  readonly env: Readonly<Record<string, string>>
}

function newWorkspace(): Workspace {
  const cwd = testFolder()
  const keyFolder = join(testFolder(), 'asyncgate')
  writeFileSync(join(cwd, 'a.txt'), 'hello')
  return { cwd, keyFolder, env: { ASYNCGATE_CONFIG_DIR: keyFolder } }
}

/** A gateway started as in the README, with the agent as its client. */
async function start({ cwd, env }: Workspace, program: readonly string[], options: readonly string[] = []) {
  return startGateway(program, { cwd, env, options, clientName: 'Rogue Agent' })
}

const keyOf = ({ keyFolder }: Workspace) => readFileSync(join(keyFolder, 'local-key'), 'utf8').trim()

type Gateway = Awaited<ReturnType<typeof start>>

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

/** The identities that a program can claim without a key. */
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

describe('an agent with all tools of a gateway', () => {
  it('the agent cannot decide its own approvals and cannot read the key of the user', {
    timeout: 240_000,
  }, async () => {
    const workspace = newWorkspace()
    const { cwd, keyFolder } = workspace
    // Symlinks that a careless user may have made: they point outside of the served folder.
    symlinkSync(keyFolder, join(cwd, 'folder-link'))
    symlinkSync(join(keyFolder, 'local-key'), join(cwd, 'key-link'))
    const gateway = await start(workspace, [...FILESYSTEM, '.'])
    const { call, url } = gateway
    const key = keyOf(workspace)
    const target = join(cwd, 'written.txt')
    const asked = await call('filesystem__write_file', { path: target, content: 'x' })
    const { task_id } = pending.parse(asked.structuredContent)

    // The caller is identified by the client name of the handshake.
    const shown = await call('asyncgate.get_approval', { task_id })
    expect(JSON.stringify(shown.structuredContent)).toContain('rogue-agent')

    // Reading the key with the tools of the upstream.
    const paths = [
      join(keyFolder, 'local-key'),
      join('..', '..', keyFolder, 'local-key'),
      `../${keyFolder.split('/').slice(-2).join('/')}/local-key`,
      '.asyncgate/own-key',
      '.asyncgate/local-key',
      'key-link',
      'folder-link/local-key',
      join(cwd, 'key-link'),
      join(cwd, 'folder-link', 'local-key'),
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
    // A symlink out of the folder, or a file that redirects the CLI, would have to be written first.
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

    // Decisions and policy changes over MCP and REST, under any identity.
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

    // The console, its forms and its event stream, without a sign-in or with a forged one.
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

    // Canceling the task and creating the same task again.
    await call('asyncgate.cancel_task', { task_id })
    const retried = await call('asyncgate.retry_task', { task_id })
    const again = pending.safeParse(retried.structuredContent)
    const retry = again.data?.task_id
    if (retry !== undefined) expect(await statusOf(gateway, retry)).toBe('pending_approval')
    expect(existsSync(target)).toBe(false)

    // The user can approve with the key that the CLI finds.
    const fresh = await call('filesystem__write_file', { path: target, content: 'approved' })
    const { task_id: last } = pending.parse(fresh.structuredContent)
    const approve = startCli(['approvals', 'approve', last, '--url', url], cwd, workspace.env)
    expect(await approve.ended).toMatchObject({ code: 0 })
    await until(() => existsSync(target))
  })

  it('a CLI command that is redirected to a server of the agent reveals no credential', {
    timeout: 120_000,
  }, async () => {
    const workspace = newWorkspace()
    const gateway = await start(workspace, [...FILESYSTEM, '.'])
    const path = join(workspace.cwd, 'b.txt')
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
    mkdirSync(join(workspace.cwd, '.asyncgate'), { recursive: true })
    writeFileSync(join(workspace.cwd, '.asyncgate', 'server.json'), JSON.stringify(record))
    await startCli(['approvals', 'approve', task_id], workspace.cwd, workspace.env).ended
    expect(heard.length).toBeGreaterThan(0)
    const key = keyOf(workspace)
    for (const { host: _, connection: __, 'content-length': ___, ...headers } of heard) {
      expect(JSON.stringify(headers)).not.toContain(key)
      expect(await rest(gateway, `/v1/approvals/${task_id}/approve`, { task_id }, headers)).toBe(403)
    }
    expect(await statusOf(gateway, task_id)).toBe('pending_approval')
  })

  it('the agent cannot approve through a memory server either', { timeout: 120_000 }, async () => {
    const workspace = newWorkspace()
    const gateway = await start(workspace, MEMORY)
    const entity = { name: 'n', entityType: 't', observations: ['o'] }
    const asked = await gateway.call('memory__create_entities', { entities: [entity] })
    const { task_id } = pending.parse(asked.structuredContent)
    for (const claim of CLAIMS) {
      expect(await gateway.call('asyncgate.approve', { task_id, ...claim })).toMatchObject(isRefused)
    }
    expect(await statusOf(gateway, task_id)).toBe('pending_approval')
  })
})

/** Sets up a repository as the user does. */
function git(cwd: string, ...args: string[]): string {
  const who = ['-c', 'user.name=Paula', '-c', 'user.email=paula@example.com', '-c', 'commit.gpgsign=false']
  return execFileSync('git', [...who, ...args], { cwd, encoding: 'utf8' }).trim()
}

describe('an agent with the tools of a git server', () => {
  /**
   * A repository with symlinks to the key, and with the objects of another repository to which the user committed the
   * folder of the key.
   */
  async function startGit(options: readonly string[] = []) {
    const workspace = newWorkspace()
    const { cwd, keyFolder } = workspace
    const file = join(keyFolder, 'local-key')
    symlinkSync(keyFolder, join(cwd, 'folder-link'))
    symlinkSync(file, join(cwd, 'key-link'))
    git(cwd, 'init', '--initial-branch=main')
    git(cwd, 'add', '.')
    git(cwd, 'commit', '--message=Links')
    const identity = {
      GIT_AUTHOR_NAME: 'Agent',
      GIT_AUTHOR_EMAIL: 'agent@example.com',
      GIT_SIGN_COMMITS: 'false',
    }
    const variables = Object.keys(identity).flatMap((name) => ['--env', name])
    const env = { ...workspace.env, ...identity }
    const gateway = await start({ ...workspace, env }, installedProgram('@cyanheads/git-mcp-server'), [
      '--name',
      'git',
      ...variables,
      ...options,
    ])
    const key = keyOf(workspace)
    const dotfiles = testFolder()
    git(dotfiles, 'init', '--initial-branch=main')
    cpSync(keyFolder, join(dotfiles, 'asyncgate'), { recursive: true })
    git(dotfiles, 'add', '.')
    git(dotfiles, 'commit', '--message=Dotfiles')
    const blob = git(dotfiles, 'rev-parse', 'HEAD:asyncgate/local-key')
    const commit = git(dotfiles, 'rev-parse', 'HEAD')
    writeFileSync(join(cwd, '.git/objects/info/alternates'), join(dotfiles, '.git/objects'))
    return { ...gateway, workspace, file, key, dotfiles, blob, commit }
  }

  it('the agent cannot read the key and changes nothing without approval', { timeout: 240_000 }, async () => {
    const { call, key, file, workspace, dotfiles, blob, commit } = await startGit()
    const { cwd: path, keyFolder } = workspace
    const up = relative(path, file)
    const reads: [string, object][] = [
      ['diff', { path, paths: ['/dev/null', file] }],
      ['diff', { path, paths: ['/dev/null', up] }],
      ['diff', { path, paths: ['a.txt', 'key-link'] }],
      ['diff', { path, paths: ['a.txt', 'folder-link/local-key'] }],
      ['diff', { path, source: '/dev/null', target: file }],
      ['diff', { path, source: '--no-index', target: '/dev/null', paths: [file] }],
      ['diff', { path, target: '--no-index', paths: ['/dev/null', file] }],
      ['diff', { path, source: 'HEAD', target: commit }],
      ['diff', { path, source: commit }],
      ['diff', { path: keyFolder, includeUntracked: true }],
      ['diff', { path: keyFolder, paths: ['/dev/null', 'local-key'] }],
      ['diff', { path: join(path, 'folder-link'), paths: ['/dev/null', 'local-key'] }],
      ['show', { path, object: blob }],
      ['show', { path, object: commit }],
      ['show', { path, object: `${commit}:asyncgate/local-key` }],
      ['show', { path, object: commit, filePath: 'asyncgate/local-key' }],
      ['show', { path, object: 'HEAD:key-link' }],
      ['show', { path, object: 'HEAD:folder-link/local-key' }],
      ['show', { path, object: `HEAD:${up}` }],
      ['show', { path: dotfiles, object: 'HEAD:asyncgate/local-key' }],
      ['log', { path, branch: commit, patch: true }],
      ['log', { path: dotfiles, patch: true }],
      ['log', { path, filePath: file, patch: true }],
      ['blame', { path, filePath: 'key-link' }],
      ['blame', { path, filePath: file }],
      ['blame', { path, filePath: `--contents=${file}` }],
      ['blame', { path: dotfiles, filePath: 'asyncgate/local-key' }],
      ['status', { path: keyFolder }],
    ]
    const refusals: string[] = []
    for (const [tool, args] of reads) {
      const answer = await call(`git__git_${tool}`, args)
      expect(holdsKey(answer, key), `${tool} ${JSON.stringify(args)}`).toBe(false)
      if (JSON.stringify(answer).includes('UPSTREAM_REFUSED')) refusals.push(tool)
    }
    // Git itself returns the key if the user committed it, so only the gateway's own refusal protects it.
    expect(new Set(refusals)).toEqual(new Set(['diff', 'show', 'log', 'blame']))
    const writes: [string, object][] = [
      ['set_working_dir', { path: keyFolder, initializeIfNotPresent: true }],
      ['init', { path: keyFolder }],
      ['add', { path, paths: [file], force: true }],
      ['add', { path: keyFolder, paths: ['.'] }],
      ['clone', { url: dotfiles, path: join(path, 'copy') }],
      ['remote', { path, mode: 'add', name: 'dotfiles', url: dotfiles }],
      ['worktree', { path, mode: 'add', worktreePath: join(path, 'tree'), commitish: commit, detach: true }],
      ['checkout', { path, target: commit, paths: ['asyncgate/local-key'] }],
    ]
    for (const [tool, args] of writes) {
      const { structuredContent } = await call(`git__git_${tool}`, args)
      expect(pending.safeParse(structuredContent).success, tool).toBe(true)
    }
    expect(existsSync(join(keyFolder, '.git'))).toBe(false)
    expect(existsSync(join(path, 'copy'))).toBe(false)
  })

  it('the agent cannot read the key even if every call is allowed', { timeout: 120_000 }, async () => {
    const { call, key, file, workspace, commit } = await startGit(['--allow', 'all'])
    const { cwd: path, keyFolder } = workspace
    const attempts: [string, object][] = [
      ['add', { path, paths: [file], force: true }],
      ['add', { path, paths: ['folder-link/local-key'], force: true }],
      ['commit', { path, message: 'Mine', allowEmpty: true }],
      ['show', { path, object: 'HEAD' }],
      ['checkout', { path, target: commit, paths: ['asyncgate/local-key'] }],
      ['diff', { path, staged: true }],
      ['diff', { path, source: 'HEAD' }],
      ['init', { path: keyFolder }],
      ['diff', { path: keyFolder, includeUntracked: true }],
      ['add', { path: keyFolder, paths: ['.'] }],
      ['diff', { path: keyFolder, staged: true }],
      ['commit', { path: keyFolder, message: 'Mine' }],
      ['show', { path: keyFolder, object: 'HEAD:local-key' }],
      ['log', { path: keyFolder, patch: true }],
      ['blame', { path: keyFolder, filePath: 'local-key' }],
    ]
    for (const [tool, args] of attempts) {
      const answer = await call(`git__git_${tool}`, args)
      expect(holdsKey(answer, key), `${tool} ${JSON.stringify(args)}`).toBe(false)
    }
    // The attempt succeeded as far as possible: the key is in a commit, and cannot be shown.
    expect(git(keyFolder, 'show', 'HEAD:local-key')).toBe(key)
    const shown = await call('git__git_show', { path: keyFolder, object: 'HEAD:local-key' })
    expect(shown).toMatchObject({ isError: true, structuredContent: { error: { code: 'UPSTREAM_REFUSED' } } })
  })
})

/** Whether a response contains the key, as text or in base64. */
function holdsKey(answer: unknown, key: string): boolean {
  const text = JSON.stringify(answer)
  return text.includes(key) || text.includes(Buffer.from(key).toString('base64').slice(0, -4))
}

describe('asyncgate gateway and the folder of the key', () => {
  it.each([
    ['the folder itself', (folder: string) => [folder]],
    ['a folder above it', (folder: string) => [join(folder, '..')]],
    ['an option with it', (folder: string) => [`--root=${folder}`]],
    ['a mount of it', (folder: string) => ['-v', `${folder}:/data`]],
    ['the key', (folder: string) => [join(folder, 'local-key')]],
    ['a symlink to it', () => ['link']],
    ['a symlink to a folder above it', () => ['link-above']],
    ['a path through two symlinks', () => ['--root=link-to-links/link/local-key']],
  ])(
    'the gateway refuses to start a program that is given %s, and says how to move the key',
    async (_, args) => {
      const { cwd, keyFolder, env } = newWorkspace()
      symlinkSync(keyFolder, join(cwd, 'link'))
      symlinkSync(join(keyFolder, '..'), join(cwd, 'link-above'))
      symlinkSync(cwd, join(cwd, 'link-to-links'))
      const { code, stderr } = await spawnGateway([...FILESYSTEM, ...args(keyFolder)], { cwd, env }).ended
      expect(code).toBe(1)
      expect(stderr).toContain('could read your approval key')
      expect(stderr).toContain('ASYNCGATE_CONFIG_DIR')
    },
  )

  it('the gateway warns if its program runs in a folder above that of the key', async () => {
    const workspace = newWorkspace()
    const above = { ...workspace, cwd: join(workspace.keyFolder, '..') }
    const { output } = await start(above, [...FILESYSTEM, workspace.cwd])
    expect(output()).toContain('is started above')
  })
})
