import { expect, it } from 'vitest'
import { admin, agent, caller, describeGates, worker } from '../../support/gates.ts'
import {
  ask,
  askMany,
  at,
  claim,
  finish,
  hold,
  look,
  openTasks,
  receiptsOf,
  refusal,
} from '../../support/steps.ts'

describeGates('create_task', (open) => {
  it('create_task fills in the defaults', async () => {
    const { gate, clock } = await open()
    const answer = await gate.createTask(agent('alice'), { type: 'job' })
    expect(answer).toEqual({
      task_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: 'queued',
      is_duplicate: false,
      receipt_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      live_workers: 0,
      hint: expect.stringContaining('No worker has served type job'),
    })
    const now = new Date(clock.now).toISOString()
    expect(await gate.getTask(agent('alice'), { task_id: answer.task_id })).toEqual({
      task_id: answer.task_id,
      type: 'job',
      status: 'queued',
      summary: null,
      payload: {},
      hint: answer.hint,
      payload_pointer: `inline://task/${answer.task_id}`,
      body: null,
      inputs: {},
      created_by: { kind: 'agent', id: 'alice' },
      principal_ai: 'alice',
      requirements: { capabilities: [], tags: [] },
      priority: 0,
      attempt: 0,
      max_attempts: 2,
      expiry_count: 0,
      max_expiries: 10,
      retry_backoff_seconds: 15,
      retry: null,
      idempotency_key: null,
      next_eligible_at: null,
      created_at: now,
      updated_at: now,
      worker_id: null,
      started_at: null,
      timeout_seconds: null,
      timeout_at: null,
      deadline_at: null,
      retention_days: null,
      escalation_class: null,
      parent_task_id: null,
      caused_by_receipt_id: null,
      session_id: null,
      labels: {},
      success_criteria: null,
      result_delivery: 'return_payload',
      expected_outcome_kind: null,
      expected_artifact_mime: null,
      asyncgate_instance: 'asyncgate-1',
      question: null,
      policy: null,
    })
  })

  it('create_task stores every field of the input', async () => {
    const { gate } = await open()
    const input = {
      type: 'report',
      principal_ai: 'bob',
      payload: { text: 'Grüße, 世界 🙂', list: [1, 2.5, null, true, { deep: '' }], '': 'empty key' },
      payload_pointer: 's3://bucket/key',
      summary: 'A summary',
      body: 'A body',
      inputs: { a: 1 },
      requirements: { capabilities: ['gpu', 'cuda'], tags: ['slow'] },
      priority: 7,
      idempotency_key: 'key',
      max_attempts: 5,
      max_expiries: 4,
      retry_backoff_seconds: 3,
      retention_days: 9,
      escalation_class: 2,
      success_criteria: 'All tests pass',
      result_delivery: 'store artifact pointer',
      expected_outcome_kind: 'response_text',
      expected_artifact_mime: 'text/plain',
      parent_task_id: 'parent',
      session_id: 'session',
      labels: { team: 'blue' },
    }
    const { task_id } = await gate.createTask(agent('alice'), input)
    expect(await gate.getTask(agent('alice'), { task_id })).toMatchObject(input)
  })

  it('create_task passes every field of the work to the worker', async () => {
    const { gate } = await open()
    const input = { payload: { n: 1 }, summary: 'S', body: 'B', inputs: { i: 1 }, idempotency_key: 'key' }
    const offer = await hold(gate, {
      ...input,
      parent_task_id: 'p',
      principal_ai: 'bob',
      timeout_seconds: 60,
    })
    const { idempotency_key, ...shown } = input
    expect(offer).toMatchObject({
      ...shown,
      type: 'job',
      attempt: 0,
      max_attempts: 2,
      principal_ai: 'bob',
      timeout_seconds: 60,
      provenance: { parent_task_id: 'p', caused_by_receipt_id: null, dedupe_key: idempotency_key },
    })
  })

  it('success criteria and result delivery reach the worker and the ledger', async () => {
    const { gate } = await open()
    const asked = { success_criteria: 'All tests pass', result_delivery: 'store artifact pointer' }
    const offer = await hold(gate, { ...asked, expected_outcome_kind: 'mixed' }, { expected_duration: 90 })
    expect(offer).toMatchObject(asked)
    const [assigned, accepted] = await receiptsOf(gate, offer)
    expect(assigned?.body).toMatchObject(asked)
    expect(accepted).toMatchObject({
      receipt_type: 'task.accepted',
      body: { expected_duration: 90, worker_capabilities: [] },
    })
    const plain = await hold(gate)
    expect(plain).toMatchObject({ success_criteria: null, result_delivery: 'return_payload' })
    const bodies = (await receiptsOf(gate, plain)).map(({ body }) => body)
    expect(bodies).toMatchObject([
      { success_criteria: null, result_delivery: 'return_payload' },
      { expected_duration: null },
    ])
    for (const input of [{ success_criteria: '' }, { result_delivery: 7 }]) {
      expect(await refusal(ask(gate, input))).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path: Object.keys(input)[0] },
      })
    }
    const wrong = gate.leaseNext(worker(), { worker_id: 'w1', expected_duration: -1 })
    expect(await refusal(wrong)).toMatchObject({ details: { path: 'expected_duration' } })
  })

  it('create_task writes one task.assigned to the owner and opens one obligation', async () => {
    const { gate } = await open()
    const task = await ask(gate, { summary: 'Do it', timeout_seconds: 9 })
    expect(await receiptsOf(gate, task)).toEqual([
      expect.objectContaining({
        receipt_id: task.receipt_id,
        receipt_type: 'task.assigned',
        from: { kind: 'service', id: 'asyncgate' },
        to: { kind: 'agent', id: 'alice' },
        parents: [],
        lease_id: null,
        body: expect.objectContaining({
          instructions: 'Do it',
          timeouts: { execution: 9 },
          schema_version: '1',
        }),
      }),
    ])
    expect(await openTasks(gate)).toEqual([task.task_id])
  })

  it('create_task acts for a caller of any kind unless principal_ai names an agent', async () => {
    const { gate } = await open()
    const system = caller('service', 'cron', 'system')
    const own = await gate.createTask(system, { type: 'job' })
    expect(await look(gate, own)).toMatchObject({
      created_by: { kind: 'service', id: 'cron' },
      principal_ai: 'cron',
    })
    const other = await gate.createTask(system, { type: 'job', principal_ai: 'alice' })
    expect(await look(gate, other)).toMatchObject({ principal_ai: 'alice' })
  })

  it('create_tasks creates many in order, each with its own outcome', async () => {
    const { gate } = await open()
    const tasks = Array.from({ length: 200 }, (_, n) =>
      n % 50 === 7 ? { n } : { type: 'job', payload: { n } },
    )
    const { results } = await gate.createTasks(agent(), { tasks })
    expect(results).toHaveLength(200)
    for (const [n, result] of results.entries()) {
      if (n % 50 === 7) expect(result).toMatchObject({ code: 'VALIDATION_ERROR', error: 'validation_error' })
      else if ('task_id' in result) expect(await look(gate, result)).toMatchObject({ payload: { n } })
      else expect.unreachable()
    }
    expect(await claim(gate, { max_tasks: 100 })).toHaveLength(100)
    expect(await claim(gate, { max_tasks: 100 })).toHaveLength(96)
  })

  it('create_tasks refuses an empty list and more than a thousand tasks', async () => {
    const { gate } = await open()
    const tasks = Array.from({ length: 1001 }, () => ({ type: 'job' }))
    for (const wrong of [{ tasks: [] }, { tasks }, {}]) {
      expect(await refusal(gate.createTasks(agent(), wrong))).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path: 'tasks' },
      })
    }
    expect((await gate.listTasks(admin())).tasks).toEqual([])
  })
})

