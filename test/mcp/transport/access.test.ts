import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { describe, expect, it } from 'vitest'
import {
  bareCall,
  contentOf,
  type McpServer,
  modernCall,
  modernPost,
  type Post,
  startMcp,
} from '../endpoint.ts'

const KEY = 'a-key-that-is-long-enough'
const LIST: Post = modernPost('tools/list')
const CALL: Post = modernCall('asyncgate.get_config')

/** Sends what fetch cannot: any Host header, or a chunked body. */
async function rawPost(server: McpServer, headers: Record<string, string>, pieces: readonly string[]) {
  const request = httpRequest(server.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
  })
  for (const piece of pieces) request.write(piece)
  request.end()
  const [response] = await once(request, 'response')
  response.resume()
  return response.statusCode
}

describe.each([true, false])('access to the endpoint, fast path %s', (fastPath) => {
  it.each([
    ['a list', LIST],
    ['a call', CALL],
    ['a bare call', bareCall('asyncgate.get_config')],
    ['a handshake', { body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} } }],
    ['a token that is not the key', modernCall('asyncgate.get_config', { auth_token: 'wrong' })],
  ])('%s without the key is 401', async (_, request) => {
    const server = await startMcp({ apiKey: KEY, fastPath })
    const answer = await server.post(request)
    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/)
    expect(answer.body).toMatchObject({ id: 1, error: { code: 401, data: { code: 'UNAUTHENTICATED' } } })
  })

  it.each([
    ['Authorization', { authorization: `Bearer ${KEY}` }],
    ['X-API-Key', { 'x-api-key': KEY }],
  ])('the key is taken from %s', async (_, headers) => {
    const server = await startMcp({ apiKey: KEY, fastPath })
    expect((await server.call('asyncgate.get_config', {}, headers)).status).toBe(200)
    expect((await server.modern('tools/list', {}, headers)).status).toBe(200)
  })

  it('the key is taken from the argument auth_token of a call', async () => {
    const server = await startMcp({ apiKey: KEY, fastPath })
    const args = { type: 'x', agent_id: 'alice', auth_token: KEY }
    const answer = await server.call('asyncgate.create_task', args)
    expect(contentOf(answer)).toMatchObject({ status: 'queued' })
    const bare = await server.post(bareCall('asyncgate.create_task', args))
    expect(contentOf(bare)).toMatchObject({ status: 'queued' })
  })

  it('auth_token does not replace a wrong key in a header', async () => {
    const server = await startMcp({ apiKey: KEY, fastPath })
    const headers = { authorization: 'Bearer wrong' }
    expect((await server.call('asyncgate.get_config', { auth_token: KEY }, headers)).status).toBe(401)
  })

  it('agent_id identifies the caller under a shared key', async () => {
    const server = await startMcp({ fastPath })
    const { task_id } = contentOf(
      await server.call('asyncgate.create_task', { type: 'x', agent_id: 'alice' }),
    )
    const seen = await server.call('asyncgate.get_task', { task_id, agent_id: 'alice' })
    expect(contentOf(seen)).toMatchObject({ created_by: { kind: 'agent', id: 'alice' } })
    const other = await server.call('asyncgate.get_task', { task_id, agent_id: 'bob' })
    expect(other.body?.result?.isError).toBe(true)
    expect(contentOf(other)).toMatchObject({ code: 'FORBIDDEN', required_role: 'admin', your_role: 'agent' })
  })

  it.each([
    ['a Host', { host: 'evil.example' }],
    ['an Origin', { origin: 'https://evil.example' }],
    ['an opaque Origin', { origin: 'null' }],
  ])('%s that is not allowed is 403', async (_, headers) => {
    const server = await startMcp({ fastPath })
    expect(await rawPost(server, headers, [JSON.stringify(bareCall('asyncgate.health').body)])).toBe(403)
  })

  it('an allowed Host and Origin are accepted', async () => {
    const allowed = { hosts: ['gate.example'], origins: ['https://app.example'] }
    const server = await startMcp({ fastPath, allowed })
    const headers = { host: 'gate.example:8080', origin: 'https://app.example' }
    expect(await rawPost(server, headers, [JSON.stringify(bareCall('asyncgate.health').body)])).toBe(200)
  })

  it('a body over the limit is 413, with and without a content length', async () => {
    const server = await startMcp({ fastPath, maxBodyBytes: 1000 })
    const answer = await server.call('asyncgate.create_task', { type: 'x', payload: 'x'.repeat(1000) })
    expect(answer).toMatchObject({ status: 413, body: { error: { data: { code: 'PAYLOAD_TOO_LARGE' } } } })
    expect(
      await rawPost(server, { 'transfer-encoding': 'chunked' }, ['{"a":"', 'x'.repeat(2000), '"}']),
    ).toBe(413)
    expect((await server.call('asyncgate.health')).status).toBe(200)
  })

  it('a body without a JSON content type is 415', async () => {
    const server = await startMcp({ fastPath })
    const { body, headers } = LIST
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/vnd.api+json']) {
      expect((await server.post({ body, headers: { ...headers, 'content-type': type } })).status).toBe(415)
    }
  })

  it('a client that does not accept JSON gets 406', async () => {
    const server = await startMcp({ fastPath })
    expect((await server.modern('tools/list', {}, { accept: 'text/event-stream' })).status).toBe(406)
    for (const accept of ['application/json', '*/*', 'application/json, text/event-stream']) {
      expect((await server.modern('tools/list', {}, { accept })).status).toBe(200)
    }
  })

  it.each(['GET', 'DELETE', 'PUT'])('%s is 405', async (method) => {
    const server = await startMcp({ fastPath })
    const response = await fetch(server.url, { method })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('POST')
  })
})

it('an error contains the request id', async () => {
  const server = await startMcp({ requestId: 'r-1', apiKey: KEY })
  const headers = { authorization: `Bearer ${KEY}` }
  expect(contentOf(await server.call('asyncgate.create_task', {}, headers))).toMatchObject({
    request_id: 'r-1',
  })
  expect((await server.post(LIST)).body).toMatchObject({ error: { data: { request_id: 'r-1' } } })
})

it('an internal error is reported to the operator only', async () => {
  const bug = new Error('SELECT secret FROM table')
  const server = await startMcp({
    wrap: (gate) => ({
      ...gate,
      call: () => {
        throw bug
      },
    }),
  })
  const answer = await server.call('asyncgate.health')
  expect(contentOf(answer)).toMatchObject({ code: 'INTERNAL_ERROR' })
  expect(JSON.stringify(answer.body)).not.toContain('secret')
  expect(server.errors).toEqual([bug])
})
