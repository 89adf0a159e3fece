import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { SECRET, startReceiver } from '../../webhooks/receiver.ts'
import { cli, startCli, testFolder } from '../support.ts'

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
  const config = async (client: string, ...options: string[]) => {
    const { code, stdout } = await cli([
      'mcp',
      'config',
      '--client',
      client,
      '--url',
      'http://gate:1/',
      ...options,
    ])
    expect(code).toBe(0)
    return stdout
  }

  it('the settings have the URL and the timeout of each client', async () => {
    const url = 'http://gate:1/mcp'
    const entry = async (client: string) => JSON.parse(await config(client))
    expect(await entry('claude-code')).toEqual({
      mcpServers: { asyncgate: { type: 'http', url, timeout: 60_000 } },
    })
    expect(await config('claude')).toBe(await config('claude-code'))
    const args = ['-y', 'asyncgate', 'mcp', '--url', 'http://gate:1']
    expect(await entry('claude-desktop')).toEqual({ mcpServers: { asyncgate: { command: 'npx', args } } })
    expect(await config('codex')).toBe(`[mcp_servers.asyncgate]\nurl = "${url}"\ntool_timeout_sec = 60\n`)
    expect(await entry('cursor')).toEqual({ mcpServers: { asyncgate: { url } } })
    expect(await entry('vscode')).toEqual({ servers: { asyncgate: { type: 'http', url } } })
    expect(await entry('copilot')).toEqual({
      mcpServers: { asyncgate: { type: 'http', url, tools: ['*'], timeout: 60_000 } },
    })
    expect(await entry('gemini')).toEqual({ mcpServers: { asyncgate: { httpUrl: url, timeout: 60_000 } } })
    expect(await entry('opencode')).toEqual({
      mcp: { asyncgate: { type: 'remote', url, enabled: true, timeout: 60_000 } },
    })
    expect(await entry('zed')).toEqual({ context_servers: { asyncgate: { url, timeout: 60 } } })
  })

  it('--json prints the settings, their file and what to know', async () => {
    const { stdout } = await cli(['mcp', 'config', '--client', 'codex', '--json', '--with-key'])
    expect(JSON.parse(stdout)).toMatchObject({
      client: 'codex',
      scope: 'user',
      file: expect.stringMatching(/\/config\.toml$/),
      notes: expect.arrayContaining([expect.stringContaining('ASYNCGATE_API_KEY')]),
      settings: expect.stringContaining('bearer_token_env_var = "ASYNCGATE_API_KEY"'),
    })
  })
})
