import { spawn } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serveStdioMcp } from '../../../src/mcp/transport/stdio.ts'
import { bareCall, modernCall, modernPost, type Post } from '../../mcp/endpoint.ts'
import { TASKS_META } from '../../mcp/tasks/task-client.ts'
import { asCaller, suiteAuthMode } from '../../support/auth-modes.ts'
import { admin } from '../../support/gates.ts'
import { PROGRAM, PROGRAM_LISTING } from '../../support/program.ts'
import { journal, program } from '../upstreams/support.ts'
import { type Served, serve } from './served.ts'
import { until } from './support.ts'

const ROOT = admin()
type Args = Readonly<Record<string, unknown>>
interface Options {
  readonly signal?: AbortSignal
  readonly onprogress?: (progress: object) => void
}

/** Third-party clients, each with a function that calls a tool. */
const CLIENTS: Readonly<Record<string, (served: Served) => Promise<Caller>>> = {
  'SDK v2, 2026-07-28': async (served) => {
    const client = await served.connect('modern', 'claude')
    return (name, args, options) => client.callTool({ name, arguments: args }, options)
  },
  'SDK v2, 2025-11-25': async (served) => {
    const client = await served.connect('legacy', 'claude')
    return (name, args, options) => client.callTool({ name, arguments: args }, options)
  },
  'SDK v1': async (served) => {
    const client = new ClientV1({ name: 'claude', version: '1' })
    const requestInit = { headers: { ...asCaller(suiteAuthMode(), {}).headers } }
    await client.connect(new HttpTransportV1(new URL(`${served.url}/mcp${PROGRAM}`), { requestInit }))
    onTestFinished(() => client.close())
    return (name, args, options) => client.callTool({ name, arguments: { ...args } }, undefined, options)
  },
}
type Caller = (name: string, args: Args, options?: Options) => Promise<unknown>

async function start(env: Readonly<Record<string, string>> = {}) {
  const { env: variables, has, lines } = journal()
  const served = await serve([program('modern', variables)], env)
  const all = async () => (await served.gate.listTasks(ROOT, { type: 'mcp.tool_call', limit: 100 })).tasks
  const one = async (status: string) => {
    let task_id = ''
    await until(async () => {
      const found = (await all()).find((task) => task.status === status)
      task_id = found?.task_id ?? ''
      return found
    })
    return served.gate.getTask(ROOT, { task_id })
  }
  return { served, has, lines, all, one }
}

/** Sends a request whose response may be ignored. */
function send(served: Served, { body, headers }: Post, signal: AbortSignal): Promise<unknown> {
  const all = { 'content-type': 'application/json', ...asCaller(suiteAuthMode(), {}).headers, ...headers }
  return fetch(`${served.url}/mcp${PROGRAM}`, {
    method: 'POST',
    headers: all,
    body: JSON.stringify(body),
    signal,
  })
}

/** A program that calls a tool and waits for the result, as a command-line client does. */
const CALLING_CLIENT = `
  import { text } from 'node:stream/consumers'
  const { Client, StreamableHTTPClientTransport } = await import(process.env.SDK)
  const { url, headers } = JSON.parse(await text(process.stdin))
  const client = new Client({ name: 'claude', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  await client.callTool({ name: 'fix__wait', arguments: {} })
`

