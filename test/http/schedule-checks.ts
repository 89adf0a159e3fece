import { expect } from 'vitest'
import { heldTask, ROOT, type Served } from './support.ts'

const ALICE = { principal_id: 'alice' }
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/)

/** A schedule of alice that a worker has recorded. */
async function recorded(served: Served) {
  const payload = { name: 'often', mode: 'interval', interval_seconds: 60, task_template: { type: 'tick' } }
  const held = await heldTask(served, { type: 'schedule.create', payload })
  await served.post(`/v1/schedules/${held.task_id}/record`, { ...held, event: 'created' })
  await served.post(`/v1/tasks/${held.task_id}/complete`, { ...held, result: {} })
  return held.task_id
}

/** The operations on schedules. */
export const scheduleChecks = {
  async record_schedule(served: Served) {
    const held = await heldTask(served)
    const answer = await served.post(`/v1/schedules/${held.task_id}/record`, {
      ...held,
      event: 'created',
      schedule: { name: 'nightly' },
    })
    expect(answer).toMatchObject({ status: 200, body: { ok: true, receipt_id: ID } })
  },

  async run_schedule(served: Served) {
    const payload = { name: 'often', mode: 'interval', interval_seconds: 1, task_template: { type: 'tick' } }
    const held = await heldTask(served, { type: 'schedule.create', payload })
    await served.post(`/v1/schedules/${held.task_id}/record`, { ...held, event: 'created' })
    const { body } = await served.get(`/v1/tasks/${held.task_id}`, ALICE)
    const run_at = new Date(Date.parse(String(body.created_at)) + 1000).toISOString()
    const answer = await served.post(`/v1/schedules/${held.task_id}/run`, {
      worker_id: held.worker_id,
      run_at,
    })
    expect(answer).toMatchObject({ status: 200, body: { status: 'queued', is_duplicate: false } })
  },

  async report_stale_schedule(served: Served) {
    const held = await heldTask(served)
    await served.post(`/v1/schedules/${held.task_id}/record`, { ...held, event: 'created' })
    const answer = await served.post(`/v1/schedules/${held.task_id}/stale`, {
      worker_id: held.worker_id,
      next_run_at: '2020-01-01T00:00:00.000Z',
      reason: 'QUOTA_EXCEEDED',
    })
    expect(answer).toMatchObject({ status: 200, body: { ok: true, receipt_id: ID } })
  },

  async list_schedules(served: Served) {
    const schedule_id = await recorded(served)
    expect(await served.get('/v1/schedules', ALICE)).toMatchObject({
      status: 200,
      body: { schedules: [{ schedule_id, name: 'often', when: 'every minute' }], next_cursor: null },
    })
  },

  async get_schedule(served: Served) {
    const schedule_id = await recorded(served)
    expect(await served.get(`/v1/schedules/${schedule_id}`, ALICE)).toMatchObject({
      status: 200,
      body: { schedule_id, next_run_at: TIME, next_runs: Array.from({ length: 5 }, () => TIME) },
    })
  },

  async run_schedule_now(served: Served) {
    const schedule_id = await recorded(served)
    const path = `/v1/schedules/${schedule_id}/run-now`
    const answer = await served.post(path, { ...ROOT, idempotency_key: 'now' })
    expect(answer).toMatchObject({
      status: 200,
      body: { task_id: ID, status: 'queued', is_duplicate: false },
    })
    expect(await served.post(path, { ...ROOT, idempotency_key: 'now' })).toMatchObject({
      body: { task_id: answer.body.task_id, is_duplicate: true },
    })
  },

  async pause_schedule(served: Served) {
    const schedule_id = await recorded(served)
    const answer = await served.post(`/v1/schedules/${schedule_id}/pause`, ROOT)
    expect(answer).toMatchObject({ status: 200, body: { task_id: ID, status: 'queued' } })
  },
}
