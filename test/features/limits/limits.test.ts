import { expect, it, vi } from 'vitest'
import type { Caller, RequestOrigin } from '../../../src/core/principal.ts'
import type { LimitReport, RateLimit } from '../../../src/core/rate-limit.ts'
import { MemoryBuckets } from '../../../src/features/limits/memory-buckets.ts'
import type { RateLimitOptions } from '../../../src/features/limits/rate-limits.ts'
import { admin, agent, describeGates, worker } from '../../support/gates.ts'

const PRINCIPAL: RateLimit = { calls: 2, window_seconds: 60 }

const limited = (principal: RateLimit | null = null): RateLimitOptions => ({
  isEnabled: true,
  global: null,
  tenant: null,
  principal,
  buckets: new MemoryBuckets(() => 0),
})

/** The caller of a new request, with what its response reports. */
function request(caller: Caller): Caller & { reports: LimitReport[] } {
  const reports: LimitReport[] = []
  const origin: RequestOrigin = {
    request_id: null,
    ip: '192.0.2.1',
    user_agent: null,
    forwarded_for: null,
    counted: (report) => reports.push(report),
  }
  return { ...caller, origin, reports }
}

const LIMIT = { code: 'RATE_LIMIT_EXCEEDED' }

describeGates('limits of a tenant', (open, storeName) => {
  it('a tier has the limits of its table, and enterprise has none', async () => {
    const { gate } = await open({ rateLimits: limited(PRINCIPAL) })
    const limitsOf = async (tier: string) => {
      const { rate_limits, quotas } = await gate.setLimits(admin(), { tenant: 'acme', tier })
      const limits = quotas
        .filter(({ quota }) => /leases|receipt_bytes/.test(quota))
        .map(({ limit }) => limit)
      return [...rate_limits.map(({ limit, window }) => `${limit}/${window}`), ...limits]
    }
    expect(await limitsOf('free')).toEqual(['1000/1h', '100/1m', 10, 1024 ** 3])
    expect(await limitsOf('paid')).toEqual(['100000/1h', 100, 10 * 1024 ** 3])
    expect(await limitsOf('enterprise')).toEqual([-1, -1])
  })

  it('tasks above the hourly limit of the tenant are refused', async () => {
    const { gate } = await open({ rateLimits: limited() })
    await gate.setLimits(admin(), { tasks: { calls: 2, window_seconds: 3600 } })
    await gate.createTask(agent(), { type: 'job' })
    const { results } = await gate.createTasks(agent(), { tasks: [{ type: 'a' }, { type: 'b' }] })
    expect(results.map((item) => 'error' in item)).toEqual([false, true])
    await expect(gate.createTask(agent('bob'), { type: 'job' })).rejects.toMatchObject({
      ...LIMIT,
      details: { limit: 2, window: '1h', bucket: 'tenant:default:tasks', retry_after_seconds: 1800 },
    })
  })

  it('what is set for a tenant or a principal replaces the limits of the server', async () => {
    const { gate } = await open({ rateLimits: limited(PRINCIPAL) })
    const own = { calls: 7, window_seconds: 60 }
    await gate.setLimits(admin(), { principal: 'agent:alice', principal_calls: own })
    const alice = request(agent())
    await gate.listTasks(alice)
    expect(alice.reports).toMatchObject([{ limit: 7, standing: { remaining: 6 } }])
    await gate.setLimits(admin(), { principal_calls: { calls: 4, window_seconds: 60 } })
    const bob = request(agent('bob'))
    await gate.listTasks(bob)
    expect(bob.reports).toMatchObject([{ limit: 4, standing: { remaining: 3 } }])
    await gate.setLimits(admin(), { principal: 'agent:alice', principal_calls: null })
    expect(await gate.getLimits(admin())).toMatchObject({ set: { principals: [] } })
  })

  it('a bypass ends the limits of a tenant or a principal until it expires, and is recorded', async () => {
    const { gate } = await open({ rateLimits: limited({ calls: 1, window_seconds: 60 }) })
    const list = (id: string) => gate.listTasks(request(agent(id)))
    await list('alice')
    await expect(list('alice')).rejects.toMatchObject(LIMIT)
    const expires_at = new Date(Date.now() + 600).toISOString()
    const bypass = { reason: 'contract clause 3.2', expires_at }
    await gate.setLimits(admin(), { principal: 'agent:alice', bypass })
    await list('alice')
    await list('bob')
    await expect(list('bob')).rejects.toMatchObject(LIMIT)
    await vi.waitFor(() => expect(list('alice')).rejects.toMatchObject(LIMIT), 5000)
    await gate.setLimits(admin(), { bypass: { reason: 'all' } })
    await list('bob')
    const { events } = await gate.listAudit(admin(), { event: 'rate_limit_bypass_granted' })
    expect(events).toMatchObject([
      { subject: 'default', reason: 'all', principal: 'human:root' },
      {
        subject: 'agent:alice',
        reason: 'contract clause 3.2',
        details: { approved_by: 'human:root', expires_at },
      },
    ])
  })

  it('a principal that ignores refusals gets a stricter limit, and that is recorded', async () => {
    const { gate } = await open({ rateLimits: limited({ calls: 8, window_seconds: 60 }) })
    for (let n = 0; n < 8; n++) await gate.listTasks(request(agent()))
    for (let n = 0; n < 101; n++)
      await expect(gate.listTasks(request(agent()))).rejects.toMatchObject({ details: { limit: 8 } })
    await expect(gate.listTasks(request(agent()))).rejects.toMatchObject({ details: { limit: 2 } })
    await gate.listTasks(request(agent('bob')))
    const { events } = await gate.listAudit(admin(), { event: 'rate_limit_tightened' })
    expect(events).toMatchObject([{ subject: 'agent:alice', details: { calls: 2, window_seconds: 60 } }])
  })

  // A SQLite database has one server.
  it.skipIf(storeName === 'sqlite')('a change is effective on another server within a second', async () => {
    const { gate, another } = await open({ rateLimits: limited() })
    const { gate: other } = await another({ rateLimits: limited() })
    await other.createTask(agent(), { type: 'job' })
    await gate.setLimits(admin(), { quotas: { max_active_tasks: 1 } })
    const started = performance.now()
    await vi.waitFor(
      () =>
        expect(other.createTask(agent(), { type: 'job' })).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' }),
      { timeout: 5000, interval: 50 },
    )
    expect(performance.now() - started).toBeLessThan(1500)
  })

  it('only admins of the tenant default set limits, over the network', async () => {
    const { gate } = await open()
    const remote = request(admin('acme'))
    await expect(gate.setLimits(remote, { tier: 'enterprise' })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(gate.getLimits(remote, { tenant: 'default' })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(await gate.getLimits(remote)).toMatchObject({ tenant_id: 'acme', tier: null })
    await expect(gate.getLimits(agent(), { tenant: 'acme' })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(await gate.getLimits(agent())).toMatchObject({ set: null })
  })

  it('a bypass that has expired already, or a principal without kind, is refused', async () => {
    const { gate } = await open()
    const bypass = { reason: 'x', expires_at: '2020-01-01T00:00:00Z' }
    await expect(gate.setLimits(admin(), { bypass })).rejects.toMatchObject({
      details: { path: 'bypass.expires_at' },
    })
    await expect(gate.setLimits(admin(), { principal: 'alice' })).rejects.toMatchObject({
      details: { path: 'principal' },
    })
  })
})

describeGates('quotas of a tenant', (open, storeName) => {
  const creating = async (create: () => Promise<unknown>, times: number) => {
    const results = await Promise.allSettled(Array.from({ length: times }, create))
    return results.filter(({ status }) => status === 'fulfilled').length
  }

  it('concurrent creates create exactly as many open tasks as the quota of the tenant allows', async () => {
    const { gate, another } = await open()
    await gate.setLimits(admin(), { tenant: 'acme', quotas: { max_active_tasks: 5 } })
    // A SQLite database has one server.
    const gates = storeName === 'sqlite' ? [gate, gate] : [gate, (await another()).gate]
    let n = 0
    const create = () => (gates[n++ % 2] ?? gate).createTask(agent('alice', 'acme'), { type: 'job' })
    expect(await creating(create, 20)).toBe(5)
    expect(await creating(() => gate.createTask(agent(), { type: 'job' }), 20)).toBe(20)
    await expect(create()).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
      details: { quota: 'max_active_tasks', limit: 5 },
    })
  })

  it('no task is created above the quota of ended tasks', async () => {
    const { gate } = await open()
    await gate.setLimits(admin(), { quotas: { max_terminal_tasks: 1 } })
    const { task_id } = await gate.createTask(agent(), { type: 'job' })
    await gate.cancelTask(agent(), { task_id })
    await expect(gate.createTask(agent(), { type: 'job' })).rejects.toMatchObject({
      details: { quota: 'max_terminal_tasks', limit: 1 },
    })
    await gate.setLimits(admin(), { quotas: { max_terminal_tasks: null } })
    await gate.createTask(agent(), { type: 'job' })
  })

  it('no task is created above the quota of receipt bytes, and running work ends normally', async () => {
    const { gate } = await open()
    const { task_id } = await gate.createTask(agent(), { type: 'job' })
    await gate.setLimits(admin(), { quotas: { max_receipt_bytes: 1 } })
    await expect(gate.createTask(agent(), { type: 'job' })).rejects.toMatchObject({
      details: { quota: 'max_receipt_bytes', limit: 1 },
    })
    const { tasks } = await gate.leaseNext(worker(), { worker_id: 'w1' })
    const lease_id = tasks[0]?.lease_id
    await gate.complete(worker(), { worker_id: 'w1', task_id, lease_id, result: 1 })
    const used = (await gate.getLimits(admin())).quotas.find(({ quota }) => quota === 'max_receipt_bytes')
    expect(used?.used).toBeGreaterThan(100)
  })

  it('progress above the quota of receipts of a task is stored without a receipt', async () => {
    const { gate } = await open()
    await gate.setLimits(admin(), { quotas: { max_receipts_per_task: 4 } })
    const { task_id } = await gate.createTask(agent(), { type: 'job' })
    const { tasks } = await gate.leaseNext(worker(), { worker_id: 'w1' })
    const lease = { worker_id: 'w1', task_id, lease_id: tasks[0]?.lease_id }
    for (const percent of [1, 2, 3, 4])
      await gate.reportProgress(worker(), { ...lease, progress: { percent } })
    const { receipts } = await gate.listReceipts(agent(), { task_id })
    expect(receipts.filter(({ receipt_type }) => receipt_type === 'task.progress')).toHaveLength(2)
    const { progress } = await gate.getTaskProgress(agent(), { task_id })
    expect(progress).toHaveLength(4)
  })

  it('a payload quota of the tenant replaces that of the server', async () => {
    const { gate } = await open()
    await gate.setLimits(admin(), { tenant: 'acme', quotas: { max_payload_bytes: 10 } })
    const large = { type: 'job', payload: { text: 'more than ten bytes' } }
    await expect(gate.createTask(agent('alice', 'acme'), large)).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    })
    await gate.createTask(agent(), large)
  })

  it('a lease quota of the tenant limits claims', async () => {
    const { gate } = await open()
    await gate.setLimits(admin(), { quotas: { max_concurrent_leases: 1 } })
    await gate.createTasks(agent(), { tasks: [{ type: 'a' }, { type: 'b' }] })
    const { tasks } = await gate.leaseNext(worker(), { worker_id: 'w1', max_tasks: 2 })
    expect(tasks).toHaveLength(1)
    expect((await gate.leaseNext(worker(), { worker_id: 'w1' })).tasks).toEqual([])
  })

  it('bootstrap warns from nine tenths of a quota on', async () => {
    const { gate } = await open({ settings: { max_active_tasks: 10 } })
    const warnings = async () => (await gate.bootstrap(agent())).warnings
    for (let n = 0; n < 8; n++) await gate.createTask(agent(), { type: 'job' })
    expect(await warnings()).toEqual([])
    await gate.createTask(agent(), { type: 'job' })
    expect(await warnings()).toEqual(['The quota max_active_tasks is nearly used up (9 of 10).'])
    await gate.createTask(agent(), { type: 'job' })
    expect(await warnings()).toEqual([
      'The quota max_active_tasks is used up: new tasks are refused (10 of 10).',
    ])
    await gate.setLimits(admin(), { quotas: { max_active_tasks: 100, max_receipt_bytes: 10 } })
    expect(await warnings()).toEqual([expect.stringContaining('The quota max_receipt_bytes is used up')])
  })
})
