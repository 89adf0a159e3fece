import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { SessionLimits } from '../../../src/mcp/transport/sessions.ts'
import { personKey } from '../../support/auth-modes.ts'
import { admin, worker } from '../../support/gates.ts'
import { lease } from '../../support/steps.ts'
import { startMcp } from '../endpoint.ts'
import { asAgent, EVENTS, eventsOf, nextMessage, post, RawClient, startTalking } from './talking.ts'

const TYPE = { type: 'summarise', tool: {}, payload_schema: { type: 'object' } }
const FORMS = { elicitation: {} }

async function start(limits: Partial<SessionLimits> = {}) {
  const { gate } = await startMcp()
  return { gate, ...(await startTalking(gate, limits)) }
}

/** Answers the request in the next event. */
async function answer(client: RawClient, url: string, read: ReturnType<typeof eventsOf>, name: string) {
  const { message } = await nextMessage(read)
  expect(message).toMatchObject({ method: 'elicitation/create', params: { message: 'Who?' } })
  const result = { action: 'accept', content: { name } }
  const response = await client.send(url, { id: message?.id, result })
  expect(response.status).toBe(202)
  return z.string().parse(message?.id)
}

describe('a session', () => {
  it('a request of a tool reaches the client on the stream of its call, and the response the tool', async () => {
    const { url, unmatched } = await start()
    const client = await RawClient.initialize(url, FORMS)
    const response = await client.call(url, 'ask')
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    const read = eventsOf(response)
    const id = await answer(client, url, read, 'Ada')
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
    const { message } = await nextMessage(read)
    expect(message).toMatchObject({
      id: 1,
      result: { structuredContent: { given: { action: 'accept', content: { name: 'Ada' } } } },
    })
    expect(await read()).toBeUndefined()
    expect(unmatched).toEqual([])
  })

  it('a call that sends nothing before its result is answered with JSON', async () => {
    const { url } = await start()
    const client = await RawClient.initialize(url, { ...FORMS, sampling: {}, roots: {} })
    const response = await client.call(url, 'capabilities')
    expect(response.headers.get('content-type')).toContain('application/json')
    expect(await response.json()).toMatchObject({
      result: { structuredContent: { capabilities: ['elicitation.form', 'sampling', 'roots'] } },
    })
  })

  it('a client that accepts no streams has no peer', async () => {
    const { url } = await start()
    const { id } = await RawClient.initialize(url, FORMS)
    const call = { id: 1, method: 'tools/call', params: { name: 'capabilities', arguments: {} } }
    const headers = { ...asAgent(), accept: 'application/json', 'mcp-session-id': id }
    expect(await (await post(url, call, headers)).json()).toMatchObject({
      result: { structuredContent: {} },
    })
  })

  it('each session has its own log level', async () => {
    const { url } = await start()
    const [quiet, loud] = [await RawClient.initialize(url), await RawClient.initialize(url)]
    const set = await quiet.send(url, { id: 1, method: 'logging/setLevel', params: { level: 'warning' } })
    expect(await set.json()).toMatchObject({ id: 1, result: {} })
    const levels = async (client: RawClient) => {
      const read = eventsOf(await client.call(url, 'log'))
      const found: unknown[] = []
      for (let event = await read(); event !== undefined; event = await read())
        if (event.message?.method === 'notifications/message') found.push(event.message.params?.level)
      return found
    }
    expect(await levels(quiet)).toEqual(['error'])
    expect(await levels(loud)).toEqual(['debug', 'error'])
  })

  it('the log lines of a worker reach a client that waits for the task and has set a log level', async () => {
    const { url, gate } = await start()
    await gate.registerTaskType(admin(), { ...TYPE, tool: { wait_seconds: 20 } })
    const client = await RawClient.initialize(url)
    await client.send(url, { id: 1, method: 'logging/setLevel', params: { level: 'info' } })
    const held = client.call(url, 'summarise')
    const { task_id, lease_id } = await lease(gate, { wait_seconds: 10 })
    const worked = { worker_id: 'w1', task_id, lease_id }
    const lines = [
      { level: 'debug', text: 'not shown' },
      { level: 'warn', text: 'slow', context: { page: 4 } },
      ...Array.from({ length: 98 }, (_, i) => ({ level: 'info', text: `line ${i}` })),
    ]
    await gate.appendLogs(worker(), { ...worked, lines })
    const read = eventsOf(await held)
    expect((await nextMessage(read)).message).toMatchObject({
      method: 'notifications/message',
      params: { level: 'warning', logger: `task ${task_id}`, data: { text: 'slow', page: 4 } },
    })
    // These are on the second page of the log.
    await gate.appendLogs(worker(), { ...worked, lines: [{ text: 'last' }, { level: 'error', text: 'end' }] })
    await gate.complete(worker(), { ...worked, result: { done: true } })
    const rest: unknown[] = []
    for (let event = await read(); event !== undefined; event = await read())
      rest.push(event.message?.params?.data ?? event.message?.id)
    expect(rest).toEqual([...Array.from({ length: 98 }, (_, i) => `line ${i}`), 'last', 'end', 1])
  })

  it('the log level cannot be set without a session', async () => {
    const { url } = await start()
    const set = { id: 1, method: 'logging/setLevel', params: { level: 'warning' } }
    const response = await post(url, set, { ...asAgent(), ...EVENTS })
    expect(await response.json()).toMatchObject({
      error: { code: -32600, message: expect.stringContaining('Mcp-Session-Id') },
    })
  })

  it('updates of the resources that a session subscribed to reach its stream', async () => {
    const { url, bus } = await start()
    const client = await RawClient.initialize(url)
    const read = eventsOf(await client.get(url))
    await read()
    const about = (method: string, uri: string) =>
      client.send(url, { id: 1, method, params: { uri } }).then((response) => response.json())
    expect(await about('resources/subscribe', 'test://one')).toMatchObject({ result: {} })
    await about('resources/subscribe', 'test://two')
    await about('resources/unsubscribe', 'test://two')
    for (const uri of ['test://two', 'test://three', 'test://one'])
      bus.publish({ kind: 'resource_updated', uri })
    expect((await nextMessage(read)).message).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri: 'test://one' },
    })
  })

  it('the status of a 2025-11-25 task reaches the stream of the session that created it', async () => {
    const { url, gate } = await start()
    await gate.registerTaskType(admin(), TYPE)
    const [client, other] = [await RawClient.initialize(url), await RawClient.initialize(url)]
    const [read, readOther] = [eventsOf(await client.get(url)), eventsOf(await other.get(url))]
    const params = { name: 'summarise', arguments: {}, task: {} }
    const created = await client.send(url, { id: 1, method: 'tools/call', params })
    const { result } = z
      .object({ result: z.object({ task: z.object({ taskId: z.string() }) }) })
      .parse(await created.json())
    const { task_id, lease_id } = await lease(gate)
    expect(task_id).toBe(result.task.taskId)
    await gate.complete(worker(), { worker_id: 'w1', task_id, lease_id, result: { done: true } })
    for (;;) {
      const { message } = await nextMessage(read)
      expect(message?.method).toBe('notifications/tasks/status')
      expect(message?.params).toMatchObject({ taskId: task_id })
      if (message?.params?.status === 'completed') break
    }
    await other.end(url)
    const rest: unknown[] = []
    for (let event = await readOther(); event !== undefined; event = await readOther())
      if (event.message !== undefined) rest.push(event.message)
    expect(rest).toEqual([])
  })

  it('a session that its client has ended is refused with 404, and others are not', async () => {
    const { url } = await start()
    const [client, other] = [await RawClient.initialize(url), await RawClient.initialize(url)]
    const read = eventsOf(await client.get(url))
    await read()
    expect((await client.end(url)).status).toBe(204)
    expect(await read()).toBeUndefined()
    const refused = await client.send(url, { id: 1, method: 'tools/list' })
    expect(refused.status).toBe(404)
    expect(await refused.json()).toMatchObject({ id: 1, error: { data: { code: 'MCP_SESSION_NOT_FOUND' } } })
    expect((await client.get(url)).status).toBe(404)
    expect((await client.end(url)).status).toBe(404)
    expect((await other.send(url, { id: 1, method: 'tools/list' })).status).toBe(200)
  })

  it('a request to the client ends with its session', async () => {
    const { url } = await start()
    const client = await RawClient.initialize(url, FORMS)
    const read = eventsOf(await client.call(url, 'ask'))
    await nextMessage(read)
    expect((await client.end(url)).status).toBe(204)
    expect(await read()).toBeUndefined()
  })

  it('a canceled call cancels its request to the client', async () => {
    const { url } = await start()
    const client = await RawClient.initialize(url, FORMS)
    const read = eventsOf(await client.call(url, 'ask', {}, 7))
    const { message } = await nextMessage(read)
    await client.send(url, { method: 'notifications/cancelled', params: { requestId: 7 } })
    expect((await nextMessage(read)).message).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: message?.id },
    })
  })
})

