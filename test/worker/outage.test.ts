import { describe, expect, it } from 'vitest'
import { task } from '../../src/worker/index.ts'
import { serveGate } from '../http/support.ts'
import { look, only, receiptTypes } from '../support/steps.ts'
import {
  CLAIM,
  COMPLETE,
  Deferred,
  EVENTS,
  eventually,
  FAIL,
  itemsOf,
  RELEASE,
  RENEW,
  workerBench,
} from './support.ts'

/** A task that ends when the test says so. */
function gated(result: () => unknown = () => 'done') {
  const begun = new Deferred()
  const mayEnd = new Deferred()
  let runs = 0
  const run = async () => {
    runs++
    begun.resolve()
    await mayEnd.promise
    return result()
  }
  return { definition: task('job', { run }), begun: begun.promise, end: mayEnd.resolve, runs: () => runs }
}

const unavailable = (seconds: number) => async () =>
  Response.json(
    { code: 'OVERLOADED', message: 'Too much.', retryable: true },
    { status: 503, headers: { 'retry-after': String(seconds) } },
  )

describe('a worker during an outage of the server', () => {
  const start = workerBench()

  it('the worker keeps its tasks and reports them when the server is back', async () => {
    const gate = await start()
    const { definition, begun, end, runs } = gated()
    const started = gate.start([definition])
    const task_id = await gate.ask('job')
    await begun
    const restore = gate.network.cut()
    end()
    await eventually(() => started.metrics().report_errors >= 2)
    expect(await gate.status(task_id)).toBe('leased')
    restore()
    expect(await gate.end(task_id)).toMatchObject({ status: 'succeeded', attempt: 0, expiry_count: 0 })
    expect(runs()).toBe(1)
  })

  it('the worker continues with a server that was restarted at another address', async () => {
    const gate = await start({})
    const { definition, begun, end } = gated()
    const moved = async (input: string | URL | Request, init?: RequestInit) => {
      const url = String(input).replace(gate.url, address)
      return gate.network.fetch(url, init)
    }
    let address = gate.url
    gate.start([definition], { fetch: moved })
    const task_id = await gate.ask('job')
    await begun
    await gate.stop()
    end()
    const again = await serveGate(gate.gate)
    address = again.url
    expect((await gate.end(task_id)).status).toBe('succeeded')
    expect((await gate.end(await gate.ask('job'))).status).toBe('succeeded')
  })

  it('a report whose response was lost is repeated and counts once', async () => {
    const gate = await start()
    const { definition, end } = gated()
    gate.network.loseAnswers(COMPLETE)
    const started = gate.start([definition])
    const task_id = await gate.ask('job')
    end()
    await gate.network.until(COMPLETE, 2)
    await eventually(() => started.metrics().types.job?.completed === 1)
    const [first, second] = gate.network.to(COMPLETE)
    expect(second?.body).toEqual(first?.body)
    expect(await receiptTypes(gate.gate, { task_id })).toEqual([
      'task.assigned',
      'task.accepted',
      'task.completed',
      'task.result_ready',
    ])
  })

  it('the worker waits for the response to its report although a renewal says that the lease has ended', async () => {
    const gate = await start()
    const { definition, begun, end } = gated()
    const started = gate.start([definition], { leaseSeconds: 3 })
    const task_id = await gate.ask('job')
    await begun
    // The server accepts the first report, its response is lost, and no report gets through until a renewal was
    // refused.
    gate.network.loseAnswers(COMPLETE)
    const restore = gate.network.cut(COMPLETE)
    end()
    await gate.network.until(COMPLETE, 2)
    const { renewal_requests } = started.metrics()
    await eventually(() => started.metrics().renewal_requests > renewal_requests)
    expect(await gate.status(task_id)).toBe('succeeded')
    restore()
    await eventually(() => started.metrics().types.job?.completed === 1)
    expect(started.metrics().types.job?.lost).toBe(0)
  })

  it('a failure whose response was lost is not counted as lost', async () => {
    const gate = await start()
    gate.network.loseAnswers(FAIL)
    const run = () => {
      throw new Error('no luck')
    }
    const started = gate.start([task('job', { run })])
    const task_id = await gate.ask('job', {}, { retry_backoff_seconds: 600 })
    await eventually(() => started.metrics().types.job?.retried === 1)
    const types = await receiptTypes(gate.gate, { task_id })
    expect(types.filter((type) => type === 'task.retry_scheduled')).toHaveLength(1)
    expect(await look(gate.gate, { task_id })).toMatchObject({ status: 'queued', attempt: 1 })
  })

  it('the worker waits as long as Retry-After says', async () => {
    const gate = await start()
    const { definition, end } = gated()
    gate.network.next(COMPLETE, unavailable(2))
    gate.start([definition])
    const task_id = await gate.ask('job')
    end()
    expect((await gate.end(task_id)).status).toBe('succeeded')
    const [first, second] = gate.network.to(COMPLETE)
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1999)
  })

  it.each([
    [401, 'UNAUTHENTICATED'],
    [403, 'FORBIDDEN'],
    [404, 'NOT_FOUND'],
    [500, 'INTERNAL_ERROR'],
    [502, undefined],
  ])('a report is repeated after a refusal that does not concern the result: %i', async (status, code) => {
    const gate = await start()
    const { definition, end } = gated()
    gate.network.next(COMPLETE, async () => Response.json({ code, retryable: false }, { status }), 2)
    gate.start([definition])
    const task_id = await gate.ask('job')
    end()
    expect(await gate.end(task_id)).toMatchObject({ status: 'succeeded', attempt: 0 })
    expect(gate.network.to(COMPLETE)).toHaveLength(3)
  })

  it('all results of an outage are reported in one request', async () => {
    const gate = await start()
    const { definition, end, runs } = gated()
    const started = gate.start([definition], { concurrency: 50 })
    const ids = await Promise.all(Array.from({ length: 50 }, () => gate.ask('job')))
    await eventually(() => runs() === 50)
    const restore = gate.network.cut()
    end()
    await eventually(() => started.metrics().report_errors >= 100)
    const before = gate.network.to(COMPLETE).length
    restore()
    for (const id of ids) expect((await gate.end(id)).status).toBe('succeeded')
    expect(gate.network.to(COMPLETE).length - before).toBeLessThanOrEqual(3)
  })

  it('a report is given up when the lease has expired, and is never sent after that', async () => {
    const gate = await start()
    const { definition, begun, end } = gated()
    const started = gate.start([definition], { leaseSeconds: 2 })
    const task_id = await gate.ask('job', {}, { max_expiries: 5 })
    await begun
    const restore = gate.network.cut()
    end()
    await eventually(() => started.metrics().types.job?.lost === 1)
    const reports = gate.network.to(COMPLETE).length
    expect(reports).toBeGreaterThan(1)
    restore()
    await eventually(async () => (await look(gate.gate, { task_id })).expiry_count === 1)
    expect(itemsOf(gate.network.to(COMPLETE).slice(reports))).toEqual([])
    expect(await look(gate.gate, { task_id })).toMatchObject({ attempt: 0 })
  })

  it('the worker does not report on a lease that a renewal found invalid', async () => {
    const gate = await start()
    const { definition, begun, end } = gated()
    const started = gate.start([definition], { leaseSeconds: 2 })
    const task_id = await gate.ask('job')
    await begun
    const { lease_id } = only(itemsOf(await gate.network.until(RENEW, 1)))
    // This response says that nothing was changed.
    gate.network.next(COMPLETE, unavailable(0), Number.POSITIVE_INFINITY)
    end()
    await eventually(() => started.metrics().report_errors > 0)
    await gate.post('/v1/leases/release', { worker_id: 'w1', task_id, lease_id })
    await eventually(() => started.metrics().types.job?.lost === 1)
  })

  it('the worker claims again after a pause, and after the time that the server asks for', async () => {
    const gate = await start()
    gate.network.next(CLAIM, unavailable(1))
    const { definition, end } = gated()
    const started = gate.start([definition])
    end()
    await eventually(() => started.metrics().claim_errors === 1)
    expect((await gate.end(await gate.ask('job'))).status).toBe('succeeded')
    const [first, second] = gate.network.to(CLAIM)
    // The first pause is 5 s, shortened by up to a half at random.
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(2499)
  })

  it('the worker begins when the server starts after it', async () => {
    const gate = await start()
    const restore = gate.network.cut()
    const { definition, end } = gated()
    const started = gate.start([definition])
    end()
    await eventually(() => started.metrics().claim_errors === 1)
    restore()
    expect((await gate.end(await gate.ask('job'))).status).toBe('succeeded')
  })

  it('the worker does not claim in a tight loop when responses are empty and early', async () => {
    const gate = await start()
    gate.network.next(CLAIM, async () => Response.json({ tasks: [] }), Number.POSITIVE_INFINITY)
    gate.start([task('job', { run() {} })])
    const [first, , , fourth] = await gate.network.until(CLAIM, 4)
    expect((fourth?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(349)
  })

  it('the worker works without the event stream', async () => {
    const gate = await start()
    const forbidden = { code: 'FORBIDDEN', message: 'No.', retryable: false }
    gate.network.next(EVENTS, async () => Response.json(forbidden, { status: 403 }), Number.POSITIVE_INFINITY)
    const { definition, end } = gated()
    const started = gate.start([definition])
    end()
    expect((await gate.end(await gate.ask('job'))).status).toBe('succeeded')
    expect(started.metrics().event_stream).toBe(false)
  })

  it('the worker releases a task for which it has no handler', async () => {
    const gate = await start()
    const task_id = await gate.ask('other')
    gate.network.next(CLAIM, async (_, { body }) => {
      const accept_types = ['other']
      const answer = await gate.post('/v1/leases/claim', { ...body, accept_types, wait_seconds: 0 })
      return Response.json(answer.body)
    })
    gate.start([task('job', { run() {} })])
    await gate.network.until(RELEASE, 1)
    await eventually(async () => (await gate.status(task_id)) === 'queued')
    expect(await look(gate.gate, { task_id })).toMatchObject({ attempt: 0, expiry_count: 0 })
  })
})
