import { Writable } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '../../src/config/index.ts'
import { createLogger } from '../../src/http/log.ts'
import { openServer } from '../../src/server/open-server.ts'
import { members } from '../http/support.ts'
import { database } from '../oauth/support.ts'
import { admin, agent } from '../support/gates.ts'

const KEY = 'a-shared-key-for-tests'

/** A server, the keys of an agent and a worker, and the decisions that it has logged. */
async function open(level: string) {
  const lines: string[] = []
  const destination = new Writable({
    write(chunk, _, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const env = { ASYNCGATE_PORT: '0', ASYNCGATE_API_KEY: KEY, ...(await database('SQLite')) }
  const config = loadConfig({ env, file: '/dev/null' })
  const server = await openServer(config, createLogger(level, destination), { drainMs: 0, graceMs: 0 })
  onTestFinished(() => server.close())
  const keyOf = async (role: 'agent' | 'worker', id: string) =>
    (await server.gate.createKey(admin(), { principal: { kind: role, id }, role })).key
  const [alice, worker] = [await keyOf('agent', 'alice'), await keyOf('worker', 'w1')]
  lines.length = 0
  const send = async (key: string, path: string, body?: object) => {
    const response = await fetch(`${server.url}${path}`, {
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'x-request-id': 'r-1',
      },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    await response.text()
    return response.status
  }
  const decisions = () =>
    lines.map((line) => members(JSON.parse(line))).filter(({ decision }) => decision !== undefined)
  return { gate: server.gate, alice, worker, send, decisions }
}

const toolCall = (name: string) => ({
  ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
  params: { name, arguments: {} },
})

it('at level debug every decision is logged, with who asked for what', async () => {
  const { gate, alice, worker, send, decisions } = await open('debug')
  const { task_id } = await gate.createTask(agent('bob'), { type: 'job', payload: {} })
  expect(await send(alice, '/v1/tasks')).toBe(200)
  expect(await send(alice, `/v1/tasks/${task_id}`)).toBe(403)
  expect(await send(worker, '/v1/tasks', { type: 'job', payload: {} })).toBe(403)
  expect(await send(alice, '/v1/tasks', { type: 7 })).toBe(400)
  expect(await send(alice, '/mcp', toolCall('asyncgate_list_tasks'))).toBe(200)
  expect(await send('aga_wrong', '/v1/tasks')).toBe(401)
  const known = { tenant: 'default', request_id: 'r-1', key_id: expect.any(String) }
  const ofAlice = { ...known, principal: 'agent:alice', role: 'agent' }
  const ofWorker = { ...known, principal: 'worker:w1', role: 'worker' }
  expect(decisions()).toMatchObject([
    { principal: 'agent:bob', operation: 'create_task', permission: 'create', decision: 'allowed' },
    { ...ofAlice, operation: 'list_tasks', permission: 'list', decision: 'allowed' },
    {
      ...ofAlice,
      operation: 'get_task',
      permission: 'read',
      decision: 'refused',
      reason: expect.any(String),
    },
    { ...ofWorker, operation: 'create_task', permission: 'create', decision: 'refused' },
    { ...ofAlice, operation: 'create_task', decision: 'allowed' },
    { ...ofAlice, operation: 'list_tasks', decision: 'allowed' },
  ])
})

it('calls that are no operations are logged too', async () => {
  const { gate, alice, worker, send, decisions } = await open('debug')
  const { task_id } = await gate.createTask(agent('alice'), { type: 'job', payload: {} })
  await send(alice, `/v1/tasks/${task_id}/result`)
  expect(await send(worker, `/v1/tasks/${task_id}/result`)).toBe(403)
  expect(decisions().slice(1)).toMatchObject([
    { principal: 'agent:alice', operation: 'open_result', permission: 'read', decision: 'allowed' },
    { principal: 'worker:w1', operation: 'open_result', permission: 'read', decision: 'refused' },
  ])
})

it('other levels do not log decisions', async () => {
  const { alice, send, decisions } = await open('info')
  expect(await send(alice, '/v1/tasks')).toBe(200)
  expect(decisions()).toEqual([])
})
