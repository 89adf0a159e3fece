import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { expect, it, vi } from 'vitest'
import { localKeyFile } from '../../src/server/local-key.ts'
import { bareCall, modernCall, type Post } from '../mcp/endpoint.ts'
import {
  type Received,
  type ServedProcess,
  send,
  serveForAllTests,
  serveInProcess,
  whileProbing,
} from '../support/event-loop.ts'
import { PROGRAM } from '../support/program.ts'
import { KEY, members } from './support.ts'

// A hostile request may run three times.
vi.setConfig({ testTimeout: 120_000 })

const MIB = 1024 * 1024

const shared = serveForAllTests()

async function post(server: ServedProcess, path: string, input: object) {
  const { status, text } = await send(server, path, { body: input })
  return { status, body: members(JSON.parse(text)) }
}

/** Eight million characters of JSON, composed of the results of `part`. */
function filled(open: string, part: (i: number) => string, close: string): string {
  const parts: string[] = []
  for (let i = 0, length = 0; length < 8 * MIB - 1_000; i++) {
    const text = part(i)
    parts.push(text)
    length += text.length + 1
  }
  return `${open}${parts.join(',')}${close}`
}

const member = (i: number) => `"${i.toString(36)}":0`

/** Fields of a new task that take long to parse or to validate. */
const LARGE_FIELDS: readonly (readonly [string, string])[] = [
  ['many members', filled('{"type":"a","payload":{', member, '}}')],
  ['many members and one twice', filled('{"type":"a","payload":{', member, ',"0":0}}')],
  ['many fields', filled('{"type":"a",', member, '}')],
  ['many small objects', filled('{"type":"a","payload":[', (i) => `{${member(i)}}`, ']}')],
  ['many labels', filled('{"type":"a","labels":{', member, '}}')],
  ['a list where a name belongs', filled('{"type":"a","requirements":{"tags":[', () => '0', ']}}')],
]

/** A tool call with its arguments as raw text. */
function rawCall({ body, headers = {} }: Post, args: string) {
  const text = JSON.stringify(body).replace('"arguments":{}', `"arguments":${args}`)
  return { body: Buffer.from(text), headers }
}

const ERAS = [
  ['2026-07-28', modernCall('asyncgate.create_task')],
  ['the older revisions', bareCall('asyncgate.create_task')],
] as const

const times = <T>(count: number, one: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => one(i)))

const statuses = (answers: readonly Received[]) => [...new Set(answers.map(({ status }) => status))]

/** A task of alice that w1 has leased. */
async function held(server: ServedProcess) {
  await post(server, '/v1/tasks', { type: 'held', principal_id: 'alice' })
  const { body } = await post(server, '/v1/leases/claim', { worker_id: 'w1', accept_types: ['held'] })
  const [offer] = Array.isArray(body.tasks) ? body.tasks : []
  return { worker_id: 'w1', task_id: String(offer.task_id), lease_id: String(offer.lease_id) }
}

/** The worker asks alice for input that fits the schema. */
async function askFor(server: ServedProcess, schema: object) {
  const lease = await held(server)
  const request = { message: 'What?', schema }
  const { status } = await post(server, `/v1/tasks/${lease.task_id}/ask`, {
    ...lease,
    kind: 'input',
    request,
  })
  return { status, task_id: lease.task_id }
}

it('an ordinary request does not delay others', async () => {
  const server = shared()
  const { status } = await whileProbing(server, () =>
    post(server, '/v1/tasks', { type: 'job', principal_id: 'alice' }),
  )
  expect(status).toBe(200)
})

it('a schema with the name of the meta-schema is refused without affecting other schemas', async () => {
  const server = shared()
  const payload_schema = { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } }
  expect(await post(server, '/v1/task-types', { type: 'typed', payload_schema })).toMatchObject({
    status: 200,
  })
  const { status } = await whileProbing(server, () =>
    askFor(server, { $id: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }),
  )
  expect(status).toBe(400)
  const task = { type: 'typed', principal_id: 'alice', payload: { a: 1 } }
  expect(await post(server, '/v1/tasks', task)).toMatchObject({ status: 200 })
  expect(await post(server, '/v1/task-types', { type: 'other', payload_schema })).toMatchObject({
    status: 200,
  })
})

