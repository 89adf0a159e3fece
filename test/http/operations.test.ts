import { expect, it } from 'vitest'
import { OPERATIONS } from '../../src/features/catalogue.ts'
import { describeGates } from '../support/gates.ts'
import { auditChecks } from './audit-checks.ts'
import { bulkChecks } from './bulk-checks.ts'
import { emailChecks, MAILING } from './email-checks.ts'
import { identityChecks } from './identity-checks.ts'
import { keyChecks } from './key-checks.ts'
import { limitsChecks } from './limits-checks.ts'
import { oauthChecks } from './oauth-checks.ts'
import { overviewChecks } from './overview-checks.ts'
import { policyChecks } from './policy-checks.ts'
import { privacyChecks } from './privacy-checks.ts'
import { questionChecks } from './question-checks.ts'
import { registryChecks } from './registry-checks.ts'
import { retentionChecks } from './retention-checks.ts'
import { scheduleChecks } from './schedule-checks.ts'
import { sessionChecks } from './session-checks.ts'
import { createTask, heldTask, listOf, type Served, servers, textOf } from './support.ts'
import { openUpstreams, upstreamChecks } from './upstream-checks.ts'
import { usageChecks } from './usage-checks.ts'

const ALICE = { principal_id: 'alice' }
const ARTIFACTS = [{ url: 'https://results.example/1.json' }]
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/)

/** The REST call of each operation and its expected response. */
type Check = (served: Served) => Promise<void>

