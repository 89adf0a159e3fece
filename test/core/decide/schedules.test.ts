import { describe, expect, test } from 'vitest'
import { FakeWorld, heldTask, LEASE, NOW, queuedTask, TASK_ID } from '../../support/fake-world.ts'
import { bodyOf, expectNoChange, faultOf, receiptOf, recordSchedule, reportStale } from '../commands.ts'

const DELETING = '019b7608-1c00-7000-8000-000000000002'

/** Alice created a schedule on behalf of Eve, and then asked for its deletion. */
const asking = heldTask({ principal_ai: 'eve' })
const deleting = heldTask({ task_id: DELETING, seq: 2 })
const world = new FakeWorld({ tasks: [asking, deleting], obligations: [] })
const scheduled = world.after(world.decide(recordSchedule()))
const remove = (changes = {}) =>
  recordSchedule({ event: 'deleted', task_id: DELETING, created: 3, ...changes })

describe('creation of a schedule', () => {
  test('a created schedule writes a receipt to the owner and opens obligations to the owner and principal_ai', () => {
    const decision = world.decide(recordSchedule())
    expect(decision.answer).toEqual({ seq: 3 })
    const receipt = receiptOf(decision, 'schedule.created')
    expect(receipt).toMatchObject({
      from: LEASE.holder,
      to: 'agent:alice',
      task_id: TASK_ID,
      lease_id: LEASE.lease_id,
      schedule_id: TASK_ID,
      parents: [1],
    })
    expect(bodyOf(receipt)).toMatchObject({ schedule: { name: 'nightly' } })
    expect(decision.opened).toEqual([
      { tenant: 1, principal: 'agent:alice', seq: 3, task_id: TASK_ID },
      { tenant: 1, principal: 'agent:eve', seq: 3, task_id: TASK_ID },
    ])
    expect(decision.tasks).toEqual([])
  })

  test('the creation of a schedule is recorded once', () => {
    const again = scheduled.decide(recordSchedule({ created: 3 }))
    expect(again.answer).toEqual({ seq: 3 })
    expectNoChange(again)
  })

  test('a schedule has the id of its task', () => {
    expect(faultOf(world.decide(recordSchedule({ schedule_id: DELETING }))).details.path).toBe('schedule_id')
  })

  test('creating a schedule requires the lease of its task', () => {
    const lapsed = world.later(60_000)
    expect(faultOf(lapsed.decide(recordSchedule())).code).toBe('LEASE_INVALID_OR_EXPIRED')
    const another = recordSchedule({ holder: 'worker:w2' })
    expect(faultOf(world.decide(another)).code).toBe('LEASE_INVALID_OR_EXPIRED')
    const unleased = new FakeWorld({ tasks: [queuedTask()] })
    expect(faultOf(unleased.decide(recordSchedule())).code).toBe('LEASE_INVALID_OR_EXPIRED')
  })

  test('a deleted schedule cannot be created again', () => {
    const gone = scheduled.after(scheduled.decide(remove()))
    expect(faultOf(gone.decide(recordSchedule({ created: 3 }))).code).toBe('SCHEDULE_NOT_FOUND')
  })
})

describe('deletion of a schedule', () => {
  test('deleting a schedule closes its obligations', () => {
    const decision = scheduled.decide(remove())
    expect(decision.answer).toEqual({ seq: 4 })
    const receipt = receiptOf(decision, 'schedule.deleted')
    expect(receipt).toMatchObject({
      from: LEASE.holder,
      to: 'agent:alice',
      task_id: TASK_ID,
      schedule_id: TASK_ID,
      parents: [3],
    })
    expect(bodyOf(receipt)).toMatchObject({ deleted_by_task_id: DELETING })
    expect(scheduled.after(decision).state.obligations).toEqual([])
  })

  test('the deletion of a schedule is recorded once', () => {
    const again = scheduled.after(scheduled.decide(remove())).decide(remove())
    expect(again.answer).toEqual({ seq: 4 })
    expectNoChange(again)
  })

  test('deleting a missing schedule is refused', () => {
    expect(faultOf(world.decide(remove({ created: null }))).code).toBe('SCHEDULE_NOT_FOUND')
    expect(faultOf(scheduled.decide(remove({ schedule_id: DELETING, asked: 2 }))).code).toBe(
      'SCHEDULE_NOT_FOUND',
    )
  })

  test('only its owner can delete a schedule', () => {
    const tasks = [asking, heldTask({ task_id: DELETING, seq: 2, owner: 'agent:bob' })]
    const other = new FakeWorld({ ...scheduled.state, tasks })
    expect(faultOf(other.decide(remove())).code).toBe('FORBIDDEN')
  })

  test('deleting a schedule requires the lease of the requesting task', () => {
    expect(faultOf(scheduled.decide(remove({ lease_id: TASK_ID }))).code).toBe('LEASE_INVALID_OR_EXPIRED')
  })
})

describe('stale schedule', () => {
  const stale = (changes = {}) => reportStale({ created: 3, ...changes })

  test('a stale schedule writes an anomaly to its owner', () => {
    const decision = scheduled.decide(stale())
    expect(decision.answer).toEqual({ seq: 4 })
    const receipt = receiptOf(decision, 'system.anomaly')
    expect(receipt).toMatchObject({
      from: 'service:asyncgate',
      to: 'agent:alice',
      task_id: TASK_ID,
      schedule_id: TASK_ID,
      parents: [3],
    })
    expect(bodyOf(receipt)).toMatchObject({
      kind: 'stale_schedule',
      details: { schedule_id: TASK_ID, next_run_at: '2025-12-31T23:59:00.000Z', reason: 'QUOTA_EXCEEDED' },
    })
    expect(decision.opened).toEqual([])
  })

  test('a stale schedule is reported once per overdue run', () => {
    const reported = scheduled.after(scheduled.decide(stale()))
    for (const next_run_at of [NOW - 60_000, NOW - 120_000]) {
      const again = reported.decide(stale({ next_run_at }))
      expect(again.answer).toEqual({ seq: 4 })
      expectNoChange(again)
    }
    expect(reported.decide(stale({ next_run_at: NOW - 59_999 })).answer).toEqual({ seq: 5 })
  })

  test('only the scheduler that recorded the schedule and admins can report it as stale', () => {
    expect(faultOf(scheduled.decide(stale({ by: 'worker:w2' }))).code).toBe('FORBIDDEN')
    expect(scheduled.decide(stale({ by: 'human:root', role: 'admin' })).answer).toEqual({ seq: 4 })
  })

  test('only an existing schedule with an overdue run can be reported as stale', () => {
    expect(faultOf(scheduled.decide(stale({ next_run_at: NOW + 1 }))).details.path).toBe('next_run_at')
    expect(faultOf(world.decide(stale())).code).toBe('SCHEDULE_NOT_FOUND')
    const gone = scheduled.after(scheduled.decide(remove()))
    expect(faultOf(gone.decide(stale())).code).toBe('SCHEDULE_NOT_FOUND')
  })
})
