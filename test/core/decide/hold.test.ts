import { describe, expect, test } from 'vitest'
import type { HeldTask } from '../../../src/core/task.ts'
import { FakeWorld, heldTask, LEASE, NOW } from '../../support/fake-world.ts'
import {
  anomalyKinds,
  bodyOf,
  expectNoChange,
  faultOf,
  onlyTask,
  progress,
  receiptOf,
  receiptTypes,
  release,
  renew,
  start,
} from '../commands.ts'

const renewed = (times: number, changes: Partial<HeldTask> = {}) =>
  heldTask({ lease: { ...LEASE, renewals: times }, ...changes })
const leaseOf = (task: unknown) => (task as HeldTask).lease

describe('start', () => {
  test('start sets the status to running and records the time', () => {
    const decision = new FakeWorld({ tasks: [heldTask()] }).decide(start())
    expect(decision.answer).toEqual({ status: 'running', started_at: NOW })
    expect(onlyTask(decision)).toMatchObject({ status: 'running', started_at: NOW, lease: LEASE })
    expect(receiptTypes(decision)).toEqual(['task.started'])
    expect(bodyOf(receiptOf(decision, 'task.started')).started_at).toBe('2026-01-01T00:00:00.000Z')
  })

  test('a repeated start changes nothing and returns the same response', () => {
    const decision = new FakeWorld({ tasks: [heldTask({ status: 'running', started_at: NOW - 7 })] }).decide(
      start(),
    )
    expect(decision.answer).toEqual({ status: 'running', started_at: NOW - 7 })
    expectNoChange(decision)
  })
})

describe('progress', () => {
  test('progress is numbered within the task and reported to the owner', () => {
    const world = new FakeWorld({ tasks: [heldTask({ status: 'running', progress_count: 4 })] })
    const decision = world.decide(progress())
    expect(decision.answer).toEqual({ expires_at: LEASE.expires_at, now: NOW })
    expect(onlyTask(decision)).toMatchObject({ status: 'running', progress_count: 5, lease: LEASE })
    expect(decision.progress).toMatchObject({
      n: 5,
      at: NOW,
      lease_id: LEASE.lease_id,
      progress: '{"percent":50}',
    })
    expect(receiptTypes(decision)).toEqual(['task.progress'])
    expect(bodyOf(receiptOf(decision, 'task.progress')).progress).toEqual({ percent: 50 })
  })

  test('the first progress report starts the task', () => {
    const decision = new FakeWorld({ tasks: [heldTask()] }).decide(progress())
    expect(onlyTask(decision)).toMatchObject({ status: 'running', started_at: NOW, progress_count: 1 })
    expect(receiptTypes(decision)).toEqual(['task.started', 'task.progress'])
  })

  test('progress is stored without a receipt if progress receipts are off', () => {
    const world = new FakeWorld({
      tasks: [heldTask({ status: 'running' })],
      settings: { progress_receipts: false },
    })
    const decision = world.decide(progress())
    expect(decision.receipts).toEqual([])
    expect(decision.progress?.n).toBe(1)
  })

  test('progress can extend the lease, which counts as a renewal', () => {
    const decision = new FakeWorld({ tasks: [renewed(3)] }).decide(progress({ extend_ms: 90_000 }))
    expect(leaseOf(onlyTask(decision))).toMatchObject({ expires_at: NOW + 90_000, renewals: 4 })
    expect(decision.answer).toMatchObject({ expires_at: NOW + 90_000 })
  })

  test('progress without an extension does not change the lease', () => {
    expect(leaseOf(onlyTask(new FakeWorld({ tasks: [renewed(3)] }).decide(progress())))).toEqual({
      ...LEASE,
      renewals: 3,
    })
  })

  test('progress is refused as a whole if its extension is refused', () => {
    const decision = new FakeWorld({ tasks: [renewed(10)] }).decide(progress({ extend_ms: 1000 }))
    expect(faultOf(decision).code).toBe('LEASE_RENEWAL_LIMIT_EXCEEDED')
    expect(decision.progress).toBeNull()
    expect(receiptTypes(decision)).toEqual(['system.anomaly'])
    expect(onlyTask(decision)).toMatchObject({ status: 'leased', progress_count: 0 })
  })
})

