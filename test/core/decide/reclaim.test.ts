import { describe, expect, it } from 'vitest'
import { FakeWorld, heldTask, LEASE } from '../../support/fake-world.ts'
import * as command from '../commands.ts'
import { bodyOf } from '../commands.ts'

describe('reclaim', () => {
  const reclaimed = (changes = {}, over = {}) =>
    new FakeWorld({ tasks: [heldTask(changes)] }).decide(command.reclaim(over))

  it('reclaim gives the lease to the new process with a new id and a higher fence, without counting an attempt', () => {
    const { answer, tasks, receipts } = reclaimed({ fence: 3, attempt: 1 })
    expect(tasks).toMatchObject([
      {
        status: 'leased',
        fence: 4,
        attempt: 1,
        expiry_count: 1,
        started_at: null,
        lease: { instance_id: 'i2', worker_id: LEASE.worker_id, holder: LEASE.holder, renewals: 0 },
      },
    ])
    expect(answer).toMatchObject({ granted: [{ fence: 4, lease: { lease_id: expect.any(String) } }] })
    expect(JSON.stringify(answer)).not.toContain(LEASE.lease_id)
    expect(receipts.map(({ receipt_type }) => receipt_type)).toEqual(['lease.released', 'task.accepted'])
    expect(receipts[0]).toMatchObject({ lease_id: LEASE.lease_id, from: LEASE.holder })
    expect(receipts.map((receipt) => bodyOf(receipt))).toMatchObject([
      { reclaimed_by_instance_id: 'i2' },
      { worker_instance_id: 'i2' },
    ])
  })

  it('reclaim at the limit of expiries ends the task', () => {
    const { answer, tasks, receipts } = reclaimed({ expiry_count: 9, max_expiries: 10 })
    expect(answer).toMatchObject({ granted: [] })
    expect(tasks).toMatchObject([{ status: 'failed', expiry_count: 10, outcome: { dead_letter: true } }])
    expect(receipts.map(({ receipt_type }) => receipt_type)).toContain('task.failed')
  })

  it('reclaim is refused for an expired lease and for another worker', () => {
    for (const over of [{ lease_id: 'x' }, { worker_id: 'x' }, { holder: 'worker:w2' }] as const) {
      expect(reclaimed({}, over)).toMatchObject({
        answer: { code: 'LEASE_INVALID_OR_EXPIRED' },
        tasks: [],
        receipts: [],
      })
    }
    const late = new FakeWorld({ tasks: [heldTask()], now: LEASE.expires_at }).decide(command.reclaim())
    expect(late).toMatchObject({ answer: { code: 'LEASE_INVALID_OR_EXPIRED' }, tasks: [] })
  })
})
