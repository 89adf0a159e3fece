import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { SECRET, startReceiver } from '../webhooks/receiver.ts'
import { cli, startCli, testFolder } from './support.ts'

/** An MCP client that has started "asyncgate mcp" and finished the handshake. */
async function connect(env: Readonly<Record<string, string>> = {}) {
  const child = startCli(['mcp', '--toolsets', 'all', '--schemas', 'output'], testFolder(), env)
  const { stdin, stdout } = child.process
  if (stdin === null || stdout === null) throw new Error('no pipes')
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  const call = async (id: number, method: string, params: object) => {
    stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    const { value } = await lines.next()
    return JSON.parse(value)
  }
  const clientInfo = { name: 'test', version: '1' }
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  expect(await call(1, 'initialize', hello)).toMatchObject({ result: { protocolVersion: '2025-11-25' } })
  const leave = () => {
    stdin.end()
    return child.ended
  }
  return { call, leave }
}

const CREATE = { name: 'asyncgate.create_task', arguments: { type: 'echo', agent_id: 'alice' } }

describe('asyncgate mcp', () => {
  it('mcp serves MCP on stdin and stdout until the client disconnects', async () => {
    const { call, leave } = await connect()
    const created = await call(2, 'tools/call', CREATE)
    expect(created).toMatchObject({ result: { structuredContent: { status: 'queued' } } })
    expect((await leave()).code).toBe(0)
  })

  it('mcp sends the approval webhook', async () => {
    const receiver = await startReceiver()
    const { call, leave } = await connect({
      ASYNCGATE_APPROVAL_WEBHOOK_URL: receiver.url,
      ASYNCGATE_APPROVAL_WEBHOOK_SECRET: SECRET,
      ASYNCGATE_POLICY_DEFAULT: 'REQUIRE_APPROVAL',
    })
    const { result } = await call(2, 'tools/call', CREATE)
    const [message] = await receiver.until(1)
    expect(message?.id).toBe(`${result.structuredContent.task_id}.1.asked`)
    expect((await leave()).code).toBe(0)
  })

  it('mcp prints why it cannot start', async () => {
    const { code, stderr } = await cli(['mcp', '--database-url', 'oracle:x'])
    expect(code).toBe(1)
    expect(stderr).toContain('--database-url is not sqlite:PATH or postgres://')
  })
})

describe('asyncgate mcp config', () => {
  const config = async (client: string, env: Record<string, string> = {}) => {
    const { code, stdout } = await cli(['mcp', 'config', '--client', client, '--url', 'http://gate:1/'], env)
    expect(code).toBe(0)
    return stdout
  }

  it('the configuration has the URL and the timeout of each client', async () => {
    const url = 'http://gate:1/mcp'
    expect(JSON.parse(await config('claude'))).toEqual({
      mcpServers: { asyncgate: { type: 'http', url, timeout: 60_000 } },
    })
    expect(JSON.parse(await config('cursor'))).toEqual({
      mcpServers: { asyncgate: { url, timeout: 60_000 } },
    })
    expect(JSON.parse(await config('vscode'))).toEqual({ servers: { asyncgate: { type: 'http', url } } })
    expect(await config('codex')).toBe(`[mcp_servers.asyncgate]\nurl = "${url}"\ntool_timeout_sec = 60\n`)
  })

  it('the configuration refers to the key and never contains it', async () => {
    for (const client of ['claude', 'codex', 'cursor', 'vscode']) {
      const settings = await config(client, { ASYNCGATE_API_KEY: 'hush' })
      expect(settings).not.toContain('hush')
      expect(settings).toMatch(/ASYNCGATE_API_KEY|input:asyncgate-key/)
    }
  })

  it('--json prints the configuration and its file', async () => {
    const { stdout } = await cli(['mcp', 'config', '--client', 'codex', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ client: 'codex', file: '~/.codex/config.toml' })
  })
})
