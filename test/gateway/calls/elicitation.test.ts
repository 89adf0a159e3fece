import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { UpstreamRecord } from '../../../src/features/upstreams/shape.ts'
import { admin } from '../../support/gates.ts'
import { upstreamsOf } from '../../support/tenants.ts'
import { ASKING, PAGE } from '../upstreams/fixture-asking.ts'
import { httpFixture } from '../upstreams/fixture-http.ts'
import { folder, installed, program, record, web } from '../upstreams/support.ts'
import { type Served, serve } from './served.ts'
import { until } from './support.ts'

const ROOT = admin()
const PRIVATE = { ASYNCGATE_UPSTREAM_PRIVATE: '127.0.0.1' }

const TRANSPORTS = {
  'legacy stdio': async (fields: object = {}) => program('legacy', { FIXTURE_ASKS: '1' }, { ...fields }),
  'legacy HTTP': async (fields: object = {}) =>
    web((await httpFixture('legacy', { runs: ASKING })).url, { ...fields }),
  'modern stdio': async (fields: object = {}) => program('modern', { FIXTURE_ASKS: '1' }, { ...fields }),
  'modern HTTP': async (fields: object = {}) =>
    web((await httpFixture('modern', { runs: ASKING })).url, { ...fields }),
} as const satisfies Record<string, (fields?: object) => Promise<UpstreamRecord>>
type Transport = keyof typeof TRANSPORTS
const LEGACY: readonly Transport[] = ['legacy stdio', 'legacy HTTP']

async function start(transport: Transport, fields: object = {}) {
  return serve([await TRANSPORTS[transport](fields)], PRIVATE)
}

async function call({ gate }: Served, tool: string, args: object = {}, upstream = 'fix') {
  const payload = { upstream, tool, arguments: args }
  return (await gate.createTask(ROOT, { type: 'mcp.tool_call', payload })).task_id
}

async function asked({ gate }: Served, task_id: string, n = 1) {
  await until(async () => (await gate.getTask(ROOT, { task_id })).question?.n === n)
  return gate.getTask(ROOT, { task_id })
}

async function textOf({ gate }: Served, task_id: string): Promise<string> {
  await until(async () => (await gate.getTask(ROOT, { task_id })).result !== undefined)
  const task = await gate.getTask(ROOT, { task_id })
  return `${task.status} ${JSON.stringify(task.result?.result ?? task.result?.error)}`
}

describe.each(Object.keys(TRANSPORTS) as Transport[])('an upstream over %s', (transport) => {
  it('asks with a form and receives the answer', async () => {
    const served = await start(transport)
    const task_id = await call(served, 'order', { message: 'Which\u001b[31m size\u200b?' })
    const { question, status } = await asked(served, task_id)
    expect(status).toBe('input_required')
    expect(question).toMatchObject({
      origin: 'upstream',
      request: { upstream: 'fix', message: 'Which size?', schema: { required: ['size'] } },
    })
    await served.gate.answerQuestion(ROOT, { task_id, content: { size: 'l', count: 2 } })
    const text = await textOf(served, task_id)
    expect(text).toContain('succeeded')
    expect(text).toMatch(/action\W+accept/)
    expect(text).toMatch(/size\W+l/)
    if (transport.startsWith('modern')) expect(text).toContain('secret-state-of-the-upstream')
    expect(JSON.stringify(question)).not.toContain('secret-state')
  })

  it('asks to open a page, whose address is shown and never fetched', async () => {
    const served = await start(transport)
    const task_id = await call(served, 'pay')
    const { question } = await asked(served, task_id)
    expect(question?.request).toMatchObject({ message: 'Pay first.', url: PAGE, upstream: 'fix' })
    await served.gate.answerQuestion(ROOT, { task_id, content: {} })
    const text = await textOf(served, task_id)
    expect(text).toContain('succeeded')
    expect(text).toMatch(/action\W+accept/)
    expect(text).not.toContain('content\\')
  })

  it('declining reaches it', async () => {
    const served = await start(transport)
    const task_id = await call(served, 'order')
    await asked(served, task_id)
    await served.gate.answerQuestion(ROOT, { task_id, action: 'decline' })
    expect(await textOf(served, task_id)).toMatch(/succeeded.*action\W+decline/)
  })

  it('is refused sampling and roots', async () => {
    const served = await start(transport)
    for (const tool of ['sample', 'roots']) {
      const text = await textOf(served, await call(served, tool))
      expect(text).toMatch(/not supported|does not support|do not declare/)
      expect(text).toMatch(transport.startsWith('modern') ? /^failed/ : /^succeeded/)
    }
  })

  it('its timeout does not run while it waits for the answer', async () => {
    const served = await start(transport, { timeout_ms: 700 })
    const task_id = await call(served, 'order')
    await asked(served, task_id)
    await new Promise((resolve) => setTimeout(resolve, 1200))
    await served.gate.answerQuestion(ROOT, { task_id, content: { size: 's' } })
    expect(await textOf(served, task_id)).toContain('succeeded')
    const slow = await call(served, 'idle', { ms: 5000 })
    expect(await textOf(served, slow)).toContain('UPSTREAM_TIMEOUT')
  })
})

