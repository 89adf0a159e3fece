import { expect } from 'vitest'
import { FakeSessions } from '../support/fake-sessions.ts'
import { ROOT, type Served } from './support.ts'

const BOB = { agent_id: 'bob' }

async function withSessions(served: Served): Promise<Served> {
  FakeSessions.at(served.gate, (await served.store.tenant('default')).tenant)
  return served
}

/** The operations on sessions. */
export const sessionChecks = {
  async list_sessions(served: Served) {
    const { get } = await withSessions(served)
    const answer = await get('/v1/sessions', BOB)
    expect(answer).toMatchObject({ status: 200, body: { sessions: [{ session_id: 'bobs', running: 1 }] } })
  },

  async get_session(served: Served) {
    const { get, post } = await withSessions(served)
    await post('/v1/tasks', { ...BOB, type: 'job', session_id: 'bobs' })
    await post('/v1/tasks', { agent_id: 'alice', type: 'job', session_id: 'bobs' })
    expect(await get('/v1/sessions/bobs', BOB)).toMatchObject({
      status: 200,
      body: { session_id: 'bobs', counts: { queued: 1, running: 0, succeeded: 0, more: false } },
    })
    expect(await get('/v1/sessions/none', BOB)).toMatchObject({
      status: 404,
      body: { code: 'SESSION_NOT_FOUND', details: { session_id: 'none' } },
    })
  },

  async set_session(served: Served) {
    const { post } = await withSessions(served)
    const answer = await post('/v1/sessions/bobs', { ...ROOT, workers: 5 })
    expect(answer).toMatchObject({ status: 200, body: { session_id: 'bobs', workers: 5, queue: 100 } })
  },

  async end_session(served: Served) {
    const { post } = await withSessions(served)
    const answer = await post('/v1/sessions/bobs/end', { ...BOB, mode: 'run' })
    expect(answer).toMatchObject({ status: 200, body: { session_id: 'bobs', ended: true, canceled: 0 } })
  },
}