const CHECKS: Readonly<Record<string, Check>> = {
  async create_task({ post }) {
    const answer = await post('/v1/tasks', {
      ...ALICE,
      type: 'job',
      principal_ai: 'alice',
      payload: { n: 1 },
      payload_pointer: 'depot://1',
      summary: 'one',
      body: 'long',
      inputs: { language: 'python' },
      requirements: { capabilities: ['python'], tags: ['fast'] },
      priority: 3,
      idempotency_key: 'k1',
      max_attempts: 3,
      max_expiries: 4,
      retry_backoff_seconds: 5,
      delay_seconds: 0,
      timeout_seconds: 60,
      expected_outcome_kind: 'artifact_pointer',
      expected_artifact_mime: 'text/plain',
      session_id: 's1',
      labels: { team: 'search' },
    })
    expect(answer).toMatchObject({
      status: 200,
      body: { task_id: ID, status: 'queued', is_duplicate: false, receipt_id: ID },
    })
  },

  async create_tasks({ post }) {
    const answer = await post('/v1/tasks/batch', { ...ALICE, tasks: [{ type: 'a' }, { kind: 'b' }] })
    expect(answer.status).toBe(200)
    expect(listOf(answer, 'results')).toMatchObject([
      { task_id: ID, status: 'queued' },
      { error: 'validation_error', code: 'VALIDATION_ERROR', retryable: false },
    ])
  },

  async get_task(served) {
    const task_id = await createTask(served, { labels: { a: 'b' } })
    expect(await served.get(`/v1/tasks/${task_id}`, ALICE)).toMatchObject({
      status: 200,
      body: {
        task_id,
        type: 'job',
        status: 'queued',
        created_by: { kind: 'agent', id: 'alice' },
        principal_ai: 'alice',
        labels: { a: 'b' },
        created_at: TIME,
      },
    })
  },

  async get_task_progress(served) {
    const held = await heldTask(served)
    await served.post(`/v1/tasks/${held.task_id}/progress`, { ...held, progress: { percent: 5 } })
    const answer = await served.get(`/v1/tasks/${held.task_id}/progress`, ALICE)
    expect(listOf(answer, 'progress')).toMatchObject([{ percent: 5, updated_at: TIME }])
  },

  async append_logs(served) {
    const held = await heldTask(served)
    const lines = [{ text: 'begun' }, { level: 'warn', text: 'slow', context: { ms: 900 } }]
    expect(await served.post(`/v1/tasks/${held.task_id}/logs`, { ...held, lines })).toMatchObject({
      status: 200,
      body: { ok: true, accepted: 2, dropped: 0 },
    })
  },

  async list_logs(served) {
    const held = await heldTask(served)
    await served.post(`/v1/tasks/${held.task_id}/logs`, { ...held, lines: [{ text: 'a' }, { text: 'b' }] })
    const path = `/v1/tasks/${held.task_id}/logs`
    const first = await served.get(path, { ...ALICE, limit: 1 })
    expect(listOf(first, 'lines')).toEqual([{ at: TIME, level: 'info', text: 'a' }])
    const second = await served.get(path, { ...ALICE, limit: 1, cursor: first.body.next_cursor })
    expect(listOf(second, 'lines')).toEqual([{ at: TIME, level: 'info', text: 'b' }])
    expect(second.body.next_cursor).toBeNull()
  },

  async list_children(served) {
    const task_id = await createTask(served)
    const made = await served.post('/v1/tasks', { ...ALICE, type: 'part', parent_task_id: task_id })
    const page = await served.get(`/v1/tasks/${task_id}/children`, ALICE)
    expect(page.body).toEqual({
      children: [
        {
          task_id: made.body.task_id,
          type: 'part',
          status: 'queued',
          created_by: { kind: 'agent', id: 'alice' },
        },
      ],
      counts: { total: 1, done: 0, failed: 0 },
      next_cursor: null,
    })
  },

  async get_task_tree(served) {
    const task_id = await createTask(served)
    await served.post('/v1/tasks', { ...ALICE, type: 'part', parent_task_id: task_id })
    const tree = await served.get(`/v1/tasks/${task_id}/tree`, ALICE)
    expect(listOf(tree, 'tasks')).toMatchObject([
      { task_id, depth: 0, parent_task_id: null, children: { total: 1, done: 0, failed: 0 } },
      { type: 'part', depth: 1, parent_task_id: task_id, children: { total: 0, done: 0, failed: 0 } },
    ])
  },

  async wait_for_task(served) {
    const task_id = await createTask(served)
    expect(await served.get(`/v1/tasks/${task_id}/wait`, { ...ALICE, wait_seconds: 0.01 })).toMatchObject({
      status: 200,
      body: { task_id, status: 'queued', done: false, next_check_after_seconds: 1 },
    })
    const waiting = served.get(`/v1/tasks/${task_id}/wait`, { ...ALICE, wait_seconds: 30 })
    await served.post(`/v1/tasks/${task_id}/cancel`, ALICE)
    expect(await waiting).toMatchObject({ body: { done: true, status: 'canceled' } })
  },

  async list_tasks(served) {
    const first = await createTask(served, { session_id: 's1', labels: { team: 'search', n: '1' } })
    const second = await createTask(served, { session_id: 's1', labels: { team: 'search', n: '2' } })
    await createTask(served, { session_id: 's2' })
    const ids = async (query: object) => {
      const answer = await served.get('/v1/tasks', { ...ALICE, ...query })
      return listOf(answer, 'tasks').map((task) => task.task_id)
    }
    expect(await ids({ session_id: 's1' })).toEqual([second, first])
    expect(await ids({ 'label.team': 'search' })).toEqual([second, first])
    expect(await ids({ 'label.team': 'search', 'label.n': '1' })).toEqual([first])
    expect(await ids({ status: 'queued', type: 'job', created_by: 'agent:alice' })).toHaveLength(3)
    const page = await served.get('/v1/tasks', { ...ALICE, limit: 2 })
    expect(listOf(page, 'tasks')).toHaveLength(2)
    expect(await ids({ limit: 2, cursor: textOf(page, 'next_cursor') })).toEqual([first])
  },

  async count_tasks(served) {
    await createTask(served, { session_id: 's1', labels: { team: 'search' } })
    await createTask(served, { session_id: 's2' })
    const canceled = await createTask(served, { session_id: 's2' })
    await served.post(`/v1/tasks/${canceled}/cancel`, ALICE)
    const counted = (query: object) => served.get('/v1/tasks/counts', { ...ALICE, ...query })
    expect(await counted({})).toMatchObject({ status: 200, body: { queued: 2, canceled: 1, more: false } })
    expect(await counted({ session_id: 's2' })).toMatchObject({ body: { queued: 1, canceled: 1 } })
    expect(await counted({ 'label.team': 'search' })).toMatchObject({ body: { queued: 1, canceled: 0 } })
    expect(await counted({ status: 'queued' })).toMatchObject({ status: 400 })
  },

  async cancel_task(served) {
    const task_id = await createTask(served)
    const answer = await served.post(`/v1/tasks/${task_id}/cancel`, { ...ALICE, reason: 'enough' })
    expect(answer).toMatchObject({ status: 200, body: { ok: true, status: 'canceled' } })
  },

  async cancel_tasks(served) {
    await createTask(served, { session_id: 's1' })
    const other = await createTask(served)
    const cancel = (filter: object) => served.post('/v1/tasks/cancel', { ...ALICE, ...filter })
    expect(await cancel({ session_id: 's1' })).toMatchObject({ status: 200, body: { count: 1, more: false } })
    expect(await cancel({ task_ids: [other] })).toMatchObject({ body: { count: 1, more: false } })
  },

  async retry_task(served) {
    const task_id = await createTask(served)
    await served.post(`/v1/tasks/${task_id}/cancel`, ALICE)
    const answer = await served.post(`/v1/tasks/${task_id}/retry`, ALICE)
    expect(answer).toMatchObject({ status: 200, body: { task_id: ID, status: 'queued' } })
    const task = await served.get(`/v1/tasks/${textOf(answer, 'task_id')}`, ALICE)
    expect(task.body.caused_by_receipt_id).toEqual(ID)
  },

  async fetch_task_result(served) {
    const { task_id, ...held } = await heldTask(served)
    await served.post(`/v1/tasks/${task_id}/complete`, { ...held, result: { text: 'fertig' } })
    const fetch = (query: object = {}) =>
      served.get(`/v1/tasks/${task_id}/result/content`, { ...ALICE, ...query })
    const whole = { content: { text: 'fertig' }, encoding: 'json', channel: 'inline', checksum_valid: true }
    expect(await fetch()).toMatchObject({ status: 200, body: { task_id, ...whole, next_offset: null } })
    expect(await fetch({ offset: 2, length: 4 })).toMatchObject({
      body: { content: 'text', encoding: 'text', next_offset: 6, metadata: { completed_at: TIME } },
    })
  },

  async archive_task_result(served) {
    const { task_id, ...held } = await heldTask(served)
    await served.post(`/v1/tasks/${task_id}/complete`, { ...held, result: 1 })
    const answer = await served.post(`/v1/tasks/${task_id}/result/archive`, ALICE)
    expect(answer).toMatchObject({
      status: 200,
      body: { ok: true, task_id, archived: 0, archived_at: TIME, result_removed: false },
    })
  },

  async promote_task_result(served) {
    const { task_id } = await finishedTask(served)
    const answer = await served.post(`/v1/tasks/${task_id}/result/promote`, { ...ALICE, purge: true })
    expect(answer).toMatchObject({
      status: 200,
      body: { memory_id: 'm1', promoted_at: TIME, is_archived: true, is_purged: false },
    })
  },

  async bootstrap(served) {
    await createTask(served)
    const answer = await served.get('/v1/bootstrap', { agent_id: 'alice', max_items: 5 })
    expect(answer).toMatchObject({
      status: 200,
      headers: {
        'x-asyncgate-deprecated': 'true',
        deprecation: 'true',
        link: '</v1/obligations/open>; rel="successor-version"',
      },
      body: {
        server: { name: 'AsyncGate' },
        relationship: { principal_id: 'alice', sessions_count: 1 },
        attention: { assigned_tasks: [{ type: 'job' }] },
        cursor: {},
      },
    })
  },

  async list_open_obligations(served) {
    const task_id = await createTask(served)
    const answer = await served.get('/v1/obligations/open', { ...ALICE, principal_kind: 'agent', limit: 10 })
    expect(Object.keys(answer.body).toSorted()).toEqual([
      'cursor',
      'open_obligations',
      'relationship',
      'server',
    ])
    expect(listOf(answer, 'open_obligations')).toMatchObject([{ task_id, receipt_type: 'task.assigned' }])
  },

  async check_terminator(served) {
    const { receipt_id } = await assigned(served)
    expect(await served.get(`/v1/receipts/${receipt_id}/terminator`, ALICE)).toMatchObject({
      status: 200,
      body: { has_terminator: false },
    })
  },

  async list_receipts(served) {
    const { task_id, receipt_id } = await assigned(served)
    const query = { to_kind: 'agent', to_id: 'alice', task_id, receipt_type: 'task.assigned', limit: 5 }
    const answer = await served.get('/v1/receipts', { ...ALICE, ...query })
    expect(listOf(answer, 'receipts')).toMatchObject([{ receipt_id, seq: 1, hash: expect.any(String) }])
    expect(answer.body.next_cursor).toBeNull()
    const after = await served.get('/v1/receipts', { ...ALICE, since_receipt_id: receipt_id })
    expect(listOf(after, 'receipts')).toEqual([])
  },

  async get_receipt(served) {
    const { receipt_id, task_id } = await assigned(served)
    expect(await served.get(`/v1/receipts/${receipt_id}`, ALICE)).toMatchObject({
      status: 200,
      body: { receipt_id, task_id, to: { kind: 'agent', id: 'alice' }, parents: [] },
    })
  },

  async get_receipt_proof(served) {
    const { receipt_id } = await assigned(served)
    const { status, body } = await served.get(`/v1/receipts/${receipt_id}/proof`, ALICE)
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { receipt_id, proof: expect.stringMatching(/^c2sp\.org\/tlog-proof@v1\nindex 0\n/) },
    })
  },

  async get_checkpoint(served) {
    await assigned(served)
    const query = { ...ALICE, from_size: 1 }
    expect(await served.get('/v1/ledger/checkpoint', query)).toMatchObject({
      status: 200,
      body: { size: 1, consistency: [], checkpoint: expect.stringContaining('/default\n1\n') },
    })
  },

  async list_receipts_ledger(served) {
    const { task_id } = await assigned(served)
    const answer = await served.get('/v1/receipts/ledger', { ...ALICE, task_id, limit: 5 })
    expect(listOf(answer, 'receipts')).toMatchObject([{ task_id, phase: 'accepted' }])
  },

  async ack_receipt(served) {
    const { receipt_id } = await assigned(served)
    expect(await served.post(`/v1/receipts/${receipt_id}/ack`, ALICE)).toMatchObject({
      status: 200,
      body: { ok: true, receipt_id: ID },
    })
  },

  async list_inbox(served) {
    const held = await finishedTask(served)
    const answer = await served.get('/v1/inbox', { ...ALICE, state: 'all', order: 'newest', limit: 5 })
    expect(answer).toMatchObject({ status: 200, body: { next_cursor: null } })
    expect(listOf(answer, 'items')).toMatchObject([
      {
        receipt_id: ID,
        receipt_type: 'task.result_ready',
        task_id: held.task_id,
        type: 'job',
        summary: 'job: succeeded',
        status: 'succeeded',
        state: 'delivered',
        created_at: TIME,
        delivered_at: TIME,
        delivery_count: 1,
        read_at: null,
        fetched_at: null,
        promoted_at: null,
        archived_at: null,
      },
    ])
  },

  async mark_inbox(served) {
    const { task_id } = await finishedTask(served)
    const answer = await served.post('/v1/inbox/mark', { ...ALICE, task_ids: [task_id], as: 'archived' })
    expect(answer).toMatchObject({ status: 200, body: { ok: true } })
    expect(listOf(answer, 'items')).toMatchObject([{ receipt_id: ID, state: 'archived', archived_at: TIME }])
  },

  async inbox_stats(served) {
    await finishedTask(served)
    expect(await served.get('/v1/inbox/stats', { ...ALICE, days: 30 })).toMatchObject({
      status: 200,
      body: {
        days: 30,
        items: 1,
        is_complete: true,
        states: { unread: 1, delivered: 0, read: 0, fetched: 0, promoted: 0, archived: 0 },
        delivered_unread: 0,
        fetched_not_promoted: 0,
        redelivered: 0,
        average_seconds_to_fetch: null,
        promotion_rate: 0,
      },
    })
  },

  async lease_next(served) {
    const task_id = await createTask(served, { payload: { n: 1 }, requirements: { capabilities: ['x'] } })
    const answer = await served.post('/v1/leases/claim', {
      worker_id: 'w1',
      worker_kind: 'worker',
      worker_instance_id: 'i1',
      capabilities: ['x', 'y'],
      accept_types: ['job'],
      preferred_types: ['job'],
      max_tasks: 5,
      lease_ttl_seconds: 60,
      wait_seconds: 1,
    })
    expect(answer.status).toBe(200)
    expect(listOf(answer, 'tasks')).toMatchObject([
      {
        task_id,
        lease_id: ID,
        fence: 1,
        type: 'job',
        payload: { n: 1 },
        payload_pointer: `inline://task/${task_id}`,
        principal_ai: 'alice',
        attempt: 0,
        expires_at: TIME,
        expires_in_ms: 60_000,
        requirements: { capabilities: ['x'], tags: [] },
        provenance: { dedupe_key: null },
      },
    ])
    const empty = await served.post('/v1/leases/claim', { worker_id: 'w1' })
    expect(empty).toMatchObject({ status: 200, body: { tasks: [] } })
  },

  async start_task(served) {
    const { task_id, ...held } = await heldTask(served)
    expect(await served.post(`/v1/tasks/${task_id}/running`, held)).toMatchObject({
      status: 200,
      body: { ok: true, status: 'running', started_at: TIME },
    })
  },

  async renew_lease(served) {
    const held = await heldTask(served)
    expect(await served.post('/v1/leases/renew', { ...held, extend_by_seconds: 300 })).toMatchObject({
      status: 200,
      body: { ok: true, expires_at: TIME, expires_in_ms: 300_000, renewals_left: 9 },
    })
  },

  async renew_many(served) {
    const held = await heldTask(served)
    const answer = await served.post('/v1/leases/renew_many', {
      worker_id: 'w1',
      items: [held, { ...held, lease_id: 'x' }],
    })
    expect(listOf(answer, 'results')).toMatchObject([{ ok: true }, { code: 'LEASE_INVALID_OR_EXPIRED' }])
    const unnamed = await served.post('/v1/leases/renew_many', { items: [held] })
    expect(listOf(unnamed, 'results')).toMatchObject([{ ok: true, renewals_left: 8 }])
  },

  async report_progress(served) {
    const { task_id, ...held } = await heldTask(served)
    const progress = { percent: 40, message: 'half', rows: 7 }
    const answer = await served.post(`/v1/tasks/${task_id}/progress`, {
      ...held,
      progress,
      extend_by_seconds: 60,
    })
    expect(answer).toMatchObject({ status: 200, body: { ok: true, expires_at: TIME } })
    const task = await served.get(`/v1/tasks/${task_id}`, ALICE)
    expect(task.body).toMatchObject({ status: 'running', progress, lease: { worker_id: 'w1' } })
    expect(task.text).not.toContain(held.lease_id)
  },

  async complete(served) {
    const { task_id, ...held } = await heldTask(served)
    const call = {
      ...held,
      result: { n: 1 },
      artifacts: ARTIFACTS,
      delivery_proof: { mode: 'email', target: 'a@b.example', proof: { message_id: 'm1' } },
      result_summary: 'done',
      completion_metadata: { tokens: 5 },
    }
    const answer = await served.post(`/v1/tasks/${task_id}/complete`, call)
    expect(answer).toMatchObject({
      status: 200,
      body: { ok: true, receipt_id: ID, obligation_open: false },
    })
    expect((await served.post(`/v1/tasks/${task_id}/complete`, call)).body).toEqual(answer.body)
    expect((await served.get(`/v1/tasks/${task_id}`, ALICE)).body).toMatchObject({
      status: 'succeeded',
      result: { outcome: 'succeeded', result: { n: 1 }, artifacts: ARTIFACTS, completed_at: TIME },
    })
  },

  async complete_many(served) {
    const held = await heldTask(served)
    const items = [{ ...held, result: 1, artifacts: ARTIFACTS }, held]
    const answer = await served.post('/v1/tasks/complete', { worker_id: 'w1', items })
    expect(listOf(answer, 'results')).toMatchObject([
      { ok: true, obligation_open: false },
      { code: 'VALIDATION_ERROR', details: { path: 'result' } },
    ])
  },

  async fail(served) {
    const { task_id, ...held } = await heldTask(served)
    const answer = await served.post(`/v1/tasks/${task_id}/fail`, {
      ...held,
      error: { message: 'no luck' },
      retryable: true,
      retry_after_seconds: 30,
    })
    expect(answer).toMatchObject({ status: 200, body: { ok: true, requeued: true, next_eligible_at: TIME } })
  },

  async report_cancel(served) {
    const { task_id, ...held } = await heldTask(served)
    await served.post(`/v1/tasks/${task_id}/cancel`, { ...ALICE, reason: 'enough' })
    const report = (stage: string) => served.post(`/v1/tasks/${task_id}/cancellation`, { ...held, stage })
    expect(await report('acknowledged')).toMatchObject({
      status: 200,
      body: { ok: true, acknowledged_at: TIME, stopped_at: null },
    })
    expect(await report('stopped')).toMatchObject({ body: { acknowledged_at: TIME, stopped_at: TIME } })
    expect((await served.get(`/v1/tasks/${task_id}`, ALICE)).body.cancellation).toMatchObject({
      requested_at: TIME,
      requested_by: { kind: 'agent', id: 'alice' },
      reason: 'enough',
      acknowledged_at: TIME,
      stopped_at: TIME,
    })
  },

  async release_lease(served) {
    const held = await heldTask(served)
    expect(await served.post('/v1/leases/release', held)).toMatchObject({ status: 200, body: { ok: true } })
    expect(listOf(await served.post('/v1/leases/claim', { worker_id: 'w2' }), 'tasks')).toMatchObject([
      { task_id: held.task_id, attempt: 0 },
    ])
  },

  ...scheduleChecks,
  ...emailChecks,
  ...questionChecks,
  ...registryChecks,
  ...upstreamChecks,
  ...sessionChecks,
  ...policyChecks,
  ...keyChecks,
  ...oauthChecks,
  ...identityChecks,
  ...auditChecks,
  ...bulkChecks,
  ...privacyChecks,
  ...usageChecks,
  ...overviewChecks,
  ...retentionChecks,
  ...limitsChecks,

  async get_config({ get }) {
    const answer = await get('/v1/config')
    expect(answer).toMatchObject({
      status: 200,
      body: {
        receipt_mode: 'standalone',
        receiptgate_endpoint: null,
        memorygate_url: null,
        instance_id: expect.any(String),
        capabilities: expect.any(Array),
        version: expect.any(String),
      },
    })
  },

  async health({ get }) {
    for (const path of ['/v1/health', '/health', '/health/ready']) {
      expect(await get(path)).toMatchObject({
        status: 200,
        body: { status: 'healthy', version: expect.any(String), checks: { database: 'ok' } },
      })
    }
  },
}

async function finishedTask(served: Served) {
  const held = await heldTask(served)
  await served.post(`/v1/tasks/${held.task_id}/complete`, { ...held, result: 1, artifacts: ['a'] })
  return held
}

async function assigned(served: Served) {
  const task_id = await createTask(served)
  const [receipt] = listOf(await served.get('/v1/receipts', { ...ALICE, task_id }), 'receipts')
  return { task_id, receipt_id: String(receipt?.receipt_id) }
}

describeGates('operations over REST', (open) => {
  const serve = servers(open)

  it.each(OPERATIONS.map((operation) => [operation.name, operation.rest.method, operation.rest.path]))(
    '%s is %s %s, with the fields of the contract',
    async (name) => {
      const check = CHECKS[name]
      if (check === undefined) throw new Error(`${name} has no check`)
      await check(await serve({ ...MAILING, upstreams: openUpstreams, memory: { store: async () => 'm1' } }))
    },
  )
})