describe('a modern upstream', () => {
  it('receives several answers with one repeated call', async () => {
    const served = await start('modern HTTP')
    const task_id = await call(served, 'both')
    for (const n of [1, 2]) {
      await asked(served, task_id, n)
      await served.gate.answerQuestion(ROOT, { task_id, n, content: { size: n === 1 ? 's' : 'l' } })
    }
    expect(await textOf(served, task_id)).toMatch(/succeeded.*first.*size\W+s\W.*second.*size\W+l\W/)
  })

  it('that is busy gets the same call again with its state', async () => {
    const served = await start('modern HTTP')
    expect(await textOf(served, await call(served, 'busy'))).toMatch(/succeeded.*again/)
  })
})

describe.each(LEGACY)('a legacy upstream over %s', (transport) => {
  it('that asks for a nested form is told why it cannot be shown', async () => {
    const served = await start(transport)
    expect(await textOf(served, await call(served, 'nested'))).toMatch(/succeeded.*refused/)
  })

  it('that stops waiting closes its question', async () => {
    const served = await start(transport)
    const task_id = await call(served, 'impatient')
    await asked(served, task_id)
    expect(await textOf(served, task_id)).toMatch(/succeeded.*nobody answered/)
    await expect(served.gate.answerQuestion(ROOT, { task_id, content: { size: 's' } })).rejects.toMatchObject(
      {
        code: 'ALREADY_DECIDED',
      },
    )
  })
})

describe('questions of concurrent calls', () => {
  it('over HTTP each question belongs to the call in whose stream it arrives', async () => {
    const served = await start('legacy HTTP')
    const tasks = await Promise.all(['a', 'b', 'c'].map((message) => call(served, 'order', { message })))
    for (const [i, task_id] of tasks.entries()) {
      const { question } = await asked(served, task_id)
      expect(question?.request).toMatchObject({ message: ['a', 'b', 'c'][i] })
    }
    for (const task_id of tasks.toReversed()) {
      await served.gate.answerQuestion(ROOT, { task_id, content: { size: 's' } })
      expect(await textOf(served, task_id)).toContain('succeeded')
    }
  })

  it('over HTTP a question that arrives outside of the streams may belong to several calls, and is refused', async () => {
    const served = await start('legacy HTTP')
    const idle = await call(served, 'idle', { ms: 1500 })
    await until(async () => (await served.gate.getTask(ROOT, { task_id: idle })).status === 'running')
    expect(await textOf(served, await call(served, 'pay'))).toContain('cannot tell which of several')
    expect(await textOf(served, idle)).toContain('rested')
  })

  it('over a shared program a question that may belong to several calls is refused', async () => {
    const served = await start('legacy stdio')
    const idle = await call(served, 'idle', { ms: 1500 })
    await until(async () => (await served.gate.getTask(ROOT, { task_id: idle })).status === 'running')
    const text = await textOf(served, await call(served, 'order'))
    expect(text).toContain('cannot tell which of several running calls')
    expect(await textOf(served, idle)).toContain('rested')
  })

  it.each(LEGACY)('over %s with one call at a time every question is asked', async (transport) => {
    const served = await start(transport, { concurrency: 1 })
    const first = await call(served, 'pay')
    await asked(served, first)
    const second = await call(served, 'pay')
    await served.gate.answerQuestion(ROOT, { task_id: first, content: {} })
    await asked(served, second)
    await served.gate.answerQuestion(ROOT, { task_id: second, action: 'decline' })
    expect(await textOf(served, first)).toMatch(/action\W+accept/)
    expect(await textOf(served, second)).toMatch(/action\W+decline/)
  })
})

