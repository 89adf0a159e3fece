import { describe, expect, test } from 'vitest'
import type { LeaseClaim } from '../../src/core/command.ts'
import { checkLease, leaseEnd, matches, timeoutAt } from '../../src/core/lease.ts'
import { DEFAULT_SETTINGS } from '../../src/core/settings.ts'
import { isOpen, isReady, wakeAt } from '../../src/core/task.ts'
import { doneTask, heldTask, LEASE, NOW, queuedTask } from '../support/fake-world.ts'
import { refusal } from './refusal.ts'

const claim = (changes: Partial<LeaseClaim> = {}): LeaseClaim => ({
  task_id: heldTask().task_id,
  lease_id: LEASE.lease_id,
  holder: LEASE.holder,
  worker_id: LEASE.worker_id,
  ...changes,
})

describe('checkLease', () => {
  test.each(['leased', 'running'] as const)(
    'the lease of a %s task is valid until the instant it expires',
    (status) => {
      const task = heldTask({ status })
      expect(checkLease(task, claim(), NOW)).toBe(task)
      expect(checkLease(task, claim(), LEASE.expires_at - 1)).toBe(task)
      for (const late of [LEASE.expires_at, LEASE.expires_at + 1]) {
        const fault = refusal(() => checkLease(task, claim(), late))
        expect(fault.code).toBe('LEASE_INVALID_OR_EXPIRED')
        expect(fault.details).toEqual({ task_id: task.task_id, task_status: status })
      }
    },
  )

  test.each<[string, Partial<LeaseClaim>]>([
    ['another lease', { lease_id: '00000000-0000-4000-8000-000000000000' }],
    ['another principal', { holder: 'worker:w2' }],
    ['a principal of another kind with the same id', { holder: 'service:w1' }],
    ['another worker_id', { worker_id: 'label-2' }],
    ['an empty lease id', { lease_id: '' }],
  ])('a lease does not match a call with %s', (_, changes) => {
    expect(matches(LEASE, claim(changes))).toBe(false)
    expect(refusal(() => checkLease(heldTask(), claim(changes), NOW)).code).toBe('LEASE_INVALID_OR_EXPIRED')
  })

  test.each([queuedTask(), doneTask(), doneTask({ status: 'failed' }), doneTask({ status: 'canceled' })])(
    'a lease of a $status task is refused with the status',
    (task) => {
      expect(refusal(() => checkLease(task, claim(), NOW)).details).toEqual({
        task_id: task.task_id,
        task_status: task.status,
      })
    },
  )

  test('a lease of a missing task is refused with TASK_NOT_FOUND', () => {
    expect(refusal(() => checkLease(undefined, claim(), NOW)).code).toBe('TASK_NOT_FOUND')
  })
})

describe('end of a lease', () => {
  const settings = { ...DEFAULT_SETTINGS, max_lease_lifetime_seconds: 100 }

  test('a lease ends at its absolute lifetime or at the timeout of the task, whichever is earlier', () => {
    expect(leaseEnd(heldTask({ timeout_seconds: null }), NOW, settings)).toBe(NOW + 100_000)
    expect(leaseEnd(heldTask({ timeout_seconds: 99 }), NOW, settings)).toBe(NOW + 99_000)
    expect(leaseEnd(heldTask({ timeout_seconds: 101 }), NOW, settings)).toBe(NOW + 100_000)
  })

  test('a timeout counts from the time the lease was acquired', () => {
    expect(timeoutAt(heldTask({ timeout_seconds: 7 }), { acquired_at: NOW })).toBe(NOW + 7_000)
    expect(timeoutAt(heldTask({ timeout_seconds: null }), { acquired_at: NOW })).toBeNull()
  })
})

describe('times of a task', () => {
  test('a task wakes when its delay ends or its lease expires, and otherwise never', () => {
    expect(wakeAt(queuedTask({ next_eligible_at: NOW + 5 }))).toBe(NOW + 5)
    expect(wakeAt(queuedTask())).toBeNull()
    expect(wakeAt(heldTask())).toBe(LEASE.expires_at)
    expect(wakeAt(heldTask({ status: 'running' }))).toBe(LEASE.expires_at)
  })

  test('a task is ready if it is queued and not delayed', () => {
    expect(isReady(queuedTask())).toBe(true)
    expect(isReady(queuedTask({ next_eligible_at: NOW - 1 }))).toBe(false)
    expect(isReady(heldTask())).toBe(false)
    expect(isReady(doneTask())).toBe(false)
  })

  test('a task is open until it has ended', () => {
    expect([queuedTask(), heldTask(), heldTask({ status: 'running' }), doneTask()].map(isOpen)).toEqual([
      true,
      true,
      true,
      false,
    ])
  })
})
