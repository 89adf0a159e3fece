import { expect } from 'vitest'
import { listOf, ROOT, type Served } from './support.ts'

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const TYPE = { type: 'draw.map', payload_schema: { type: 'object' }, poll_suggestion_seconds: 5 }

const register = ({ post }: Served, input: object = {}) =>
  post('/v1/task-types', { ...ROOT, ...TYPE, ...input })
const claim = ({ post }: Served) => post('/v1/leases/claim', { worker_id: 'w 1' })

/** The operations on task types, workers and agents. */
export const registryChecks = {
  async list_agents(served: Served) {
    await served.post('/v1/tasks', { principal_id: 'alice', type: 'job' })
    const answer = await served.get('/v1/agents', ROOT)
    expect(answer.status).toBe(200)
    expect(listOf(answer, 'agents')).toMatchObject([{ principal: { kind: 'agent', id: 'alice' } }])
  },

  async register_task_type(served: Served) {
    const answer = await register(served, { tool: { name: 'draw_map' } })
    expect(answer).toMatchObject({
      status: 200,
      body: { ...TYPE, enabled: true, default_priority: null, tool: { name: 'draw_map' }, version: 1 },
    })
    expect(answer.body).toMatchObject({ created_at: TIME, updated_at: TIME })
    const created = await served.post('/v1/tasks', { type: 'draw.map', payload: {} })
    expect(created).toMatchObject({ status: 200, body: { poll_suggestion_seconds: 5 } })
  },

  async get_task_type(served: Served) {
    await register(served, { type: 'a/b' })
    expect(await served.get('/v1/task-types/a%2Fb')).toMatchObject({ status: 200, body: { type: 'a/b' } })
  },

  async list_task_types(served: Served) {
    for (const type of ['b', 'a']) await register(served, { type })
    const page = await served.get('/v1/task-types', { limit: 1 })
    expect(page).toMatchObject({ status: 200, body: { task_types: [{ type: 'a' }], next_cursor: 'a' } })
    const rest = await served.get('/v1/task-types', { cursor: 'a' })
    expect(rest.body).toMatchObject({ task_types: [{ type: 'b' }], next_cursor: null })
  },

  async remove_task_type(served: Served) {
    await register(served)
    const answer = await served.post('/v1/task-types/draw.map/remove', ROOT)
    expect(answer).toMatchObject({ status: 200, body: { type: 'draw.map', removed: true } })
  },

  async register_worker({ post, get }: Served) {
    const input = { worker_id: 'w 1', worker_type: 'plotter', capabilities: ['a'], accept_types: ['b'] }
    expect(await post('/v1/workers/register', input)).toMatchObject({
      status: 200,
      body: { ok: true, heartbeat_seconds: 40 },
    })
    expect(listOf(await get('/v1/workers'), 'workers')).toMatchObject([input])
  },

  async worker_heartbeat({ post, get }: Served) {
    expect(await post('/v1/workers/w%201/heartbeat', {})).toMatchObject({ status: 200, body: { ok: true } })
    expect(listOf(await get('/v1/workers'), 'workers')).toMatchObject([{ worker_id: 'w 1', state: 'idle' }])
  },

  async unregister_worker(served: Served) {
    await claim(served)
    expect(await served.post('/v1/workers/w%201/unregister', {})).toMatchObject({
      status: 200,
      body: { ok: true },
    })
    expect(listOf(await served.get('/v1/workers'), 'workers')).toEqual([])
  },

  async list_workers(served: Served) {
    await claim(served)
    const answer = await served.get('/v1/workers', { state: 'idle', limit: 10 })
    expect(answer).toMatchObject({
      status: 200,
      body: {
        workers: [{ worker_id: 'w 1', state: 'idle', drain: false, leased: 0, last_seen_at: TIME }],
        next_cursor: null,
      },
    })
  },

  async drain_worker(served: Served) {
    await claim(served)
    expect(await served.post('/v1/workers/w%201/drain', { ...ROOT, drain: true })).toMatchObject({
      status: 200,
      body: { worker_id: 'w 1', drain: true },
    })
    expect(await claim(served)).toMatchObject({ status: 200, body: { tasks: [], drain: true } })
  },
}