it('a schema with many references to a large part does not block other requests', async () => {
  const server = shared()
  const n = 300
  const properties = Object.fromEntries(Array.from({ length: n }, (_, i) => [`p${i}`, { type: 'string' }]))
  const allOf = Array.from({ length: n }, () => ({ $ref: '#/$defs/a' }))
  const schema = { $defs: { a: { properties } }, allOf }
  const { status, task_id } = await whileProbing(server, () => askFor(server, schema))
  expect(status).toBe(200)
  const answer = { principal_id: 'alice', content: { p0: 7 } }
  const refused = await whileProbing(server, () => post(server, `/v1/tasks/${task_id}/answer`, answer))
  expect(refused).toMatchObject({ status: 400, body: { details: { path: 'content.p0' } } })
})

it('an answer that takes long to validate is refused and does not block other requests', async () => {
  const server = shared()
  const anyOf = [...Array.from({ length: 1500 }, (_, i) => ({ const: i + 2 })), { type: 'integer' }]
  const { status, task_id } = await askFor(server, { items: { anyOf } })
  expect(status).toBe(200)
  const content = Array.from({ length: 30_000 }, () => 1)
  const { body } = await whileProbing(server, () =>
    post(server, `/v1/tasks/${task_id}/answer`, { principal_id: 'alice', content }),
  )
  expect(body).toMatchObject({ code: 'VALIDATION_ERROR', details: { path: 'content' } })
  const short = { principal_id: 'alice', content: [1] }
  expect(await post(server, `/v1/tasks/${task_id}/answer`, short)).toMatchObject({ status: 200 })
})

it('a batch whose payloads take long to validate does not block other requests', async () => {
  const server = shared()
  await post(server, '/v1/task-types', { type: 'set', payload_schema: { type: 'array', uniqueItems: true } })
  const payload = Array.from({ length: 3000 }, (_, i) => ({ i }))
  const tasks = [...Array.from({ length: 8 }, () => ({ type: 'set', payload })), { type: 'job' }]
  const { status, body } = await whileProbing(server, () =>
    post(server, '/v1/tasks/batch', { principal_id: 'alice', tasks }),
  )
  expect(status).toBe(200)
  expect(Array.isArray(body.results) && body.results.at(-1)).toMatchObject({ status: 'queued' })
})

it('redacting a batch of large texts does not block other requests', async () => {
  const server = await serveInProcess()
  const patterns = ['email', 'phone', 'ssn', 'card', 'api_key', 'bearer', 'ipv4']
  const rule = { id: 'red', action: 'REDACT', redact: { targets: 'args', patterns } }
  const headers = { authorization: `Bearer ${readFileSync(localKeyFile(), 'utf8').trim()}` }
  expect(await send(server, '/v1/policies', { body: rule, headers })).toMatchObject({ status: 200 })
  const text = 'call 555-123-4567 or write to someone@example.com about 10.1.2.3; '.repeat(600)
  const tasks = Array.from({ length: 60 }, (_, i) => ({ type: 'job', payload: { text, i } }))
  const { status, body } = await whileProbing(server, () =>
    post(server, '/v1/tasks/batch', { principal_id: 'alice', tasks }),
  )
  expect(status).toBe(200)
  expect(body.results).toEqual(
    Array.from({ length: 60 }, () => expect.objectContaining({ status: 'queued' })),
  )
})

it.each(LARGE_FIELDS)('three times 8 MiB of %s do not block other requests', async (_, fields) => {
  const server = shared()
  const body = Buffer.from(fields)
  const answers = await whileProbing(server, () => times(3, () => send(server, '/v1/tasks', { body })))
  expect([[400], [413]]).toContainEqual(statuses(answers))
})

