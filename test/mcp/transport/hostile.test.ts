import { once } from 'node:events'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { readAnswer } from '../../http/support.ts'
import { bareCall, contentOf, type McpServer, modernCall, type Post, startMcp } from '../endpoint.ts'

const KEY = 'a-key-that-is-long-enough'
const MIB = 1024 * 1024

/** Begins a POST of `size` bytes and sends only the first byte. */
function beginPost(server: McpServer, size: number, headers: Record<string, string> = {}): ClientRequest {
  const request = httpRequest(server.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': size, ...headers },
  })
  request.on('error', () => {})
  request.write('{')
  return request
}

async function answerTo(request: ClientRequest) {
  const [message]: IncomingMessage[] = await once(request, 'response')
  if (message === undefined) throw new Error('no answer')
  return readAnswer(message)
}

/** The call with its arguments as raw text. */
function withArguments({ body, headers }: Post, args: string): Post {
  const text = JSON.stringify(body).replace('"arguments":{}', `"arguments":${args}`)
  return { body: text, ...(headers && { headers }) }
}

describe('bodies of unauthenticated requests', () => {
  it('a wrong key in a header is refused before the body has arrived, and the connection is closed', async () => {
    const server = await startMcp({ apiKey: KEY, maxBodyBytes: 8 * MIB })
    const answer = await answerTo(beginPost(server, 8 * MIB, { authorization: 'Bearer wrong' }))
    expect(answer).toMatchObject({ status: 401, headers: { connection: 'close' } })
    expect(answer.body).toMatchObject({ error: { data: { code: 'UNAUTHENTICATED' } } })
  })

  it('a body over 64 KiB without a key in a header is refused unread', async () => {
    const server = await startMcp({ apiKey: KEY, maxBodyBytes: 8 * MIB })
    const answer = await answerTo(beginPost(server, 64 * 1024 + 1))
    expect(answer.status).toBe(401)
    expect(answer.body).toMatchObject({
      error: { message: 'A request over 64 KiB needs its key in a header.' },
    })
  })

  it('a chunked body is counted against the limit', async () => {
    const server = await startMcp({ apiKey: KEY, maxBodyBytes: 8 * MIB })
    const request = httpRequest(server.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
    })
    request.on('error', () => {})
    request.write(`{"a":"${'x'.repeat(65 * 1024)}`)
    expect((await answerTo(request)).status).toBe(401)
  })

  it('auth_token works in a body of up to 64 KiB, and a key in a header permits any allowed size', async () => {
    const server = await startMcp({ apiKey: KEY, maxBodyBytes: 8 * MIB })
    const payload = 'x'.repeat(60 * 1024)
    const small = await server.call('asyncgate.create_task', { type: 'x', payload, auth_token: KEY })
    expect(contentOf(small)).toMatchObject({ status: 'queued' })
    const large = { type: 'x', payload: payload.repeat(10) }
    expect((await server.call('asyncgate.create_task', { ...large, auth_token: KEY })).status).toBe(401)
    const headers = { authorization: `Bearer ${KEY}` }
    expect(contentOf(await server.call('asyncgate.create_task', large, headers))).toMatchObject({
      status: 'queued',
    })
  })
})

describe.each([true, false])('hostile messages, fast path %s', (fastPath) => {
  const eras: readonly [string, Post][] = [
    ['2026-07-28', modernCall('asyncgate.create_task')],
    ['the older revisions', bareCall('asyncgate.create_task')],
  ]

  it.each(eras)('arguments nested 100,000 deep are refused, in %s', async (_, call) => {
    const server = await startMcp({ fastPath })
    const deep = `{"type":"x","payload":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    expect(await server.post(withArguments(call, deep))).toMatchObject({
      status: 400,
      body: { error: { code: -32600, data: { code: 'VALIDATION_ERROR' } } },
    })
    expect(server.errors).toEqual([])
  })

  it.each(eras)('arguments nested 1,000 deep are refused as a tool result, in %s', async (_, call) => {
    const server = await startMcp({ fastPath })
    const deep = `{"type":"x","payload":${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}}`
    const answer = await server.post(withArguments(call, deep))
    expect(answer).toMatchObject({ status: 200, body: { id: 1, result: { isError: true } } })
    expect(contentOf(answer)).toMatchObject({ code: 'VALIDATION_ERROR' })
    expect(server.errors).toEqual([])
  })

  it.each([
    ['a message nested 100,000 deep', '{"jsonrpc":'.repeat(100_000)],
    ['a batch of 101 messages', JSON.stringify(Array(101).fill({ jsonrpc: '2.0', method: 'x' }))],
    ['a batch of one million numbers', `[${'0,'.repeat(500_000)}0]`],
    [
      'a message with 1,001 properties',
      JSON.stringify(Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [i, 0]))),
    ],
  ])('%s is refused', async (_, body) => {
    const server = await startMcp({ fastPath, maxBodyBytes: 8 * MIB })
    expect(await server.post({ body })).toMatchObject({
      status: 400,
      body: { id: null, error: { code: -32600, data: { code: 'VALIDATION_ERROR' } } },
    })
    expect(server.errors).toEqual([])
  })

  it('a list of millions of items in place of a few names is refused', async () => {
    const server = await startMcp({ fastPath, maxBodyBytes: 8 * MIB })
    const args = `{"worker_id":"w","accept_types":[${'0,'.repeat(3_000_000)}0]}`
    const answer = await server.post(withArguments(modernCall('asyncgate.lease_next'), args))
    expect(contentOf(answer)).toMatchObject({
      code: 'VALIDATION_ERROR',
      message: 'accept_types: has more than 1000 items',
    })
  })
})
