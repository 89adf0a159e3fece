import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { type McpServer, openMcp, startMcp } from '../../mcp/endpoint.ts'
import { admin } from '../../support/gates.ts'
import { cli, startCli, testFolder } from '../support.ts'

const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url))
const ERAS = ['legacy', 'modern'] as const
const Created = z.looseObject({ task_id: z.string() })

const baseOf = ({ url }: Pick<McpServer, 'url'>) => url.replace(/\/mcp.*$/, '')

/** An official client that has started the bridge. */
async function connect(
  url: string,
  era: (typeof ERAS)[number],
  options: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Client> {
  const mode = era === 'legacy' ? 'legacy' : { pin: '2026-07-28' }
  const client = new Client({ name: 'Claude Desktop', version: '1' }, { versionNegotiation: { mode } })
  const args = [MAIN, 'mcp', '--url', url, '--toolsets', 'all', '--schemas', 'output', ...options]
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args,
      env: { ...env },
      cwd: testFolder(),
      stderr: 'inherit',
    }),
  )
  onTestFinished(() => client.close())
  return client
}

async function ownerOf(server: McpServer, client: Client) {
  const answer = await client.callTool({ name: 'asyncgate.create_task', arguments: { type: 'x' } })
  const { task_id } = Created.parse(answer.structuredContent)
  return (await server.gate.getTask(admin(), { task_id })).created_by
}

describe.each(ERAS)('mcp --url with a %s client', (era) => {
  it('the client reaches the server under its own name, or as the agent that is given', async () => {
    const server = await startMcp()
    const client = await connect(baseOf(server), era)
    const { tools } = await client.listTools()
    expect(tools.length).toBeGreaterThan(5)
    expect(await ownerOf(server, client)).toMatchObject({ kind: 'agent', id: 'claude-desktop' })
    const reviewer = await connect(baseOf(server), era, ['--agent', 'reviewer'])
    expect(await ownerOf(server, reviewer)).toMatchObject({ kind: 'agent', id: 'reviewer' })
  })

  it('requests run concurrently, and a canceled one does not disturb the others', async () => {
    const server = await startMcp()
    const client = await connect(baseOf(server), era)
    const answer = await client.callTool({ name: 'asyncgate.create_task', arguments: { type: 'x' } })
    const { task_id } = Created.parse(answer.structuredContent)
    const stop = new AbortController()
    const waiting = client.callTool(
      { name: 'asyncgate.wait_for_task', arguments: { task_id, wait_seconds: 50 } },
      { signal: stop.signal },
    )
    const canceled = expect(waiting).rejects.toThrow()
    expect(await ownerOf(server, client)).toMatchObject({ id: 'claude-desktop' })
    stop.abort()
    await canceled
    expect(await ownerOf(server, client)).toMatchObject({ id: 'claude-desktop' })
  })

  it('the key comes from the environment or a file, and a wrong key is reported', async () => {
    const server = await startMcp({ apiKey: 'the-key-of-this-server' })
    const inEnvironment = await connect(baseOf(server), era, [], {
      ASYNCGATE_API_KEY: 'the-key-of-this-server',
    })
    expect((await inEnvironment.listTools()).tools.length).toBeGreaterThan(5)
    const file = join(testFolder(), 'agent-key')
    writeFileSync(file, 'the-key-of-this-server\n')
    const inFile = await connect(baseOf(server), era, ['--key-file', file])
    expect((await inFile.listTools()).tools.length).toBeGreaterThan(5)
    // A modern client reports only that it could not negotiate a version.
    const reason = era === 'legacy' ? /key/i : /negotiation/
    await expect(connect(baseOf(server), era, ['--key', 'wrong'])).rejects.toThrow(reason)
  })
})

it('a server that does not respond fails the request, and the next one succeeds when it is back', async () => {
  const port = await freePort()
  const child = startCli(['mcp', '--url', `http://127.0.0.1:${port}`], testFolder())
  const { stdin, stdout } = child.process
  if (stdin === null || stdout === null) throw new Error('no pipes')
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  const ask = async (id: number) => {
    stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list', params: {} })}\n`)
    const { value } = await lines.next()
    return JSON.parse(value)
  }
  expect(await ask(1)).toMatchObject({
    id: 1,
    error: { message: expect.stringContaining(`server at http://127.0.0.1:${port} failed`) },
  })
  const server = await openMcp()
  const relay = createServer((request, response) => server.endpoint.handle(request, response))
  await new Promise<void>((resolve) => relay.listen(port, '127.0.0.1', resolve))
  onTestFinished(async () => {
    relay.closeAllConnections()
    relay.close()
    await server.close()
  })
  expect(await ask(2)).toMatchObject({ id: 2, result: { tools: expect.any(Array) } })
  stdin.end()
  expect((await child.ended).code).toBe(0)
})

it.each([
  [['--schemas', 'both'], '--schemas takes input or output'],
  [['--key', 'k'], '--key requires --url'],
  [['--url', 'gate'], 'is not a URL'],
])('mcp %j is refused', async (options, why) => {
  const { code, stderr } = await cli(['mcp', ...options])
  expect(code).toBe(2)
  expect(stderr).toContain(why)
})

it('mcp refuses a key file that is missing or contains no key', async () => {
  const file = join(testFolder(), 'key')
  const run = () => cli(['mcp', '--url', 'http://127.0.0.1:1', '--key-file', file])
  expect(await run()).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be read') })
  writeFileSync(file, 'two words\n')
  expect(await run()).toMatchObject({ code: 1, stderr: expect.stringContaining('does not contain a key') })
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = z.object({ port: z.number() }).parse(server.address())
  await new Promise((resolve) => server.close(resolve))
  return port
}
