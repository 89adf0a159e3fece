import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { reportConfig } from '../../src/config/index.ts'
import { createLogger } from '../../src/http/log.ts'
import { openServer } from '../../src/server/open-server.ts'
import { caller } from '../support/gates.ts'
import { PROGRAM } from '../support/program.ts'
import { startCli, testFolder } from './support.ts'

const KEE = { agent_id: 'Kee' }
const kee = caller('agent', 'Kee', 'agent')
const worker = caller('worker', 'w1', 'worker')
const Reply = z.looseObject({
  result: z.looseObject({ structuredContent: z.record(z.string(), z.unknown()) }),
})

/** A server with these settings besides the defaults. */
async function serve(settings: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-old-'))
  const { config } = reportConfig({
    env: {
      ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
      ASYNCGATE_ALLOW_INSECURE_DEV: 'true',
      ASYNCGATE_PORT: '0',
      ...settings,
    },
    file: '/dev/null',
  })
  if (config === undefined) throw new Error('the settings are not valid')
  const server = await openServer(config, createLogger('silent'), { drainMs: 0 })
  onTestFinished(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const post = async (body: object) => {
    const response = await fetch(`${server.url}/mcp${PROGRAM}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
    })
    return response.json()
  }
  const call = async (name: string, args: object) =>
    Reply.parse(await post({ method: 'tools/call', params: { name, arguments: args } })).result
      .structuredContent
  return { gate: server.gate, post, call }
}

/** A memory service that records its requests. */
async function memory() {
  const got: { token: unknown; body: unknown }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    got.push({ token: request.headers['x-service-token'], body: JSON.parse(body) })
    response.end('{"memory_id":"m1"}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = z.object({ port: z.number() }).parse(server.address())
  return { got, url: `http://127.0.0.1:${port}/memory` }
}

describe('a server with legacy names enabled', () => {
  it('the server serves the legacy names and stores a result in its memory', async () => {
    const { got, url } = await memory()
    const { gate, call } = await serve({
      ASYNCGATE_LEGACY_TOOLS: 'true',
      ASYNCGATE_MEMORY_URL: url,
      ASYNCGATE_MEMORY_TOKEN: 'hush',
    })
    const { task_id } = await call('queue_task', { ...KEE, task_type: 'consult', params: {} })
    const { tasks } = await gate.leaseNext(worker, { worker_id: 'w1' })
    const held = { worker_id: 'w1', task_id, lease_id: tasks[0]?.lease_id }
    await gate.complete(worker, { ...held, result: { yes: 3 }, artifacts: ['x'] })
    expect(await call('store_task_result_in_memory', { ...KEE, task_id })).toMatchObject({ memory_id: 'm1' })
    expect(got).toMatchObject([{ token: 'hush', body: { recipient_ai: 'Kee', observation: { yes: 3 } } }])
    expect(await gate.listInbox(kee, { state: 'promoted' })).toMatchObject({ items: [{ task_id }] })
  })

  it('legacy names are not served by default', async () => {
    const { post } = await serve({})
    const answer = await post({ method: 'tools/call', params: { name: 'queue_task', arguments: KEE } })
    expect(answer).toMatchObject({ error: { code: -32602 } })
  })
})

it('asyncgate mcp serves the legacy names if they are enabled', async () => {
  const child = startCli(['mcp', '--toolsets', 'all', '--schemas', 'output'], testFolder(), {
    ASYNCGATE_LEGACY_TOOLS: 'true',
  })
  const { stdin, stdout } = child.process
  if (stdin === null || stdout === null) throw new Error('no pipes')
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  const params = { name: 'queue_task', arguments: { ...KEE, task_type: 'echo', params: {} } }
  stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })}\n`)
  const { value } = await lines.next()
  expect(Reply.parse(JSON.parse(value)).result.structuredContent).toMatchObject({ status: 'queued' })
  stdin.end()
  expect((await child.ended).code).toBe(0)
})