describeGates('caused_by_receipt_id', (open) => {
  it('caused_by_receipt_id becomes the parent of the assignment', async () => {
    const { gate } = await open()
    const first = await hold(gate)
    const { receipt_id } = await finish(gate, first)
    const next = await ask(gate, { caused_by_receipt_id: receipt_id })
    expect(await look(gate, next)).toMatchObject({ caused_by_receipt_id: receipt_id })
    expect(at(await receiptsOf(gate, next), 0).parents).toEqual([receipt_id])
  })

  it('caused_by_receipt_id is refused when the tenant has no such receipt', async () => {
    const { gate } = await open()
    const mine = await ask(gate)
    const theirs = await ask(gate, {}, agent('alice', 'other'))
    const later = mine.receipt_id.replace(/^.{18}/, '00000000-0000-8fff')
    for (const caused_by_receipt_id of [later, theirs.receipt_id, 'nonsense', mine.task_id]) {
      expect(await refusal(ask(gate, { caused_by_receipt_id }))).toMatchObject({
        code: 'PARENT_NOT_FOUND',
        details: { caused_by_receipt_id },
      })
    }
    expect(await openTasks(gate)).toEqual([mine.task_id])
  })
})

describeGates('quota of open tasks', (open) => {
  const settings = { max_active_tasks: 5 }

  it('the quota of open tasks is exact, also within one batch', async () => {
    const { gate } = await open({ settings })
    const tasks = Array.from({ length: 12 }, () => ({ type: 'job' }))
    const { results } = await gate.createTasks(agent(), { tasks })
    expect(results.filter((result) => 'task_id' in result)).toHaveLength(5)
    expect(results.slice(5)).toEqual(
      Array(7).fill(
        expect.objectContaining({
          code: 'QUOTA_EXCEEDED',
          retryable: true,
          details: { quota: 'max_active_tasks', limit: 5 },
        }),
      ),
    )
    expect(await openTasks(gate)).toHaveLength(5)
  })

  it('the quota counts queued, leased and running tasks and is freed by ended ones', async () => {
    const { gate } = await open({ settings })
    const [first = ''] = await askMany(gate, 5)
    const [one, two] = await claim(gate, { max_tasks: 2 })
    expect(await refusal(ask(gate))).toMatchObject({ code: 'QUOTA_EXCEEDED' })
    if (one && two) {
      await finish(gate, one)
      await gate.releaseLease(worker(), { worker_id: 'w1', task_id: two.task_id, lease_id: two.lease_id })
    }
    await ask(gate)
    expect(await refusal(ask(gate))).toMatchObject({ code: 'QUOTA_EXCEEDED' })
    expect(first).toBe(one?.task_id)
    await gate.cancelTask(agent(), { task_id: two?.task_id })
    await ask(gate)
  })

  it('the quota does not block a repeated create', async () => {
    const { gate } = await open({ settings: { max_active_tasks: 1 } })
    const task = await ask(gate, { idempotency_key: 'k' })
    expect(await ask(gate, { idempotency_key: 'k' })).toMatchObject({
      task_id: task.task_id,
      is_duplicate: true,
    })
  })

  it('a quota of zero refuses every task, and each tenant has its own quota', async () => {
    const { gate } = await open({ settings: { max_active_tasks: 1 } })
    await ask(gate)
    await ask(gate, {}, agent('alice', 'other'))
    expect(await refusal(ask(gate))).toMatchObject({ code: 'QUOTA_EXCEEDED' })
    const { gate: closed } = await open({ settings: { max_active_tasks: 0 } })
    expect(await refusal(ask(closed))).toMatchObject({ code: 'QUOTA_EXCEEDED' })
  })
})
