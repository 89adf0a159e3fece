import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Gate, openGate } from '../../src/features/gate.ts'
import type { OfferView } from '../../src/features/leases/shape.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { agent, ManualClock, worker } from '../support/gates.ts'
import { History, type Request } from './history.ts'

/** Violations are detected by comparing impossible responses with one completed task. */
describe('history of a simulation', () => {
  let store: Store
  let gate: Gate
  let offer: OfferView
  let receiptId: string
  let history: History

  const request = (changes: Partial<Request> = {}): Request => ({
    tenant: 'default',
    owner: 'alice',
    key: 'tag',
    tag: 'tag',
    input: {},
    taskId: null,
    isOpen: false,
    ...changes,
  })
  const created = (task_id: string, is_duplicate = false) => ({
    task_id,
    status: 'queued' as const,
    is_duplicate,
    receipt_id: '',
  })
  const completion = (receipt_id: string) => ({ ok: true as const, receipt_id, obligation_open: false })
  const verify = async (settings = {}) => {
    await history.verify(store.reads, await store.tenant('default'), settings)
    return history.violations.join('\n')
  }

  beforeAll(async () => {
    const clock = new ManualClock()
    store = await openSqliteStore({ path: ':memory:', now: () => clock.now })
    gate = openGate({ store, sweeping: false })
    await gate.createTask(agent(), { type: 't', payload: { tag: 'tag' }, idempotency_key: 'tag' })
    const { tasks } = await gate.leaseNext(worker(), { worker_id: 'w1' })
    if (tasks[0] === undefined) throw new Error('no task to claim')
    offer = tasks[0]
    const { task_id, lease_id } = offer
    const input = { worker_id: 'w1', task_id, lease_id, result: { by: lease_id }, artifacts: ['a'] }
    receiptId = (await gate.complete(worker(), input)).receipt_id
  })
  afterAll(() => gate.close())
  beforeEach(() => {
    history = new History()
  })

  it('a correct history has no violations', async () => {
    const asked = request()
    history.requests.push(asked)
    history.created(asked, created(offer.task_id))
    const lease = history.granted('default', 'worker:w1', offer)
    history.completed(lease, { by: offer.lease_id }, completion(receiptId))
    expect(await verify({ max_active_tasks: 1, max_concurrent_leases: 1 })).toBe('')
  })

  it.each<[string, () => void, RegExp]>([
    [
      'one key with two tasks',
      () => history.created(request({ taskId: 'a' }), created('b')),
      /became two tasks/,
    ],
    [
      'a create that was reported as new twice',
      () => history.created(request({ taskId: 'a' }), created('a')),
      /again as if it were new/,
    ],
    [
      'a duplicate of a create that never happened',
      () => history.created(request(), created('a', true)),
      /said to have changed nothing/,
    ],
    [
      'two leases with one fence',
      () => {
        history.granted('default', 'worker:w1', offer)
        history.granted('default', 'worker:w2', { ...offer, lease_id: 'other' })
      },
      /have fence 1/,
    ],
    [
      'a decreasing fence',
      () => {
        history.granted('default', 'worker:w1', { ...offer, fence: 2 })
        history.granted('default', 'worker:w2', { ...offer, lease_id: 'other', expires_in_ms: 1 })
      },
      /fence of .* fell/,
    ],
    [
      'a completion under two leases',
      () => {
        const first = history.granted('default', 'worker:w1', offer)
        const second = history.granted('default', 'worker:w2', { ...offer, lease_id: 'other', fence: 2 })
        history.completed(first, {}, completion(receiptId))
        history.completed(second, {}, completion(receiptId))
      },
      /completed under two leases/,
    ],
  ])('the history detects %s', (_, happen, complaint) => {
    happen()
    expect(history.violations.join('\n')).toMatch(complaint)
  })

  it('the history detects an acknowledged task that is missing', async () => {
    history.requests.push(request({ tag: 'lost', taskId: 'lost' }))
    expect(await verify()).toMatch(/acknowledged as lost and is not there/)
  })

  it('the history detects a task that was never requested', async () => {
    expect(await verify()).toMatch(/tag was never requested/)
  })

  it('the history detects a task that should not exist', async () => {
    history.requests.push(request())
    expect(await verify()).toMatch(/exists, although/)
  })

  it('the history detects a completion that was lost, changed or has no receipt', async () => {
    const lease = history.granted('default', 'worker:w1', offer)
    history.completed(lease, { by: 'me' }, completion('none'))
    expect(await verify()).toMatch(/another result[\s\S]*the receipt of the completion/)
  })

  it('the history detects a lost cancellation', async () => {
    history.canceled(offer.task_id)
    expect(await verify()).toMatch(/was canceled and is succeeded/)
  })

  it('the history detects a lease that acts after its end', async () => {
    const lease = history.granted('default', 'worker:w1', offer)
    history.extended(lease, lease.grantedAt)
    expect(await verify()).toMatch(/task.completed of .* came after its end/)
  })

  it('the history detects exceeded quotas', async () => {
    expect(await verify({ max_active_tasks: 0, max_concurrent_leases: 0 })).toMatch(
      /1 open tasks[\s\S]*1 leases/,
    )
  })
})
