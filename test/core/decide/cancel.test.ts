import { describe, expect, test } from 'vitest'
import type { DoneTask } from '../../../src/core/task.ts'
import { doneTask, FakeWorld, heldTask, LEASE, NOW, queuedTask } from '../../support/fake-world.ts'
import { bodyOf, cancel, expectNoChange, faultOf, onlyTask, receiptOf, receiptTypes } from '../commands.ts'

describe('cancel', () => {
  test('cancel ends an open task, notifies the owner and closes the obligation', () => {
    const decision = new FakeWorld({ tasks: [heldTask({ status: 'running' })] }).decide(
      cancel({ by: 'human:root', role: 'admin', reason: 'no longer needed' }),
    )
    expect(decision.answer).toEqual({ ok: true, status: 'canceled' })
    const task = onlyTask(decision) as DoneTask
    expect(task).toMatchObject({ status: 'canceled', started_at: NOW - 5_000 })
    expect(JSON.parse(task.outcome.error ?? '')).toEqual({ code: 'CANCELED', message: 'no longer needed' })
    expect(task.outcome).toMatchObject({ result: null, dead_letter: false, obligation_open: false })
    expect(receiptTypes(decision)).toEqual(['task.canceled', 'task.result_ready'])
    expect(receiptOf(decision, 'task.canceled')).toMatchObject({
      from: 'human:root',
      to: 'agent:alice',
      lease_id: LEASE.lease_id,
      parents: [1],
    })
    expect(bodyOf(receiptOf(decision, 'task.canceled'))).toEqual({
      schema_version: '1',
      canceled_at: '2026-01-01T00:00:00.000Z',
      canceled_by: 'human:root',
      reason: 'no longer needed',
    })
    expect(decision.closed).toHaveLength(1)
  })

  test('cancel of a task without a lease names no lease', () => {
    const decision = new FakeWorld({ tasks: [queuedTask({ next_eligible_at: NOW + 9 })] }).decide(cancel())
    expect(onlyTask(decision)).toMatchObject({ status: 'canceled', lease: null, started_at: null })
    expect('next_eligible_at' in onlyTask(decision)).toBe(false)
    expect(receiptOf(decision, 'task.canceled')).toMatchObject({ lease_id: null })
    expect(bodyOf(receiptOf(decision, 'task.canceled')).reason).toBeNull()
  })

  test.each(['succeeded', 'failed', 'canceled'] as const)(
    'cancel of a task that has %s returns its status and changes nothing',
    (status) => {
      const decision = new FakeWorld({ tasks: [doneTask({ status })] }).decide(cancel())
      expect(decision.answer).toEqual({ ok: false, status })
      expectNoChange(decision)
    },
  )

  test('cancel is allowed only for the owner and admins, in every state', () => {
    for (const task of [queuedTask(), heldTask(), doneTask()]) {
      const world = new FakeWorld({ tasks: [task] })
      expect(faultOf(world.decide(cancel({ by: 'agent:bob' }))).code).toBe('FORBIDDEN')
      expect(faultOf(world.decide(cancel({ by: LEASE.holder, role: 'worker' }))).code).toBe('FORBIDDEN')
    }
  })
})
