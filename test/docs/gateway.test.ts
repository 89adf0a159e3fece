import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, it, onTestFinished } from 'vitest'
import { cli, startServer, testFolder } from '../cli/support.ts'
import { repositoryText } from '../core/documents.ts'
import { until } from '../gateway/calls/support.ts'
import { COUNTER, MAIN, startProcess } from '../gateway/sharing/support.ts'
import { httpFixture } from '../gateway/upstreams/fixture-http.ts'
import { PROGRAM } from '../support/program.ts'
import { blocksOf } from './markdown.ts'

const page = repositoryText('docs/gateway.md')

/** The commands of the page, without their comments. */
const lines = blocksOf(page)
  .filter(({ language }) => language === 'sh')
  .flatMap(({ text }) => text.split('\n'))
  .map((line) => line.replace(/\s+#.*/, '').trim())

/** The words of a command as a shell splits them. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, ...forms]) => forms.find(Boolean) ?? '')
}

const FILESYSTEM = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'))

/** A home folder with notes, and with an npx that finds the packages of the page without a network. */
function home() {
  const path = testFolder()
  mkdirSync(join(path, 'notes'))
  mkdirSync(join(path, 'bin'))
  const npx = join(path, 'bin', 'npx')
  const script = [
    '#!/bin/sh',
    'shift',
    'package=$1',
    'shift',
    'case $package in',
    `@modelcontextprotocol/server-filesystem) exec '${process.execPath}' '${FILESYSTEM}' "$@" ;;`,
    `@playwright/mcp) exec '${process.execPath}' '${COUNTER}' ;;`,
    '*) exit 1 ;;',
    'esac',
  ]
  writeFileSync(npx, `${script.join('\n')}\n`)
  chmodSync(npx, 0o755)
  const env = { PATH: `${join(path, 'bin')}${delimiter}${process.env.PATH}`, HOME: path, ASYNCGATE_PORT: '0' }
  const args = (line: string) =>
    wordsOf(line)
      .slice(1)
      .map((word) => word.replace(/^~/, path))
  return { path, env, args }
}

it('the gateways of docs/gateway.md start, print the next steps and serve tools', async () => {
  const commands = lines.filter((line) => line.startsWith('asyncgate gateway'))
  expect(commands).toHaveLength(4)
  for (const line of commands) {
    const { path, env, args } = home()
    const client = new Client({ name: 'test', version: '1' })
    onTestFinished(() => client.close())
    const isStdio = line.includes('--stdio')
    const program = isStdio ? undefined : startProcess([MAIN, ...args(line)], path, env)
    if (program === undefined) {
      const command = { command: process.execPath, args: [MAIN, ...args(line)], cwd: path, env }
      await client.connect(new StdioClientTransport({ ...command, stderr: 'ignore' }))
    } else {
      await program.said('asyncgate approvals deny', line)
      const [, url = ''] = /MCP {2}(http:\S+)/.exec(program.output()) ?? []
      await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    }
    const { tools } = await client.listTools()
    const tool = line.includes('playwright') ? 'playwright__count' : 'filesystem__read_text_file'
    expect(tools.map(({ name }) => name)).toContain(tool)
    await client.close()
    program?.child.kill('SIGTERM')
    expect((await program?.ended)?.[0] ?? 0, line).toBe(0)
  }
}, 120_000)

it('the other commands of docs/gateway.md work in order', async () => {
  const { path } = home()
  const wiki = await httpFixture('legacy')
  const served = await startServer(['dev'], path, {
    WIKI_TOKEN: 'a token of the wiki',
    ASYNCGATE_UPSTREAM_PRIVATE: '127.0.0.1',
    ASYNCGATE_UPSTREAM_CREDENTIALS: 'env:WIKI_TOKEN',
    ASYNCGATE_UPSTREAM_DEFAULT: 'ALLOW',
  })
  const run = (args: readonly string[]) => cli(args, { ASYNCGATE_URL: served.url })
  const wikiNow = async () => {
    const { stdout } = await run(['upstreams', 'show', 'wiki', '--json'])
    return JSON.parse(stdout)
  }
  const client = new Client({ name: 'test', version: '1' })
  onTestFinished(() => client.close())
  let sessionId = ''
  let count = 0
  for (const line of lines.filter((each) => /^asyncgate (upstreams|sessions)/.test(each))) {
    let hash = ''
    if (line.includes('accept wiki search')) {
      wiki.fixture.grow('search')
      await until(async () => (await wikiNow()).counts.quarantined === 1)
      const { catalogue } = await wikiNow()
      hash = catalogue.find(({ tool }: { tool: string }) => tool === 'search').hash
    }
    if (line === 'asyncgate sessions') {
      await client.connect(new StreamableHTTPClientTransport(new URL(`${served.url}/mcp${PROGRAM}`)))
      await client.callTool({ name: 'wiki__echo', arguments: { text: 'hello' } })
      const { stdout } = await run(['sessions', '--json'])
      sessionId = JSON.parse(stdout).sessions[0].session_id
    }
    const words = wordsOf(line).slice(1)
    const args = words.map((word) =>
      word
        .replace('https://wiki.example/mcp', wiki.url)
        .replace('5f0c…', hash)
        .replace('80ad658146568a16e506ed1a', sessionId),
    )
    expect(await run(args), line).toMatchObject({ code: 0, stderr: '' })
    if (line.includes('upstreams add')) await until(async () => (await wikiNow()).health.state === 'ready')
    count += 1
  }
  expect(count).toBe(10)
  expect(await wikiNow()).toMatchObject({
    isolation: 'per_session',
    max_session_connections: 100,
    counts: { quarantined: 0 },
  })
  expect(wiki.requests[0]?.headers.authorization).toBe('Bearer a token of the wiki')
  await served.stop()
}, 120_000)

it('the server of docs/gateway.md with access to a private network starts', async () => {
  const [line = '', ...more] = lines.filter((each) => each.startsWith('ASYNCGATE_'))
  expect(more).toEqual([])
  const [setting = '', , ...args] = wordsOf(line)
  const [name = '', value = ''] = setting.split('=')
  const key = 'a key of more than sixteen characters'
  const server = await startServer(args, testFolder(), { [name]: value, ASYNCGATE_API_KEY: key })
  expect(await server.stop()).toMatchObject({ code: 0 })
}, 60_000)