describe('resumed streams', () => {
  it('a client that lost the connection of a call resumes it and gets the result', async () => {
    const { url } = await start()
    const client = await RawClient.initialize(url, FORMS)
    const lost = new AbortController()
    const read = eventsOf(await client.call(url, 'ask', {}, 'call-1', lost.signal))
    const primed = await read()
    expect(primed?.message).toBeUndefined()
    await nextMessage(read)
    lost.abort()
    const again = eventsOf(await client.get(url, primed?.eventId))
    await answer(client, url, again, 'Grace')
    expect((await nextMessage(again)).message).toMatchObject({
      id: 'call-1',
      result: { structuredContent: { given: { content: { name: 'Grace' } } } },
    })
    expect(await again()).toBeUndefined()
  })

  it('events that the client has seen are not sent again, and the result is there afterwards', async () => {
    const { url } = await start()
    const client = await RawClient.initialize(url, FORMS)
    const lost = new AbortController()
    const read = eventsOf(await client.call(url, 'ask', {}, 1, lost.signal))
    const { eventId, message } = await nextMessage(read)
    lost.abort()
    await client.send(url, { id: message?.id, result: { action: 'decline' } })
    const again = eventsOf(await client.get(url, eventId))
    expect((await nextMessage(again)).message).toMatchObject({ id: 1, result: {} })
    expect(await again()).toBeUndefined()
  })

  it('a call whose client does not come back in time ends, and cannot be resumed', async () => {
    const { url } = await start({ resumeMs: 50 })
    const client = await RawClient.initialize(url, FORMS)
    const lost = new AbortController()
    const { eventId, message } = await nextMessage(
      eventsOf(await client.call(url, 'ask', {}, 1, lost.signal)),
    )
    lost.abort()
    for (;;) {
      const again = new AbortController()
      const read = eventsOf(await client.get(url, eventId, again.signal))
      const event = await Promise.race([read(), delay(20)])
      again.abort()
      if (event === undefined) {
        await delay(100)
        continue
      }
      expect(event.message).toMatchObject({ id: 1, error: { data: { code: 'MCP_RESPONSE_NOT_FOUND' } } })
      break
    }
    const late = await client.send(url, { id: message?.id, result: {} })
    expect(late.status).toBe(202)
  })

  it('a response that cannot be resumed here ends with an error for its request', async () => {
    const { gate } = await startMcp()
    const [one, two] = [await startTalking(gate), await startTalking(gate)]
    const client = await RawClient.initialize(one.url, FORMS)
    const { eventId } = await nextMessage(eventsOf(await client.call(one.url, 'ask', {}, 'call-1')))
    const again = eventsOf(await client.get(two.url, eventId))
    expect((await nextMessage(again)).message).toMatchObject({
      id: 'call-1',
      error: {
        data: { code: 'MCP_RESPONSE_NOT_FOUND', hint: expect.stringContaining('look for the tasks') },
      },
    })
    expect(await again()).toBeUndefined()
  })

  it('a change of a list while the client was away is reported when it comes back', async () => {
    const { url, gate } = await start()
    const client = await RawClient.initialize(url)
    const away = new AbortController()
    const primed = await eventsOf(await client.get(url, undefined, away.signal))()
    away.abort()
    await gate.registerTaskType(admin(), TYPE)
    const read = eventsOf(await client.get(url, primed?.eventId))
    expect((await nextMessage(read)).message).toMatchObject({ method: 'notifications/tools/list_changed' })
  })

  it.each([
    ['of another server', 's.unknown.7'],
    ['that is nonsense', '../..'],
    ['of 8,000 characters', 'x'.repeat(8_000)],
    ['that names no request', `${'A'.repeat(200)}.x.1`],
  ])('a client whose last event is one %s is told that the lists have changed', async (_, eventId) => {
    const { url } = await start()
    const client = await RawClient.initialize(url)
    const response = await client.get(url, eventId)
    expect(response.status).toBe(200)
    expect((await nextMessage(eventsOf(response))).message).toMatchObject({
      method: 'notifications/tools/list_changed',
    })
  })
})

