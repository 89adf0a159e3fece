import { expect, it } from 'vitest'
import type { RateLimit } from '../../src/core/rate-limit.ts'
import { MemoryBuckets } from '../../src/features/limits/memory-buckets.ts'
import type { RateLimitOptions } from '../../src/features/limits/rate-limits.ts'
import { describeGates } from '../support/gates.ts'
import { type Answer, createTask, heldTask, servers } from './support.ts'

const START = Date.UTC(2026, 0, 1)

/** Limits that are counted with a clock that only advances on request. */
function limited(limits: Partial<Record<'global' | 'tenant' | 'principal', RateLimit>>) {
  const time = { now: START }
  const rateLimits: RateLimitOptions = {
    isEnabled: true,
    global: null,
    tenant: null,
    principal: null,
    ...limits,
    buckets: new MemoryBuckets(() => time.now),
  }
  return { rateLimits, time }
}

const perMinute = (calls: number): RateLimit => ({ calls, window_seconds: 60 })
const alice = { principal_id: 'alice' }
const bob = { principal_id: 'bob' }

function headersOf({ headers }: Answer) {
  return {
    limit: headers['x-ratelimit-limit'],
    remaining: headers['x-ratelimit-remaining'],
    bucket: headers['x-ratelimit-bucket'],
  }
}

describeGates('rate limits over REST', (open) => {
  const serve = servers(open)

  it('every response reports the limit, and calls above it are refused until time has passed', async () => {
    const { rateLimits, time } = limited({ principal: { calls: 2, window_seconds: 3600 } })
    const { get } = await serve({ rateLimits })
    const first = await get('/v1/tasks', alice)
    expect(first.status).toBe(200)
    expect(headersOf(first)).toEqual({
      limit: '2',
      remaining: '1',
      bucket: 'principal:default:agent%3Aalice:api_calls',
    })
    const reset = Number(first.headers['x-ratelimit-reset'])
    expect(reset - Date.now() / 1000).toBeGreaterThan(1700)
    expect(reset - Date.now() / 1000).toBeLessThan(1900)
    expect((await get('/v1/tasks', alice)).status).toBe(200)

    const refused = await get('/v1/tasks', alice)
    expect(refused.status).toBe(429)
    expect(refused.headers['retry-after']).toBe('1800')
    expect(headersOf(refused)).toMatchObject({ limit: '2', remaining: '0' })
    expect(refused.body).toMatchObject({
      error: 'rate_limit_exceeded',
      code: 'RATE_LIMIT_EXCEEDED',
      message: 'API call limit of this principal exceeded (2 per 1h).',
      retryable: true,
      retry_after: 1800,
      limit: 2,
      window: '1h',
    })
    time.now += 1_800_000
    expect((await get('/v1/tasks', alice)).status).toBe(200)
  })

  it('principals have separate limits, and the limit of the tenant is shared', async () => {
    const { rateLimits } = limited({ principal: perMinute(2), tenant: perMinute(3) })
    const { get } = await serve({ rateLimits })
    const statuses: number[] = []
    for (const who of [alice, alice, alice, bob, bob]) statuses.push((await get('/v1/tasks', who)).status)
    expect(statuses).toEqual([200, 200, 429, 200, 429])
    expect((await get('/v1/tasks', bob)).body).toMatchObject({
      message: 'Tenant API call limit exceeded (3 per 1m).',
    })
  })

  it('the global limit applies to all', async () => {
    const { rateLimits } = limited({ global: perMinute(1) })
    const { get } = await serve({ rateLimits })
    expect((await get('/v1/tasks', alice)).status).toBe(200)
    expect((await get('/v1/tasks', bob)).body).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' })
  })

  it('a request that is refused for another reason counts and reports the limit', async () => {
    const { rateLimits } = limited({ tenant: perMinute(3) })
    const { post, get } = await serve({ rateLimits })
    const invalid = await post('/v1/tasks', { ...alice, type: 7 })
    expect([invalid.status, headersOf(invalid).remaining]).toEqual([400, '2'])
    const broken = await post('/v1/tasks', '{')
    expect([broken.status, headersOf(broken).remaining]).toEqual([400, '1'])
    expect((await get('/v1/tasks', alice)).status).toBe(200)
    expect((await post('/v1/tasks', '{')).status).toBe(429)
  })

  it('health and metrics are exempt', async () => {
    const { rateLimits } = limited({ global: perMinute(1) })
    const { get } = await serve({ rateLimits })
    await get('/v1/tasks', alice)
    const exempt = await Promise.all(['/health', '/health/live', '/metrics'].map((path) => get(path)))
    expect(exempt.map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await get('/v1/tasks', alice)).status).toBe(429)
  })

  it('a worker that has reached its limit can still renew and complete what it holds', async () => {
    const { rateLimits } = limited({ principal: perMinute(1), tenant: perMinute(3) })
    const { post } = await serve({ rateLimits })
    const lease = await heldTask({ post })
    expect((await post('/v1/leases/claim', { worker_id: 'w1' })).status).toBe(429)
    const { task_id, lease_id, worker_id } = lease
    const renewed = await post('/v1/leases/renew', lease)
    expect([renewed.status, headersOf(renewed).remaining]).toEqual([200, '0'])
    const path = `/v1/tasks/${task_id}/complete`
    expect((await post(path, { worker_id, lease_id, result: 1 })).status).toBe(200)
    expect((await post('/v1/leases/claim', { worker_id })).status).toBe(429)
  })

  it('the global limit also refuses calls about leases', async () => {
    const { rateLimits } = limited({ principal: perMinute(2), global: perMinute(3) })
    const { post } = await serve({ rateLimits })
    const lease = await heldTask({ post })
    expect((await post('/v1/leases/renew', lease)).status).toBe(200)
    expect((await post('/v1/leases/renew', lease)).body).toMatchObject({
      message: 'Server API call limit exceeded (3 per 1m).',
    })
  })

  it('without limits there are no headers', async () => {
    const served = await serve()
    await createTask(served)
    expect(headersOf(await served.get('/v1/tasks', alice))).toEqual({})
  })
})
