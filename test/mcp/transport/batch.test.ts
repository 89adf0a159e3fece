import { expect, it } from 'vitest'
import { bareCall, type McpServer, startMcp } from '../endpoint.ts'

interface Answer {
  readonly id: number
  readonly result?: { readonly structuredContent?: { readonly [name: string]: unknown } }
  readonly error?: { readonly code: number; readonly message: string }
}

/** The responses by request id. */
async function batch(server: McpServer, messages: readonly unknown[]) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(server.url, { method: 'POST', headers, body: JSON.stringify(messages) })
  const text = await response.text()
  const answers: Answer[] = text === '' ? [] : JSON.parse(text)
  return { status: response.status, answers: new Map(answers.map((answer) => [answer.id, answer])) }
}

const call = (id: number, name: string, args: object = {}) => bareCall(`asyncgate.${name}`, args, id).body
const create = (id: number, payload: unknown = {}) =>
  call(id, 'create_task', { agent_id: 'alice', type: 'job', payload })

it('every message of a batch gets its response, from the fast path or the SDK', async () => {
  const server = await startMcp()
  const { status, answers } = await batch(server, [
    create(1),
    { jsonrpc: '2.0', id: 2, method: 'tools/list' },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 3, method: 'no/such' },
    call(4, 'no_such_tool'),
  ])
  expect(status).toBe(200)
  expect([...answers.keys()].sort()).toEqual([1, 2, 3, 4])
  expect(answers.get(1)?.result?.structuredContent).toMatchObject({ status: 'queued' })
  expect(answers.get(2)?.result).toHaveProperty('tools')
  expect(answers.get(3)?.error?.code).toBe(-32601)
  expect(answers.get(4)?.error?.code).toBe(-32602)
})

it('a batch of notifications has no response body', async () => {
  const server = await startMcp()
  const { status, answers } = await batch(server, [{ jsonrpc: '2.0', method: 'notifications/initialized' }])
  expect(status).toBe(202)
  expect(answers.size).toBe(0)
})

it('a waiting message does not delay other messages of its batch', async () => {
  const server = await startMcp()
  const { answers } = await batch(server, [
    call(1, 'lease_next', { worker_id: 'w1', wait_seconds: 20 }),
    create(2),
  ])
  expect(answers.get(1)?.result?.structuredContent).toMatchObject({ tasks: [{ type: 'job' }] })
})

it('messages beyond the response limit of a batch are not executed', async () => {
  const server = await startMcp({ maxBodyBytes: 8 * 1024 * 1024 })
  const payload = ['x'.repeat(900_000)]
  for (let id = 0; id < 9; id++) await batch(server, [create(id, payload)])
  const lists = Array.from({ length: 3 }, (_, id) =>
    call(id, 'list_tasks', { agent_id: 'alice', limit: 200 }),
  )
  const { status, answers } = await batch(server, [...lists, create(99)])
  expect(status).toBe(200)
  expect(answers.get(0)?.result?.structuredContent).toHaveProperty('tasks')
  for (const id of [1, 2, 99]) expect(answers.get(id)?.error).toMatchObject({ code: 503 })
  const { answers: after } = await batch(server, [call(1, 'list_tasks', { agent_id: 'alice', limit: 1 })])
  expect(JSON.stringify(after.get(1))).toContain('xxx')
})