describe.each(Object.keys(CLIENTS))('a held call of %s', (name) => {
  const connect = (served: Served) => (CLIENTS[name] ?? CLIENTS['SDK v1'])?.(served)

  it('a client that cancels a call cancels the task and the call of the upstream', async () => {
    const { served, has, one } = await start()
    const call = await connect(served)
    const stop = new AbortController()
    const held = call?.('fix__wait', {}, { signal: stop.signal })
    await has('wait')
    stop.abort(new Error('enough'))
    await expect(held).rejects.toThrow()
    await has('cancelled')
    const { cancellation } = await one('canceled')
    expect(cancellation?.reason).toMatch(/^The MCP client claude 1 canceled the call/)
    await until(async () => (await one('canceled')).cancellation?.stopped_at)
    // The session stays usable.
    expect(await call?.('fix__echo', { text: 'next' })).toMatchObject({ content: [{ text: 'next' }] })
  })

  it('a call that is canceled while it is queued is never sent', async () => {
    const { served, has, lines, one, all } = await start({ ASYNCGATE_GATEWAY_SESSION_WORKERS: '1' })
    const call = await connect(served)
    const [first, second] = [new AbortController(), new AbortController()]
    const running = call?.('fix__wait', {}, { signal: first.signal }).catch(() => 'canceled')
    await has('wait')
    const queued = call?.('fix__crash', {}, { signal: second.signal }).catch(() => 'canceled')
    await one('queued')
    second.abort()
    expect(await queued).toBe('canceled')
    await one('canceled')
    first.abort()
    expect(await running).toBe('canceled')
    await until(async () => (await all()).every(({ status }) => status === 'canceled'))
    expect(await call?.('fix__echo', { text: 'next' })).toMatchObject({ content: [{ text: 'next' }] })
    expect(lines()).not.toContain('crash')
  })

  it('progress is reported if the client asks for it', async () => {
    const { served, has } = await start()
    const call = await connect(served)
    const stop = new AbortController()
    const heard: object[] = []
    const held = call?.('fix__deaf', {}, { signal: stop.signal, onprogress: (step) => heard.push(step) })
    held?.catch(() => {})
    await has('deaf')
    await until(() => heard.length > 0)
    expect(heard).toEqual([{ progress: 1, total: 2, message: 'step 1' }])
    stop.abort()
    // A call with progress reports still returns its result.
    const done = await call?.('fix__echo', { text: 'on' }, { onprogress: () => {} })
    expect(done).toMatchObject({ content: [{ text: 'on' }] })
  })
})

describe('held calls', () => {
  it.each(['2026-07-28', '2025-11-25'])(
    'a held call is canceled when its request is closed: %s',
    async (revision) => {
      const { served, has, one } = await start()
      const stop = new AbortController()
      const post = revision === '2026-07-28' ? modernCall('fix__wait') : bareCall('fix__wait')
      const held = send(served, post, stop.signal)
      held.catch(() => {})
      await has('wait')
      stop.abort()
      await has('cancelled')
      await one('canceled')
    },
  )

  it.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
    'a held call is canceled when the process of its client ends by %s',
    async (signal) => {
      const { served, has, one } = await start()
      const { headers } = asCaller(suiteAuthMode(), {})
      const child = spawn(process.execPath, ['--input-type=module', '-e', CALLING_CLIENT], {
        env: { PATH: process.env.PATH, SDK: import.meta.resolve('@modelcontextprotocol/client') },
        stdio: ['pipe', 'ignore', 'inherit'],
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      child.stdin.end(JSON.stringify({ url: `${served.url}/mcp${PROGRAM}`, headers }))
      await has('wait')
      child.kill(signal)
      await has('cancelled')
      expect((await one('canceled')).cancellation?.reason).toMatch(
        /^The MCP client claude 1 canceled the call/,
      )
    },
  )

  it('a held call is canceled only by its own session and its own request id', async () => {
    const { served, has, one, all } = await start()
    const stop = new AbortController()
    const inSession = (id: string, post: Post) => ({
      ...post,
      headers: { ...post.headers, 'mcp-session-id': id },
    })
    const held = send(served, inSession('one', bareCall('fix__wait', {}, 7)), stop.signal)
    held.catch(() => {})
    await has('wait')
    const cancel = (requestId: number, reason?: string) => ({
      body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } },
    })
    const { signal } = new AbortController()
    await send(served, inSession('two', cancel(7)), signal)
    await send(served, inSession('one', cancel(8)), signal)
    await send(served, cancel(7), signal)
    expect((await all()).map(({ status }) => status)).not.toContain('canceled')
    await send(served, inSession('one', cancel(7, 'the user\u0007 pressed Esc')), signal)
    await has('cancelled')
    expect((await one('canceled')).cancellation?.reason).toBe(
      'The MCP client canceled the call: the user pressed Esc',
    )
    // The canceled request still gets a response.
    expect(await held).toMatchObject({ status: 200 })
  })

  it('a call that was answered with a task continues after its client disconnects', async () => {
    const { served, has, lines, one } = await start({ ASYNCGATE_GATEWAY_WAIT_SECONDS: '1' })
    const plain = await served.connect('legacy')
    expect(await plain.callTool({ name: 'fix__wait', arguments: {} })).toMatchObject({
      structuredContent: { done: false },
    })
    await plain.close()
    const { task_id } = await one('running')
    const asked = { name: 'fix__deaf', arguments: {}, _meta: TASKS_META }
    const handle = modernPost('tools/call', asked, { 'mcp-name': 'fix__deaf' })
    await send(served, handle, new AbortController().signal)
    await has('deaf')
    expect(await served.gate.getTask(ROOT, { task_id })).toMatchObject({ status: 'running' })
    expect(lines()).not.toContain('cancelled')
  })

  it('a call that waits for approval is not canceled when its request is closed', async () => {
    const { served, one } = await start()
    await served.gate.putPolicy(ROOT, { id: 'ask', action: 'REQUIRE_APPROVAL', scope: { tool: 'wait' } })
    const stop = new AbortController()
    const held = send(served, modernCall('fix__wait'), stop.signal)
    held.catch(() => {})
    const { task_id } = await one('pending_approval')
    stop.abort()
    await held.catch(() => {})
    expect(await served.gate.getTask(ROOT, { task_id })).toMatchObject({ status: 'pending_approval' })
  })
})

