import { describe, expect, it } from 'vitest'
import { bareCall, contentOf, startMcp } from '../endpoint.ts'

const initialize = (protocolVersion: string) => ({
  body: {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  },
  headers: { accept: 'application/json, text/event-stream' },
})

describe('clients of the legacy revisions', () => {
  it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
    'a client of %s initializes and calls tools',
    async (version) => {
      const server = await startMcp()
      const hello = await server.post(initialize(version))
      expect(hello.status).toBe(200)
      // The session header identifies the client in its later requests.
      expect(hello.headers.get('mcp-session-id')).toMatch(/^[0-9a-f-]{36}\./)
      expect(hello.body?.result).toMatchObject({
        protocolVersion: version,
        serverInfo: { name: 'asyncgate' },
        capabilities: { tools: {} },
        instructions: expect.stringContaining('create_task'),
      })
      const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': version }
      const ready = { jsonrpc: '2.0', method: 'notifications/initialized' }
      expect((await server.post({ body: ready, headers })).status).toBe(202)
      const call = await server.post({
        ...bareCall('asyncgate.create_task', { type: 'x', agent_id: 'a' }),
        headers,
      })
      expect(call.headers.get('content-type')).toContain('application/json')
      expect(contentOf(call)).toMatchObject({ status: 'queued', is_duplicate: false })
    },
  )

  it('a client that asks for an unknown revision is offered the newest one', async () => {
    const server = await startMcp()
    const hello = await server.post(initialize('1999-01-01'))
    expect(hello.body?.result).toMatchObject({ protocolVersion: '2025-11-25' })
  })

  it('ping is answered', async () => {
    const server = await startMcp()
    const pong = await server.post({ body: { jsonrpc: '2.0', id: 'p', method: 'ping' } })
    expect(pong.body).toEqual({ jsonrpc: '2.0', id: 'p', result: {} })
  })
})

describe('programs that only know JSON-RPC', () => {
  it('tools can be listed and called without a handshake', async () => {
    const server = await startMcp()
    const list = await server.post({ body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} } })
    expect(list.headers.get('content-type')).toContain('application/json')
    expect(list.body?.result?.tools).toContainEqual(
      expect.objectContaining({ name: 'asyncgate_create_task' }),
    )
    const created = contentOf(
      await server.post(bareCall('asyncgate.create_task', { type: 'x', agent_id: 'a' })),
    )
    const leased = contentOf(await server.post(bareCall('asyncgate_lease_next', { worker_id: 'w' })))
    expect(leased).toMatchObject({ tasks: [{ task_id: created.task_id }] })
  })

  it('an error is returned as a tool result', async () => {
    const server = await startMcp()
    const answer = await server.post(bareCall('asyncgate.get_task', { task_id: 'none' }, 'mine'))
    expect(answer).toMatchObject({ status: 200, body: { id: 'mine', result: { isError: true } } })
    expect(contentOf(answer)).toMatchObject({
      error: 'task_not_found',
      code: 'TASK_NOT_FOUND',
      retryable: false,
    })
  })
})

it('both spellings of a tool name are accepted, whichever is listed', async () => {
  for (const [toolNames, listed] of [
    ['dot', 'asyncgate.health'],
    ['underscore', 'asyncgate_health'],
  ] as const) {
    const server = await startMcp({ toolNames })
    const list = await server.modern('tools/list')
    expect(list.body?.result?.tools).toContainEqual(expect.objectContaining({ name: listed }))
    for (const name of ['asyncgate.health', 'asyncgate_health']) {
      expect(contentOf(await server.call(name))).toMatchObject({ status: 'healthy' })
    }
  }
})
