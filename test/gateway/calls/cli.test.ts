import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { localKeyFile } from '../../../src/server/local-key.ts'
import { cli, startCli, testFolder } from '../../cli/support.ts'
import { textData } from '../../support/program.ts'
import { installedProgram, isAlive, startGateway } from '../support/gateway-process.ts'
import { journal, program } from '../upstreams/support.ts'
import { serve } from './served.ts'
import { until } from './support.ts'

const FILESYSTEM = installedProgram('@modelcontextprotocol/server-filesystem/dist/index.js')
const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))

/** Runs `asyncgate gateway` with the filesystem reference server, which serves a folder with one file. */
async function startFilesystem(options: readonly string[] = []) {
  const cwd = testFolder()
  const notes = join(cwd, 'notes')
  mkdirSync(notes)
  writeFileSync(join(notes, 'a.txt'), 'hello')
  return { notes, ...(await startGateway([...FILESYSTEM, notes], { cwd, options })) }
}

const call = (client: Client, tool: string, args: object) =>
  client.callTool({ name: `filesystem__${tool}`, arguments: { ...args } })

const waiting = z.looseObject({
  task_id: z.string(),
  status: z.literal('pending_approval'),
  hint: z.string(),
  console_url: z.string(),
})

/** Runs the command of the hint, in the folder of the gateway, as the user who started the gateway. */
const approveAs = (cwd: string, hint: string) => {
  const [, command = ''] = /"asyncgate ([^"]+)"/.exec(hint) ?? []
  return startCli(command.split(' '), cwd).ended
}

describe('asyncgate gateway', () => {
  it('a gateway allows reads immediately and writes after approval', async () => {
    const { cwd, notes, url, client, output } = await startFilesystem()
    expect(output()).toMatch(/filesystem: 14 tools\. 10 run at once, 4 need approval, 0 blocked\./)
    expect(output()).toContain(`claude mcp add --transport http asyncgate ${url}/mcp`)
    const read = await call(client, 'read_text_file', { path: join(notes, 'a.txt') })
    expect(read).toMatchObject({ content: [{ text: 'hello' }] })
    const path = join(notes, 'b.txt')
    const write = await call(client, 'write_file', { path, content: 'approved' })
    const { task_id, hint, console_url } = waiting.parse(write.structuredContent)
    expect(existsSync(path)).toBe(false)
    expect(console_url).toBe(`${url}/console/approvals/${task_id}`)
    expect(hint).toContain(console_url)
    expect(await approveAs(cwd, hint)).toMatchObject({ code: 0 })
    const result = await client.callTool({ name: 'asyncgate.wait_for_task', arguments: { task_id } })
    expect(result).toMatchObject({ structuredContent: { status: 'succeeded' } })
    expect(readFileSync(path, 'utf8')).toBe('approved')
  })

  it('an agent cannot approve, whatever identity it claims', async () => {
    const { cwd, notes, url, client } = await startFilesystem()
    const path = join(notes, 'b.txt')
    const { task_id } = waiting.parse(
      (await call(client, 'write_file', { path, content: 'x' })).structuredContent,
    )
    const human = { principal_kind: 'human', principal_id: userInfo().username }
    for (const who of [{}, { agent_id: 'other' }, human]) {
      const answer = await client.callTool({ name: 'asyncgate.approve', arguments: { task_id, ...who } })
      expect(answer).toMatchObject({ isError: true, structuredContent: { code: 'FORBIDDEN' } })
      const rule = { id: 'mine', action: 'ALLOW', ...who }
      const put = await client.callTool({ name: 'asyncgate.put_policy', arguments: rule })
      expect(put).toMatchObject({ isError: true, structuredContent: { code: 'FORBIDDEN' } })
    }
    const file = localKeyFile()
    expect([statSync(file), statSync(dirname(file))].map(({ mode }) => mode & 0o777)).toEqual([0o600, 0o700])
    expect(existsSync(join(cwd, '.asyncgate', 'own-key'))).toBe(false)
    const asAgent = startCli(['approvals', 'approve', task_id, '--as', 'agent:other', '--url', url], cwd)
    expect(await asAgent.ended).toMatchObject({ code: 4 })
    expect(existsSync(path)).toBe(false)
  })

  it('--allow and --name set the permissions and the name', async () => {
    const all = await startFilesystem(['--allow', 'all', '--name', 'docs'])
    const path = join(all.notes, 'b.txt')
    await all.client.callTool({ name: 'docs__write_file', arguments: { path, content: 'x' } })
    expect(readFileSync(path, 'utf8')).toBe('x')
    const none = await startFilesystem(['--allow', 'none'])
    const read = await call(none.client, 'read_text_file', { path: join(none.notes, 'a.txt') })
    expect(waiting.safeParse(read.structuredContent).success).toBe(true)
  })

  it('a gateway lists the tools of the upstream, and three to follow their calls', async () => {
    const { url } = await startFilesystem()
    const client = new Client({ name: 'plain', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
    onTestFinished(() => client.close())
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names.filter((name) => name.startsWith('asyncgate'))).toEqual(
      ['get_task', 'wait_for_task', 'cancel_task'].map((name) => `asyncgate_${name}`),
    )
    expect(names.filter((name) => name.startsWith('filesystem__'))).toHaveLength(14)
  })

  it('a REDACT rule for the whole upstream redacts, and writes still need approval', async () => {
    const { cwd, notes, url, client } = await startFilesystem()
    const rule = 'policies set red REDACT --upstream filesystem --redact both --pattern card --url'
    expect(await startCli([...rule.split(' '), url], cwd).ended).toMatchObject({ code: 0 })
    const card = '4111 1111 1111 1111'
    writeFileSync(join(notes, 'card.txt'), `paid with ${card}`)
    const read = await call(client, 'read_text_file', { path: join(notes, 'card.txt') })
    expect(read).toMatchObject({ content: [{ type: 'text', text: 'paid with [REDACTED]' }] })
    const path = join(notes, 'b.txt')
    const write = await call(client, 'write_file', { path, content: card })
    const { hint } = waiting.parse(write.structuredContent)
    expect(existsSync(path)).toBe(false)
    expect(await approveAs(cwd, hint)).toMatchObject({ code: 0 })
    await until(() => existsSync(path) && readFileSync(path, 'utf8') !== '')
    expect(readFileSync(path, 'utf8')).toBe('[REDACTED]')
  })

  it('gateway --stdio serves the client that started it and exits with it', async () => {
    const cwd = testFolder()
    writeFileSync(join(cwd, 'a.txt'), 'hello')
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: ['--import', import.meta.resolve('tsx'), MAIN, 'gateway', '--stdio', '--', ...FILESYSTEM, cwd],
      cwd,
      env: { ...getDefaultEnvironment(), XDG_CONFIG_HOME: process.env.XDG_CONFIG_HOME ?? '' },
      stderr: 'pipe',
    })
    let errors = ''
    transport.stderr?.on('data', (text) => {
      errors += String(text)
    })
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(transport)
    const read = await call(client, 'read_text_file', { path: join(cwd, 'a.txt') })
    expect(read).toMatchObject({ content: [{ text: 'hello' }] })
    const write = await call(client, 'write_file', { path: join(cwd, 'b.txt'), content: 'x' })
    const { task_id, hint, console_url } = waiting.parse(textData(write))
    const [, url = ''] = /--url (http:[^\s"]+)/.exec(errors) ?? []
    expect(console_url).toBe(`${url}/console/approvals/${task_id}`)
    expect(hint).toContain(`--url ${url}`)
    expect(await approveAs(cwd, hint)).toMatchObject({ code: 0 })
    await until(() => existsSync(join(cwd, 'b.txt')))
    const { pid } = transport
    await client.close()
    await until(() => !isAlive(pid ?? 0))
    expect(existsSync(join(cwd, '.asyncgate', 'gateway-filesystem.db'))).toBe(true)
  })

  it('invalid arguments are reported with exit code 2 and a failed start with exit code 1', async () => {
    const cwd = testFolder()
    const run = (...args: string[]) => cli(['gateway', '--port', '0', ...args])
    expect(await run()).toMatchObject({ code: 2, stderr: expect.stringContaining('COMMAND is missing') })
    expect(await run('--allow', 'some', '--', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--allow takes one of reads, all, none'),
    })
    expect(await run('--name', 'A B', '--', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--name must be 1 to 32 lower-case letters'),
    })
    expect(await run('--isolation', 'some', '--', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--isolation takes one of shared, per_session'),
    })
    const words = ['gateway', '--port', '0', '--', process.execPath, '-e', 'process.exit(3)']
    const { ended: child } = startCli(words, cwd)
    const ended = await child
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('did not start') })
  })
})