describe('held calls over stdio', () => {
  async function startStdio() {
    const bench = await start()
    const [input, output] = [new PassThrough(), new PassThrough()]
    const stdio = serveStdioMcp(bench.served.gate, {
      listing: PROGRAM_LISTING,
      sources: bench.served.sources,
      streams: { input, output },
    })
    onTestFinished(() => stdio.close())
    let heard = ''
    output.setEncoding('utf8').on('data', (text: string) => {
      heard += text
    })
    const say = (message: object) => input.write(`${JSON.stringify(message)}\n`)
    const clientInfo = { name: 'claude', version: '1' }
    say({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
    })
    await until(() => heard.includes('"id":1'))
    say({ jsonrpc: '2.0', method: 'notifications/initialized' })
    const call = (id: number, tool: string, _meta?: object) =>
      say({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: `fix__${tool}`, arguments: {}, _meta },
      })
    return { ...bench, input, stdio, say, call, heard: () => heard }
  }

  it('a notification cancels a call over stdio', async () => {
    const { call, say, has, one, heard } = await startStdio()
    call(2, 'wait')
    await has('wait')
    say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2, reason: 'Esc' } })
    await has('cancelled')
    expect((await one('canceled')).cancellation?.reason).toBe(
      'The MCP client claude 1 canceled the call: Esc',
    )
    expect(heard()).not.toContain('"id":2')
  })

  it('a call over stdio is canceled when the client closes stdin', async () => {
    const { call, input, has, one } = await startStdio()
    call(2, 'wait')
    await has('wait')
    input.end()
    await has('cancelled')
    await one('canceled')
  })

  it('a call over stdio is not canceled when the server stops', async () => {
    const { call, stdio, has, lines, one } = await startStdio()
    call(2, 'wait')
    await has('wait')
    await one('running')
    await stdio.close()
    await one('running')
    expect(lines()).not.toContain('cancelled')
  })

  it('progress of a call over stdio is reported if the client asks for it', async () => {
    const { call, heard } = await startStdio()
    call(2, 'deaf', { progressToken: 'mine' })
    await until(() => heard().includes('notifications/progress'))
    const [line = ''] = heard()
      .split('\n')
      .filter((text) => text.includes('notifications/progress'))
    expect(JSON.parse(line)).toMatchObject({
      params: { progressToken: 'mine', progress: 1, total: 2, message: 'step 1' },
    })
  })
})