describe('renew', () => {
  test('renew extends the lease from now and writes no receipt', () => {
    const decision = new FakeWorld({ tasks: [heldTask({ status: 'running' })] }).decide(
      renew({ extend_ms: 120_000 }),
    )
    expect(decision.answer).toEqual({ expires_at: NOW + 120_000, renewals_left: 9, now: NOW })
    expect(onlyTask(decision)).toMatchObject({ status: 'running', updated_at: NOW })
    expect(leaseOf(onlyTask(decision))).toEqual({ ...LEASE, expires_at: NOW + 120_000, renewals: 1 })
    expect(decision.receipts).toEqual([])
  })

  test('renew never exceeds the absolute lifetime of the lease', () => {
    const world = new FakeWorld({ tasks: [heldTask()], settings: { max_lease_lifetime_seconds: 100 } })
    const decision = world.decide(renew({ extend_ms: 600_000 }))
    expect(decision.answer).toMatchObject({ expires_at: LEASE.acquired_at + 100_000 })
    const fault = faultOf(world.after(decision).later(1000).decide(renew()))
    expect(fault.code).toBe('LEASE_LIFETIME_EXCEEDED')
    expect(fault.details).toEqual({ expires_in_ms: LEASE.acquired_at + 100_000 - NOW - 1000 })
  })

  test('renew never exceeds the timeout of the task', () => {
    const decision = new FakeWorld({ tasks: [heldTask({ timeout_seconds: 70 })] }).decide(renew())
    expect(decision.answer).toMatchObject({ expires_at: LEASE.acquired_at + 70_000 })
  })

  test('renew works ten times; the eleventh is refused with an anomaly and later ones without', () => {
    let world = new FakeWorld({ tasks: [heldTask()] })
    for (let left = 9; left >= 0; left--) {
      const decision = world.decide(renew())
      expect(decision.answer).toMatchObject({ renewals_left: left })
      world = world.after(decision)
    }
    const before = leaseOf(world.task(heldTask().task_id))

    const eleventh = world.decide(renew())
    expect(faultOf(eleventh).toJSON()).toMatchObject({
      code: 'LEASE_RENEWAL_LIMIT_EXCEEDED',
      details: { max_renewals: 10 },
    })
    expect(anomalyKinds(eleventh)).toEqual(['excessive_renewals'])
    expect(bodyOf(receiptOf(eleventh, 'system.anomaly')).details).toEqual({
      renewals: 10,
      worker_id: 'label-1',
    })
    world = world.after(eleventh)
    expect(leaseOf(world.task(heldTask().task_id)).expires_at).toBe(before.expires_at)

    for (let i = 0; i < 3; i++) {
      const later = world.decide(renew())
      expect(faultOf(later).code).toBe('LEASE_RENEWAL_LIMIT_EXCEEDED')
      expectNoChange(later)
    }
  })

  test('renew is refused if the maximum number of renewals is 0', () => {
    const world = new FakeWorld({ tasks: [heldTask()], settings: { max_lease_renewals: 0 } })
    expect(faultOf(world.decide(renew())).code).toBe('LEASE_RENEWAL_LIMIT_EXCEEDED')
  })
})

describe('release', () => {
  test('release makes the task ready immediately at its old rank and changes no counter', () => {
    const task = heldTask({ status: 'running', attempt: 1, max_attempts: 3, expiry_count: 2, fence: 5 })
    const decision = new FakeWorld({ tasks: [task] }).decide(release())
    expect(decision.answer).toEqual({ status: 'queued' })
    const queued = onlyTask(decision)
    expect(queued).toMatchObject({
      status: 'queued',
      next_eligible_at: null,
      attempt: 1,
      expiry_count: 2,
      fence: 5,
      rank: task.rank,
    })
    expect('lease' in queued).toBe(false)
    expect('started_at' in queued).toBe(false)
    expect(receiptTypes(decision)).toEqual(['lease.released'])
    expect(bodyOf(receiptOf(decision, 'lease.released'))).toMatchObject({ attempt: 1, worker_id: 'label-1' })
    expect(decision.closed).toEqual([])
  })
})