it.each(LARGE_FIELDS)('three times 8 MiB of %s over MCP do not block other requests', async (_, fields) => {
  const server = shared()
  const sent = rawCall(modernCall('asyncgate.create_task'), fields)
  const answers = await whileProbing(server, () => times(3, () => send(server, `/mcp${PROGRAM}`, sent)))
  expect([200, 400, 413]).toEqual(expect.arrayContaining(statuses(answers)))
  for (const { text } of answers) expect(text).toMatch(/VALIDATION_ERROR|PAYLOAD_TOO_LARGE/)
})

it.each(ERAS)('arguments nested 100,000 deep over MCP in %s do not block other requests', async (_, call) => {
  const server = shared()
  const deep = `{"type":"x","payload":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
  const sent = rawCall(call, deep)
  const answers = await whileProbing(server, () => times(8, () => send(server, `/mcp${PROGRAM}`, sent)))
  expect(statuses(answers)).toEqual([400])
})

it('a message nested 100,000 deep does not block other requests', async () => {
  const server = shared()
  const body = Buffer.from('{"jsonrpc":'.repeat(100_000))
  for (const path of [`/mcp${PROGRAM}`, '/v1/tasks']) {
    const answers = await whileProbing(server, () => times(8, () => send(server, path, { body })))
    expect(statuses(answers)).toEqual([400])
  }
})

it.each([`/mcp${PROGRAM}`, '/v1/tasks'])(
  '8 MiB to %s without a key are refused and do not block other requests',
  async (path) => {
    const server = await serveInProcess({ ASYNCGATE_API_KEY: KEY })
    const body = Buffer.from(filled('{"type":"a","payload":{', member, ',"0":0}}'))
    const answers = await whileProbing(server, () => times(8, () => send(server, path, { body })))
    expect(statuses(answers)).toEqual([401])
  },
)

it('a batch of a hundred tools/list requests does not block other requests', async () => {
  const server = shared()
  const body = Array.from({ length: 100 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'tools/list' }))
  const answers = await whileProbing(server, () => times(3, () => send(server, `/mcp${PROGRAM}`, { body })))
  expect(statuses(answers)).toEqual([200])
})

it('a scrape after 4,000 unknown worker ids does not block other requests', async () => {
  const server = await serveInProcess()
  let round = 0
  const scraped = await whileProbing(server, async () => {
    round++
    for (let from = 0; from < 4_000; from += 100) {
      await times(100, (i) =>
        send(server, '/v1/leases/claim', { body: { worker_id: `w${round}-${from + i}` } }),
      )
    }
    return [await send(server, '/metrics'), await send(server, '/v1/workers?limit=200')]
  })
  expect(statuses(scraped)).toEqual([200])
})

it('publishing large and slow schemas again and again does not block other requests', async () => {
  const server = await serveInProcess()
  const part = { type: 'object', description: 'x'.repeat(1000) }
  const properties = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`p${n}`, part]))
  const deep = { anyOf: Array.from({ length: 8 }, () => ({ items: { $ref: '#' }, minItems: 1 })) }
  const nested = Array.from({ length: 25 }).reduce<unknown>((inner) => [inner], [])
  const answers = await whileProbing(server, () =>
    times(12, async (n) => {
      const published = await send(server, '/v1/workers/register', {
        body: {
          worker_id: `w${n}`,
          task_types: [
            { type: `large.${n}.a`, input_schema: { type: 'object', properties } },
            { type: `large.${n}.b`, input_schema: { type: 'object', properties } },
            { type: `slow.${n % 2}`, input_schema: deep },
          ],
        },
      })
      // Each takes a second.
      if (n > 2) return published.status
      return (await send(server, '/v1/tasks', { body: { type: `slow.${n % 2}`, payload: nested } })).status
    }),
  )
  expect(answers).toEqual(answers.map((_, n) => (n > 2 ? 200 : 400)))
})

it('a server that does not respond within the limit is detected', async () => {
  let isSlow = false
  const server = createServer((_, response) => {
    setTimeout(() => response.end(), isSlow ? 400 : 0)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  const hostile = async () => {
    isSlow = true
    await new Promise((resolve) => setTimeout(resolve, 100))
    isSlow = false
  }
  await expect(whileProbing({ url: `http://127.0.0.1:${address.port}` }, hostile)).rejects.toThrow(/slowest/)
  server.close()
})
