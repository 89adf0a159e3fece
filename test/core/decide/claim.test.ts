import { describe, expect, test } from 'vitest'
import type { Answers } from '../../../src/core/command.ts'
import type { HeldTask } from '../../../src/core/task.ts'
import { FakeWorld, heldTask, NOW, queuedTask } from '../../support/fake-world.ts'
import { bodyOf, claim, expectNoChange, onlyTask, receiptTypes } from '../commands.ts'

const id = (n: number) => `019b7608-1c00-7000-8000-00000000000${n}`
const waiting = (n: number, rank = 1000) => queuedTask({ task_id: id(n), seq: n, rank })

const grants = (world: FakeWorld, asked = claim()) => (world.decide(asked).answer as Answers['claim']).granted
const leases = (world: FakeWorld, asked = claim()) =>
  grants(world, asked).map(({ task }) => Number(task.task_id.at(-1)))

describe('claim', () => {
  test('claim gives a lease to the calling worker and increments the fence', () => {
    const world = new FakeWorld({ tasks: [queuedTask({ fence: 6 })] })
    const decision = world.decide(claim({ holder: 'worker:w9', worker_id: 'nine', ttl_ms: 30_000 }))
    const task = onlyTask(decision) as HeldTask
    expect(task).toMatchObject({ status: 'leased', fence: 7, started_at: null, updated_at: NOW })
    expect(task.lease).toEqual({
      lease_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8/),
      holder: 'worker:w9',
      instance_id: null,
      worker_id: 'nine',
      acquired_at: NOW,
      expires_at: NOW + 30_000,
      renewals: 0,
    })
    expect('next_eligible_at' in task).toBe(false)
    expect(decision.answer).toMatchObject({ granted: [{ lease: task.lease, fence: 7 }], now: NOW })
  })

  test('claim writes one acceptance per task, under its lease', () => {
    const world = new FakeWorld({ tasks: [waiting(1), waiting(2)] })
    const decision = world.decide(claim({ max_tasks: 5, capabilities: ['gpu'] }))
    expect(receiptTypes(decision)).toEqual(['task.accepted', 'task.accepted'])
    const held = decision.tasks as HeldTask[]
    expect(held[0]?.lease.lease_id).not.toBe(held[1]?.lease.lease_id)
    for (const [i, receipt] of decision.receipts.entries()) {
      expect(receipt).toMatchObject({
        seq: 3 + i,
        from: 'worker:w1',
        to: 'agent:alice',
        task_id: held[i]?.task_id,
        lease_id: held[i]?.lease.lease_id,
        parents: [held[i]?.seq],
      })
      expect(bodyOf(receipt).worker_capabilities).toEqual(['gpu'])
    }
  })

  test('claim takes at most max_tasks, by rank and then by age', () => {
    const world = new FakeWorld({
      tasks: [waiting(3, 3000), waiting(2, 1000), waiting(1, 1000), waiting(4, 500)],
    })
    expect(leases(world)).toEqual([4])
    expect(leases(world, claim({ max_tasks: 3 }))).toEqual([4, 1, 2])
    expect(leases(world, claim({ max_tasks: 9 }))).toEqual([4, 1, 2, 3])
  })

  test('claim without ready tasks returns an empty list and writes nothing', () => {
    const delayed = queuedTask({ next_eligible_at: NOW + 1 })
    for (const world of [
      new FakeWorld(),
      new FakeWorld({ tasks: [delayed] }),
      new FakeWorld({ tasks: [heldTask()] }),
    ]) {
      const decision = world.decide(claim())
      expect(decision.answer).toEqual({ granted: [], now: NOW })
      expectNoChange(decision)
    }
  })

  test('claim stops at the quota of leases without an error', () => {
    const tasks = [heldTask({ task_id: id(9), seq: 9 }), waiting(1), waiting(2), waiting(3)]
    const granted = (max_concurrent_leases: number) =>
      leases(new FakeWorld({ tasks, settings: { max_concurrent_leases } }), claim({ max_tasks: 3 }))
    expect(granted(-1)).toHaveLength(3)
    expect(granted(3)).toHaveLength(2)
    expect(granted(2)).toHaveLength(1)
    expect(granted(1)).toHaveLength(0)
    expect(granted(0)).toHaveLength(0)
  })

  test('a lease never exceeds its absolute lifetime or the timeout of the task', () => {
    const expiry = (timeout_seconds: number | null, max_lease_lifetime_seconds: number) =>
      grants(
        new FakeWorld({ tasks: [queuedTask({ timeout_seconds })], settings: { max_lease_lifetime_seconds } }),
        claim({ ttl_ms: 100_000 }),
      ).map(({ lease }) => lease.expires_at - NOW)
    expect(expiry(null, 7200)).toEqual([100_000])
    expect(expiry(null, 60)).toEqual([60_000])
    expect(expiry(30, 60)).toEqual([30_000])
    expect(expiry(300, 7200)).toEqual([100_000])
  })
})
