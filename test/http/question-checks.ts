import { expect } from 'vitest'
import { heldTask, listOf, type Served } from './support.ts'

const ALICE = { principal_id: 'alice' }
const PAUL = { principal_kind: 'human', principal_id: 'paul' }
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/)

async function asking(served: Served, kind: 'approval' | 'input' = 'approval') {
  const held = await heldTask(served)
  const request = kind === 'approval' ? { title: 'Delete it?' } : { message: 'Which?' }
  const answer = await served.post(`/v1/tasks/${held.task_id}/ask`, { ...held, kind, request })
  return { task_id: held.task_id, answer }
}

/** The operations on questions. */
export const questionChecks = {
  async ask(served: Served) {
    const { task_id, answer } = await asking(served)
    expect(answer).toMatchObject({
      status: 200,
      body: { ok: true, task_id, n: 1, status: 'pending_approval', expires_at: null, receipt_id: ID },
    })
  },

  async list_approvals(served: Served) {
    const first = await asking(served)
    const second = await asking(served)
    const page = await served.get('/v1/approvals', { ...PAUL, limit: 1 })
    expect(page).toMatchObject({ status: 200, body: { next_cursor: expect.any(String) } })
    expect(listOf(page, 'approvals')).toMatchObject([{ task_id: first.task_id, n: 1, state: 'open' }])
    const all = await served.get('/v1/approvals', { ...ALICE, state: 'all', type: 'job' })
    expect(listOf(all, 'approvals').map(({ task_id }) => task_id)).toEqual([second.task_id, first.task_id])
  },

  async get_approval(served: Served) {
    const { task_id } = await asking(served)
    expect(await served.get(`/v1/approvals/${task_id}`, { ...PAUL, n: 1 })).toMatchObject({
      status: 200,
      body: {
        task_id,
        n: 1,
        kind: 'approval',
        state: 'open',
        request: { title: 'Delete it?' },
        asked_at: TIME,
        decided_by: null,
        task: { type: 'job', owner: { kind: 'agent', id: 'alice' }, status: 'pending_approval' },
      },
    })
    expect(await served.get(`/v1/approvals/${task_id}`, { ...PAUL, n: 2 })).toMatchObject({
      status: 404,
      body: { code: 'QUESTION_NOT_FOUND' },
    })
  },

  async approve(served: Served) {
    const { task_id } = await asking(served)
    const approve = (fields: object) => served.post(`/v1/approvals/${task_id}/approve`, fields)
    expect(await approve(ALICE)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
    expect(await approve({ ...PAUL, n: 1, comment: 'go', payload: { half: true } })).toMatchObject({
      status: 200,
      body: {
        ok: true,
        task_id,
        n: 1,
        state: 'approved',
        status: 'queued',
        decided_by: { kind: 'human', id: 'paul' },
        decided_at: TIME,
        receipt_id: ID,
      },
    })
    const task = await served.get(`/v1/tasks/${task_id}`, ALICE)
    expect(task).toMatchObject({ body: { status: 'queued', payload: { half: true }, question: null } })
  },

  async deny(served: Served) {
    const { task_id } = await asking(served)
    const answer = await served.post(`/v1/approvals/${task_id}/deny`, { ...PAUL, reason: 'no' })
    expect(answer).toMatchObject({ status: 200, body: { state: 'denied', status: 'canceled' } })
    const other = await served.post(`/v1/approvals/${task_id}/approve`, {
      principal_kind: 'human',
      principal_id: 'eve',
    })
    expect(other).toMatchObject({
      status: 409,
      body: {
        code: 'ALREADY_DECIDED',
        details: { state: 'denied', decided_by: 'human:paul', decided_at: TIME },
      },
    })
  },

  async answer_question(served: Served) {
    const { task_id } = await asking(served, 'input')
    const answer = await served.post(`/v1/tasks/${task_id}/answer`, { ...ALICE, content: { colour: 'red' } })
    expect(answer).toMatchObject({
      status: 200,
      body: { ok: true, n: 1, state: 'answered', status: 'queued' },
    })
    const claimed = await served.post('/v1/leases/claim', { worker_id: 'w2' })
    expect(listOf(claimed, 'tasks')).toMatchObject([
      { task_id, answers: [{ n: 1, kind: 'input', answer: { content: { colour: 'red' } } }] },
    ])
  },
}