describe('asyncgate sessions', () => {
  it('the sessions command lists sessions, changes their limits and ends them', async () => {
    const { env, has } = journal()
    const served = await serve([program('legacy', env)], { ASYNCGATE_GATEWAY_WAIT_SECONDS: '0' })
    const at = ['--url', served.url]
    expect(await cli(['sessions', ...at])).toMatchObject({ code: 0, stdout: 'There are no sessions.\n' })
    const client = await served.connect('legacy', 'claude')
    await client.callTool({ name: 'fix__wait', arguments: { agent_id: 'ada' } })
    await has('wait')
    const listed = await cli(['sessions', ...at])
    const [, id = ''] = /^([0-9a-f]{24}) +agent:ada +claude 1 +live +1 +0 +1 +3 /m.exec(listed.stdout) ?? []
    expect(id).not.toBe('')
    const { sessions } = JSON.parse((await cli(['sessions', '--json', ...at])).stdout)
    expect(sessions).toMatchObject([{ session_id: id, running: 1 }])
    expect(await cli(['sessions', 'set', id, ...at])).toMatchObject({ code: 2 })
    expect(await cli(['sessions', 'set', id, '--workers', '9', '--queue', '50', ...at])).toMatchObject({
      code: 0,
      stdout: `${id} runs 9 calls concurrently, and may have 50 open.\n`,
    })
    expect(await cli(['sessions', 'set', id, '--workers', 'default', ...at])).toMatchObject({
      stdout: `${id} runs 3 calls concurrently, and may have 50 open.\n`,
    })
    expect(await cli(['sessions', 'end', id, '--cancel', ...at])).toMatchObject({
      code: 0,
      stdout: `${id} has ended; 1 call was canceled.\n`,
    })
    await has('cancelled')
    expect(await cli(['sessions', 'end', id, ...at])).toMatchObject({ code: 3 })
  })
})
