import { expect, it } from 'vitest'
import { bareCall, contentOf, serveMcp } from '../mcp/endpoint.ts'
import { admin, describeGates, worker } from '../support/gates.ts'
import { KEY, listOf, servers, textOf } from './support.ts'

const ADMIN_KEY = 'the-key-of-anna-for-tests'
const auth = { api_key: KEY, allow_insecure_dev: false, admin_keys: { anna: ADMIN_KEY } }
const shared = { authorization: `Bearer ${KEY}` }
const anna = { authorization: `Bearer ${ADMIN_KEY}` }
const GATE = { principal_kind: 'service', principal_id: 'asyncgate' }
const PAYMENTS = { id: 'large-payments', action: 'REQUIRE_APPROVAL', scope: { type: 'payment.send' } }

describeGates('reserved names', (open) => {
  const serve = () => servers(open)({ auth })

  it('the shared key cannot read the history of the rules under a reserved name', async () => {
    const { gate, get } = await serve()
    await gate.putPolicy(admin(), PAYMENTS)
    const changed = { receipt_type: 'policy.changed' }
    for (const query of [
      GATE,
      { ...GATE, ...changed },
      { to_kind: 'service', to_id: 'asyncgate', ...changed },
    ]) {
      const refused = await get('/v1/receipts', query, shared)
      expect(refused).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
      expect(refused.text).not.toContain('large-payments')
    }
    const { principal_kind, principal_id } = GATE
    const bootstrap = await get('/v1/bootstrap', { principal_kind, principal_id }, shared)
    expect(bootstrap.status).toBe(403)
    const seen = await get('/v1/receipts', { to_kind: 'service', to_id: 'asyncgate', ...changed }, anna)
    expect(listOf(seen, 'receipts')).toHaveLength(1)
  })

  it.each([
    ['/v1/leases/claim', { worker_kind: 'service', worker_id: 'asyncgate' }],
    ['/v1/leases/claim', { worker_id: 'gateway@somewhere' }],
    ['/v1/leases/claim', { worker_kind: 'service', worker_id: 'gateway' }],
    ['/lease', { worker_kind: 'service', worker_id: 'asyncgate.mail' }],
    ['/worker/lease', { worker_kind: 'service', worker_id: 'asyncgate' }],
    ['/workers/lease_task', { worker_id: 'gateway@somewhere' }],
    ['/v1/workers/register', { worker_id: 'asyncgate' }],
    ['/v1/tasks', { type: 'job', ...GATE }],
    ['/v1/tasks', { type: 'job', principal_kind: 'service', principal_id: 'operator' }],
    ['/v1/tasks', { type: 'job', principal_kind: 'service', principal_id: 'approval-webhook' }],
    ['/v1/tasks', { type: 'job', principal_kind: 'system', principal_id: 'anything' }],
  ])('POST %s with %o is refused', async (path, body) => {
    const { post, gate } = await serve()
    await gate.createTask(
      { tenant: 'default', principal: { kind: 'agent', id: 'alice' }, role: 'agent' },
      { type: 'job' },
    )
    expect(await post(path, body, shared)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
  })

  it('reserved names are refused over MCP in arguments and in _meta', async () => {
    const { gate } = await serve()
    const mcp = await serveMcp(gate)
    try {
      const calls = [
        bareCall('asyncgate.lease_next', { worker_kind: 'service', worker_id: 'asyncgate' }),
        bareCall('asyncgate.list_receipts', GATE),
        bareCall('asyncgate.create_task', {
          type: 'job',
          principal_kind: 'service',
          principal_id: 'operator',
        }),
      ]
      for (const call of calls) expect(contentOf(await mcp.post(call))).toMatchObject({ code: 'FORBIDDEN' })
      const meta = { 'io.asyncgate/principal_kind': 'service', 'io.asyncgate/principal_id': 'asyncgate' }
      const params = { name: 'asyncgate.list_tasks', arguments: {}, _meta: meta }
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
      expect(contentOf(await mcp.post({ body }))).toMatchObject({ code: 'FORBIDDEN' })
    } finally {
      await mcp.close()
    }
  })

  it('a worker question under a reserved name does not become a policy question', async () => {
    const { gate, post, get } = await serve()
    await gate.putPolicy(admin(), PAYMENTS)
    const task_id = textOf(await post('/v1/tasks', { type: 'job', agent_id: 'mallory' }, shared), 'task_id')
    // Simulates a caller that was accepted under this name.
    const forged = { ...worker('asyncgate'), principal: { kind: 'service', id: 'asyncgate' } } as const
    const [offer] = (await gate.leaseNext(forged, { worker_id: 'asyncgate', accept_types: ['job'] })).tasks
    const request = { title: 'Approve payment.send?', rule_id: 'large-payments' }
    await gate.ask(forged, {
      worker_id: 'asyncgate',
      task_id,
      lease_id: offer?.lease_id,
      kind: 'approval',
      request,
    })
    expect((await get(`/v1/approvals/${task_id}`, {}, anna)).body).toMatchObject({ origin: 'worker' })
    const remember_until = new Date(Date.now() + 3_600_000).toISOString()
    const refused = await post(`/v1/approvals/${task_id}/approve`, { remember_until }, anna)
    expect(refused).toMatchObject({ status: 400, body: { details: { path: 'remember_until' } } })
    const payment = await post('/v1/tasks', { type: 'payment.send', agent_id: 'mallory' }, shared)
    expect(payment.body).toMatchObject({ status: 'pending_approval' })
    const asked = await get(`/v1/approvals/${textOf(payment, 'task_id')}`, {}, anna)
    expect(asked.body).toMatchObject({ origin: 'policy', asked_by: { kind: 'service', id: 'asyncgate' } })
  })
})
