import { expect, it } from 'vitest'
import { admin, describeGates } from '../support/gates.ts'
import { expire } from '../support/steps.ts'
import { createTask, heldTask, type Served, servers } from './support.ts'

const SAMPLE = /^([a-z_]+)(\{(?:[a-z_]+="[^"]*",?)+\})? (-?[\d.e+-]+|Nan)$/i

/** The samples of the Prometheus text format by name and labels. */
async function read({ get }: Pick<Served, 'get'>): Promise<Map<string, number>> {
  const { text, headers } = await get('/metrics')
  expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/)
  const samples = new Map<string, number>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('# HELP ') || line.startsWith('# TYPE ')) continue
    const [, name = '', labels = '', value] = SAMPLE.exec(line) ?? []
    expect(name, line).toMatch(/^asyncgate_/)
    expect(samples.has(name + labels), line).toBe(false)
    samples.set(name + labels, Number(value))
  }
  return samples
}

describeGates('metrics', (open) => {
  const serve = servers(open)

  it('metrics count task changes', async () => {
    const served = await serve()
    const done = await heldTask(served)
    served.clock.advance(3)
    await served.post(`/v1/tasks/${done.task_id}/running`, done)
    const result = { ...done, result: 1 }
    await served.post(`/v1/tasks/${done.task_id}/complete`, result)
    served.clock.advance(1)
    await served.post(`/v1/tasks/${done.task_id}/complete`, { ...result, artifacts: [{ a: 1 }] })
    const failed = await heldTask(served)
    await served.post(`/v1/tasks/${failed.task_id}/fail`, { ...failed, error: { message: 'x' } })
    const canceled = await createTask(served, { type: 'other' })
    await served.post(`/v1/tasks/${canceled}/cancel`, { principal_id: 'alice' })
    await heldTask(served)
    await expire(served.gate, served.clock)
    await createTask(served)
    const samples = await read(served)
    expect(Object.fromEntries(samples)).toMatchObject({
      'asyncgate_tasks_queued_total{type="job"}': 4,
      'asyncgate_tasks_queued_total{type="other"}': 1,
      'asyncgate_tasks_completed_total{type="job"}': 1,
      'asyncgate_tasks_failed_total{type="job"}': 1,
      'asyncgate_tasks_canceled_total{type="other"}': 1,
      asyncgate_lease_expiries_total: 1,
      asyncgate_claim_latency_seconds_count: 3,
      asyncgate_task_duration_seconds_count: 1,
      'asyncgate_receipts_total{receipt_type="task.assigned"}': 5,
      asyncgate_workers_active: 1,
      asyncgate_active_leases: 0,
      'asyncgate_task_queue_depth{status="queued"}': 2,
      'asyncgate_task_queue_depth{status="leased"}': 0,
    })
  })

  it('metrics distinguish tasks that wait for a person from queued ones, and count each task once', async () => {
    const served = await serve()
    for (const kind of ['approval', 'input', 'approval']) {
      const held = await heldTask(served)
      const request = kind === 'approval' ? { title: 'May it?' } : { message: 'Which?' }
      await served.post(`/v1/tasks/${held.task_id}/ask`, { ...held, kind, request })
    }
    const [approval] = (await served.gate.listApprovals(admin())).approvals
    await served.gate.approve(admin(), { task_id: approval?.task_id })
    expect(Object.fromEntries(await read(served))).toMatchObject({
      'asyncgate_tasks_queued_total{type="job"}': 3,
      'asyncgate_task_queue_depth{status="queued"}': 1,
      'asyncgate_task_queue_depth{status="leased"}': 0,
      'asyncgate_task_queue_depth{status="pending_approval"}': 1,
      'asyncgate_task_queue_depth{status="input_required"}': 1,
    })
  })

  it('a parked or delayed task is counted once, when it is created', async () => {
    const served = await serve({ policy: { defaults: { plain: 'REQUIRE_APPROVAL' } } })
    const task_id = await createTask(served, { delay_seconds: 5 })
    expect((await read(served)).get('asyncgate_tasks_queued_total{type="job"}')).toBe(1)
    await served.gate.approve(admin(), { task_id })
    served.clock.advance(5)
    await served.gate.sweep()
    expect((await read(served)).get('asyncgate_tasks_queued_total{type="job"}')).toBe(1)
  })

  it('metrics count leases, requests, batches and waiting requests', async () => {
    const served = await serve()
    await heldTask(served)
    const waiting = served.post('/v1/leases/claim', { worker_id: 'w2', wait_seconds: 30 })
    await served.get('/v1/nothing')
    await served.get('/v1/bootstrap', { agent_id: 'alice' })
    const samples = await read(served)
    expect(Object.fromEntries(samples)).toMatchObject({
      asyncgate_active_leases: 1,
      'asyncgate_task_queue_depth{status="leased"}': 1,
      asyncgate_oldest_pending_task_age_seconds: 0,
      asyncgate_waiting_claims: 1,
      asyncgate_full_rates: 0,
      'asyncgate_workers{state="busy"}': 1,
      'asyncgate_workers{state="idle"}': 1,
      'asyncgate_workers{state="offline"}': 0,
      asyncgate_long_polls: 1,
      asyncgate_event_streams: 0,
      'asyncgate_deprecated_requests_total{route="/v1/bootstrap"}': 1,
      'asyncgate_http_request_duration_seconds_count{method="POST",route="/v1/tasks",status="200"}': 1,
      'asyncgate_http_request_duration_seconds_count{method="GET",route="(unknown)",status="404"}': 1,
    })
    expect(samples.get('asyncgate_batch_size_count')).toBeGreaterThanOrEqual(3)
    expect(samples.get('asyncgate_commit_duration_seconds_count')).toBe(
      samples.get('asyncgate_batch_size_count'),
    )
    expect(samples.get('asyncgate_event_loop_lag_seconds{quantile="0.99"}')).toBeGreaterThanOrEqual(0)
    expect(samples.get('asyncgate_process_resident_memory_bytes')).toBeGreaterThan(1e6)
    await createTask(served)
    await waiting
  })

  it('metrics contain the age of the task at the head of its lane', async () => {
    const served = await serve({ realTime: true })
    await createTask(served, { delay_seconds: 600, type: 'later' })
    const early = await read(served)
    expect(early.get('asyncgate_oldest_pending_task_age_seconds')).toBe(0)
    await createTask(served, { type: 'a' })
    const { created_at } = (
      await served.gate.listTasks({
        tenant: 'default',
        principal: { kind: 'human', id: 'root' },
        role: 'admin',
      })
    ).tasks[0] ?? { created_at: '' }
    await createTask(served, { type: 'b', priority: 5 })
    const before = Date.now()
    const age = (await read(served)).get('asyncgate_oldest_pending_task_age_seconds') ?? -1
    // The clock of the database may differ slightly from that of this process.
    expect(age).toBeGreaterThanOrEqual((before - Date.parse(created_at)) / 1000 - 1)
    expect(age).toBeLessThan(60)
  })

  it('metrics contain no id, name or payload', async () => {
    const served = await serve()
    const held = await heldTask(served, { payload: { secret: 'xyzzy' }, session_id: 'plugh' })
    await served.get(`/v1/tasks/${held.task_id}`, { principal_id: 'alice' })
    const { text } = await served.get('/metrics')
    for (const name of [held.task_id, held.lease_id, 'alice', 'w1', 'xyzzy', 'plugh']) {
      expect(text).not.toContain(name)
    }
  })

  it('types beyond the limit are counted under one label', async () => {
    const served = await serve()
    const tasks = Array.from({ length: 150 }, (_, n) => ({ type: `type-${n}` }))
    await served.post('/v1/tasks/batch', { principal_id: 'alice', tasks })
    const samples = await read(served)
    const types = [...samples.keys()].filter((name) => name.startsWith('asyncgate_tasks_queued_total'))
    expect(types).toHaveLength(101)
    expect(samples.get('asyncgate_tasks_queued_total{type="other"}')).toBe(50)
  })
})