/** A program that speaks MCP by hand, so that it can do what no SDK would. */
const HOSTILE = `
  const { createInterface } = require('node:readline')
  const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
  const ask = (id, message, schema) => send({ id, method: 'elicitation/create', params: { message, requestedSchema: schema ?? { type: 'object', properties: {} } } })
  let refused = 0, call
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params, error } = JSON.parse(line)
    if (method === 'initialize') {
      if (JSON.stringify(params.capabilities) !== '{"elicitation":{"form":{},"url":{}}}') process.exit(9)
      send({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'h', version: '1' } } })
    } else if (method === 'server/discover') send({ id, error: { code: -32601, message: 'no' } })
    else if (method === 'notifications/initialized') ask('early', 'No call is open.')
    else if (method === 'tools/list') send({ id, result: { tools: ['flood', 'huge', 'count', 'sample'].map((name) => ({ name, inputSchema: { type: 'object' } })) } })
    else if (method === 'tools/call') {
      call = id
      if (params.name === 'sample') return send({ id: 's', method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } })
      if (params.name === 'count') return send({ id, result: { content: [{ type: 'text', text: 'refused ' + refused }] } })
      if (params.name === 'huge') { ask('huge', 'x'.repeat(10e6)); return setTimeout(() => ask('later', 'Small?'), 50) }
      for (let i = 0; i < 10000; i++) ask('q' + i, 'Question ' + i)
    } else if (method === undefined && error) {
      refused++
      if (id === 's') send({ id: call, result: { content: [{ type: 'text', text: error.code + ' ' + error.message }] } })
      if (refused === 9993) send({ id: call, result: { content: [{ type: 'text', text: 'done' }] } })
    }
  })
`

describe('a hostile upstream', () => {
  async function hostile() {
    const file = join(folder(), 'hostile.cjs')
    writeFileSync(file, HOSTILE)
    const transport = { type: 'stdio', command: process.execPath, args: [file], env: {} }
    return serve([record({ transport })])
  }

  it('gets an error for a request while no call is open', async () => {
    const served = await hostile()
    await until(async () => (await textOf(served, await call(served, 'count'))).includes('refused 1'))
  })

  it('that requests sampling although it is not declared gets an error that says so', async () => {
    const served = await hostile()
    const text = await textOf(served, await call(served, 'sample'))
    expect(text).toContain('-32601 sampling/createMessage is not supported')
  })

  it('that asks 10,000 questions at once gets errors for all but a few, and its call ends', async () => {
    const served = await hostile()
    const task_id = await call(served, 'flood')
    const { question } = await asked(served, task_id)
    expect(question?.request).toMatchObject({ message: 'Question 0' })
    const text = await textOf(served, task_id)
    expect(text).toContain('done')
    await expect(served.gate.answerQuestion(ROOT, { task_id, content: {} })).rejects.toMatchObject({
      code: 'ALREADY_DECIDED',
    })
  }, 60_000)

  it('that sends a question of 10 MB does no harm', async () => {
    const served = await hostile()
    const task_id = await call(served, 'huge')
    await until(async () => {
      const { status } = await served.gate.getTask(ROOT, { task_id })
      return status !== 'queued' && status !== 'leased' && status !== 'running'
    })
    expect(await textOf(served, await call(served, 'count'))).toContain('refused')
  })
})

describe('server-everything', () => {
  it('asks with every kind of field, and to open a page', async () => {
    const served = await serve([{ ...installed('server-everything'), pinned: 'each_tool' }])
    await until(() => upstreamsOf(served).find('everything__trigger-elicitation-request'))
    const form = await call(served, 'trigger-elicitation-request', {}, 'everything')
    const { question } = await asked(served, form)
    expect(question).toMatchObject({ origin: 'upstream', request: { upstream: 'everything' } })
    await served.gate.answerQuestion(ROOT, { task_id: form, content: { name: 'Ada', check: true } })
    expect(await textOf(served, form)).toContain('Ada')
    const page = await call(
      served,
      'trigger-url-elicitation',
      { url: PAGE, elicitationId: 'x' },
      'everything',
    )
    expect((await asked(served, page)).question?.request).toMatchObject({ url: PAGE })
    await served.gate.answerQuestion(ROOT, { task_id: page, content: {} })
    expect(await textOf(served, page)).toMatch(/succeeded.*accept/)
  })

  it('a call that is rejected until a page is opened is repeated after the answer', async () => {
    const served = await serve([{ ...installed('server-everything'), pinned: 'each_tool' }])
    await until(() => upstreamsOf(served).find('everything__trigger-url-elicitation'))
    const args = { url: PAGE, elicitationId: 'y', errorPath: true }
    const task_id = await call(served, 'trigger-url-elicitation', args, 'everything')
    const { question } = await asked(served, task_id)
    expect(question?.request).toMatchObject({ url: expect.stringMatching(/^https:/) })
    await served.gate.answerQuestion(ROOT, { task_id, content: {} })
    // The repeated call asks by a request.
    await asked(served, task_id, 2)
    await served.gate.answerQuestion(ROOT, { task_id, content: {} })
    expect(await textOf(served, task_id)).toMatch(/succeeded.*accept/)
  })
})