describe('several servers without sticky routing', () => {
  it('a session that began on one server is served by the other, with its capabilities', async () => {
    const { gate } = await startMcp()
    const [one, two] = [await startTalking(gate), await startTalking(gate)]
    const client = await RawClient.initialize(one.url, { elicitation: { url: {} }, roots: {} })
    for (const url of [two.url, one.url, two.url, one.url]) {
      expect((await client.send(url, { method: 'notifications/initialized' })).status).toBe(202)
      const response = await client.call(url, 'capabilities')
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({
        result: { structuredContent: { capabilities: ['elicitation.url', 'roots'] } },
      })
    }
  })

  it('a response that reaches another server goes to the hook for durable questions', async () => {
    const { gate } = await startMcp()
    const [one, two] = [await startTalking(gate), await startTalking(gate)]
    const client = await RawClient.initialize(one.url, FORMS)
    const read = eventsOf(await client.call(one.url, 'ask', { id: 'question:task:1' }))
    const { message } = await nextMessage(read)
    expect(message?.id).toBe('question:task:1')
    const sent = await client.send(two.url, { id: message?.id, result: { action: 'accept' } })
    expect(sent.status).toBe(202)
    expect(two.unmatched).toMatchObject([
      {
        response: { id: 'question:task:1', result: { action: 'accept' } },
        credential: { tenant: 'default' },
      },
    ])
    expect(one.unmatched).toEqual([])
  })

  it('an ended session is unknown to the other server, which serves it', async () => {
    const { gate } = await startMcp()
    const [one, two] = [await startTalking(gate), await startTalking(gate)]
    const client = await RawClient.initialize(one.url)
    await client.end(one.url)
    expect((await client.send(one.url, { id: 1, method: 'ping' })).status).toBe(404)
    expect((await client.send(two.url, { id: 1, method: 'ping' })).status).toBe(200)
  })
})

