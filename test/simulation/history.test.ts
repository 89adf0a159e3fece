import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Gate, openGate } from '../../src/features/gate.ts'
import type { OfferView } from '../../src/features/leases/shape.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { agent, ManualClock, worker } from '../support/gates.ts'
import { History, type Request } from './history.ts'

/** What callers could never have been told if all is well, compared with one task that was completed. */
describe('the history of a simulation', () => {
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
  const told = (task_id: string, is_duplicate = false) => ({
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
    if (tasks[0] === undefined) throw new Error('there is nothing to claim')
    offer = tasks[0]
    const { task_id, lease_id } = offer
    const input = { worker_id: 'w1', task_id, lease_id, result: { by: lease_id }, artifacts: ['a'] }
    receiptId = (await gate.complete(worker(), input)).receipt_id
  })
  afterAll(() => gate.close())
  beforeEach(() => {
    history = new History()
  })

  it('is true when it is what happened', async () => {
    const asked = request()
    history.requests.push(asked)
    history.created(asked, told(offer.task_id))
    const lease = history.granted('default', 'worker:w1', offer)
    history.completed(lease, { by: offer.lease_id }, completion(receiptId))
    expect(await verify({ max_active_tasks: 1, max_concurrent_leases: 1 })).toBe('')
  })

  it.each<[string, () => void, RegExp]>([
    [
      'a key that became two tasks',
      () => history.created(request({ taskId: 'a' }), told('b')),
      /became two tasks/,
    ],
    [
      'a create that was new twice',
      () => history.created(request({ taskId: 'a' }), told('a')),
      /again as if it were new/,
    ],
    [
      'a duplicate of what never happened',
      () => history.created(request(), told('a', true)),
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
      'a fence that falls',
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
  ])('shows %s', (_, happen, complaint) => {
    happen()
    expect(history.violations.join('\n')).toMatch(complaint)
  })

  it('shows an acknowledged task that is not there', async () => {
    history.requests.push(request({ tag: 'lost', taskId: 'lost' }))
    expect(await verify()).toMatch(/acknowledged as lost and is not there/)
  })

  it('shows a task that nobody asked for', async () => {
    expect(await verify()).toMatch(/nobody asked for tag/)
  })

  it('shows a task that should not exist', async () => {
    history.requests.push(request())
    expect(await verify()).toMatch(/exists, although/)
  })

  it('shows a completion that was lost, changed, or has no receipt', async () => {
    const lease = history.granted('default', 'worker:w1', offer)
    history.completed(lease, { by: 'me' }, completion('none'))
    expect(await verify()).toMatch(/another result[\s\S]*the receipt of the completion/)
  })

  it('shows a cancel that was lost', async () => {
    history.canceled(offer.task_id)
    expect(await verify()).toMatch(/was canceled and is succeeded/)
  })

  it('shows what a lease did after its end', async () => {
    const lease = history.granted('default', 'worker:w1', offer)
    history.extended(lease, lease.grantedAt)
    expect(await verify()).toMatch(/task.completed of .* came after its end/)
  })

  it('shows quotas that were not kept', async () => {
    expect(await verify({ max_active_tasks: 0, max_concurrent_leases: 0 })).toMatch(
      /1 open tasks[\s\S]*1 leases/,
    )
  })
})