describe('hostile clients', () => {
  it('a response that no request waits for changes nothing', async () => {
    const { url, unmatched, errors } = await start()
    const client = await RawClient.initialize(url, FORMS)
    for (const id of ['guess', 7, '']) {
      expect((await client.send(url, { id, result: {} })).status).toBe(202)
    }
    expect((await client.send(url, { id: 'x', error: { code: 1, message: 'no' } })).status).toBe(202)
    expect(unmatched.map(({ response }) => response.id)).toEqual(['guess', '', 'x'])
    expect(errors).toEqual([])
  })

  it('a request to one session cannot be answered in another', async () => {
    const { url, unmatched } = await start()
    const [client, thief] = [await RawClient.initialize(url, FORMS), await RawClient.initialize(url, FORMS)]
    const read = eventsOf(await client.call(url, 'ask', { id: 'known' }))
    await nextMessage(read)
    await thief.send(url, { id: 'known', result: { stolen: true } })
    expect(unmatched).toHaveLength(1)
    await client.send(url, { id: 'known', result: { stolen: false } })
    expect((await nextMessage(read)).message).toMatchObject({
      result: { structuredContent: { given: { stolen: false } } },
    })
  })

  it('another credential with the same session id reaches nothing of the session', async () => {
    const { url, unmatched } = await start()
    const client = await RawClient.initialize(url, FORMS)
    const thief = new RawClient(client.id, { authorization: `Bearer ${personKey('eve')}` })
    const read = eventsOf(await client.call(url, 'ask', { id: 'known' }))
    const { eventId } = await nextMessage(read)
    expect((await thief.send(url, { id: 'known', result: { stolen: true } })).status).toBe(202)
    expect(unmatched).toMatchObject([{ credential: { kind: 'bound', principal: { id: 'eve' } } }])
    expect((await nextMessage(eventsOf(await thief.get(url, eventId)))).message).toMatchObject({
      error: { data: { code: 'MCP_RESPONSE_NOT_FOUND' } },
    })
    expect((await thief.end(url)).status).toBe(204)
    await client.send(url, { id: 'known', result: { stolen: false } })
    expect((await nextMessage(read)).message).toMatchObject({
      result: { structuredContent: { given: { stolen: false } } },
    })
  })

  const encoded = (value: unknown) => `a.${Buffer.from(JSON.stringify(value)).toString('base64url')}`

  it.each([
    ['that another program has chosen', 'foo'],
    ['of 5,000 characters', 'x'.repeat(5_000)],
    ['that contains an object', encoded({ 0: 'n', 1: 'v', 2: 'f' })],
    ['with unknown capabilities', encoded(['n', 'v', 'q'.repeat(500)])],
    ['with capabilities that are no text', encoded(['n', 'v', ['f']])],
    ['that is not base64', 'a.%%%.b'],
  ])('a session id %s is served without capabilities', async (_, id) => {
    const { url } = await start()
    const response = await new RawClient(id, asAgent()).call(url, 'capabilities')
    expect(response.status).toBe(200)
    expect(
      z
        .object({
          result: z.object({ structuredContent: z.object({ capabilities: z.array(z.string()).optional() }) }),
        })
        .parse(await response.json()).result.structuredContent.capabilities ?? [],
    ).toEqual([])
  })

  it('requests without a session are served as before, also in a batch', async () => {
    const { url } = await start()
    const headers = { ...asAgent(), accept: 'application/json' }
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    expect((await post(url, list, headers)).status).toBe(200)
    const batch = await post(
      url,
      [list, { jsonrpc: '2.0', id: 'x', result: {} }, { ...list, id: 2 }],
      headers,
    )
    expect(await batch.json()).toMatchObject([{ id: 1 }, { id: 2 }])
  })

  it('a revision that is not supported is refused', async () => {
    const { url } = await start()
    const headers = { ...asAgent(), ...EVENTS, 'mcp-protocol-version': '2020-01-01' }
    for (const message of [{ id: 1, method: 'ping' }, { method: 'notifications/initialized' }]) {
      const response = await post(url, message, headers)
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: { code: -32000 } })
    }
  })
})
