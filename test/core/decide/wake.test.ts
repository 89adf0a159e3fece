import { describe, expect, test } from 'vitest'
import type { DoneTask, HeldTask, QueuedTask, Task } from '../../../src/core/task.ts'
import { doneTask, FakeWorld, heldTask, LEASE, NOW, queuedTask } from '../../support/fake-world.ts'
import { anomalyKinds, bodyOf, expectNoChange, onlyTask, receiptOf, receiptTypes, wake } from '../commands.ts'

/** The world with this task at the instant its lease expires. */
const expired = (changes: Partial<HeldTask> = {}, settings = {}, seed = 1) =>
  new FakeWorld({ tasks: [heldTask(changes)], settings, seed, now: LEASE.expires_at })

describe('wake', () => {
  test.each<[string, Task[], unknown]>([
    ['a task with a valid lease', [heldTask({ lease: { ...LEASE, expires_at: NOW + 1 } })], 'leased'],
    ['a task that is still delayed', [queuedTask({ next_eligible_at: NOW + 1 })], 'queued'],
    ['a task that is ready', [queuedTask()], 'queued'],
    ['a task that succeeded', [doneTask()], 'succeeded'],
    ['a task that failed', [doneTask({ status: 'failed' })], 'failed'],
    ['a task that was canceled', [doneTask({ status: 'canceled' })], 'canceled'],
    ['a missing task', [], null],
  ])('wake does nothing to %s', (_, tasks, status) => {
    const decision = new FakeWorld({ tasks }).decide(wake())
    expect(decision.answer).toEqual({ status })
    expectNoChange(decision)
  })

  test('wake makes a delayed task ready when it is due, without a receipt', () => {
    for (const late of [0, 1, 60_000]) {
      const task = queuedTask({ next_eligible_at: NOW - late })
      const decision = new FakeWorld({ tasks: [task] }).decide(wake())
      expect(onlyTask(decision)).toEqual({ ...task, next_eligible_at: null })
      expect(decision.receipts).toEqual([])
    }
  })

  test('a repeated wake does nothing', () => {
    const world = expired()
    const after = world.after(world.decide(wake()))
    expectNoChange(after.decide(wake()))
  })
})

describe('expired lease', () => {
  test.each(['leased', 'running'] as const)(
    'an expired lease of a %s task counts as an expiry and not as an attempt, and is reported',
    (status) => {
      const task = heldTask({ status, attempt: 1, max_attempts: 3, expiry_count: 1, fence: 6 })
      const decision = new FakeWorld({ tasks: [task], now: LEASE.expires_at }).decide(wake())
      expect(decision.answer).toEqual({ status: 'queued' })
      const queued = onlyTask(decision)
      expect(queued).toMatchObject({
        status: 'queued',
        attempt: 1,
        expiry_count: 2,
        fence: 6,
        rank: task.rank,
      })
      expect('lease' in queued).toBe(false)
      expect(receiptTypes(decision)).toEqual(['lease.expired'])
      expect(receiptOf(decision, 'lease.expired')).toMatchObject({
        from: 'service:asyncgate',
        to: 'agent:alice',
        lease_id: LEASE.lease_id,
        parents: [1],
      })
      expect(bodyOf(receiptOf(decision, 'lease.expired'))).toEqual({
        schema_version: '1',
        task_id: task.task_id,
        previous_worker_id: 'label-1',
        attempt: 1,
        expiry_count: 2,
        requeued: true,
      })
      expect(decision.closed).toEqual([])
    },
  )

  test('a task with an expired lease becomes ready after 0 to 5 s of jitter', () => {
    const delays = Array.from({ length: 300 }, (_, seed) => {
      const queued = onlyTask(expired({}, {}, seed).decide(wake())) as QueuedTask
      return (queued.next_eligible_at ?? Number.NaN) - LEASE.expires_at
    })
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...delays)).toBeLessThan(5000)
    for (let second = 0; second < 5; second++) {
      const inside = delays.filter((delay) => Math.floor(delay / 1000) === second)
      expect(inside.length).toBeGreaterThan(30)
    }
    expect(delays.every(Number.isInteger)).toBe(true)
  })

  test('the fourth expiry writes an anomaly, and no other does', () => {
    const anomalies = [0, 1, 2, 3, 4, 5].map((expiry_count) =>
      anomalyKinds(expired({ expiry_count }).decide(wake())),
    )
    expect(anomalies).toEqual([[], [], [], ['repeated_lease_expiry'], [], []])
  })

  test('the last allowed expiry ends the task as a dead letter and closes the obligation', () => {
    const decision = expired({ expiry_count: 9, attempt: 1 }).decide(wake())
    expect(decision.answer).toEqual({ status: 'failed' })
    const task = onlyTask(decision) as DoneTask
    expect(task).toMatchObject({
      status: 'failed',
      expiry_count: 10,
      attempt: 1,
      outcome: { dead_letter: true },
    })
    expect(JSON.parse(task.outcome.error ?? '')).toEqual({
      code: 'LEASE_EXPIRY_LIMIT',
      message: 'The lease expired 10 times.',
    })
    expect(receiptTypes(decision)).toEqual(['lease.expired', 'task.failed', 'task.result_ready'])
    expect(bodyOf(receiptOf(decision, 'lease.expired'))).toMatchObject({ expiry_count: 10, requeued: false })
    expect(receiptOf(decision, 'task.failed')).toMatchObject({ from: 'service:asyncgate', parents: [1] })
    expect(task.outcome.receipt_seq).toBe(receiptOf(decision, 'task.failed').seq)
    expect(decision.closed).toHaveLength(1)
  })

  test('an expiry below the limit requeues the task', () => {
    expect(onlyTask(expired({ expiry_count: 8 }).decide(wake())).status).toBe('queued')
    expect(onlyTask(expired({ max_expiries: 1 }).decide(wake())).status).toBe('failed')
  })

  test('an expiry is escalated if escalation is enabled', () => {
    const decision = expired({}, { escalation_enabled: true, escalation_target: 'human:ops' }).decide(wake())
    expect(receiptOf(decision, 'task.escalated')).toMatchObject({ to: 'human:ops', lease_id: LEASE.lease_id })
    expect(bodyOf(receiptOf(decision, 'task.escalated'))).toEqual({
      schema_version: '1',
      escalation_class: 'policy',
      escalation_reason: 'lease_expired',
      escalation_to: 'human:ops',
    })
  })
})

describe('execution timeout', () => {
  /** The lease ends at the timeout, since no lease exceeds it. */
  const timeout_seconds = (LEASE.expires_at - LEASE.acquired_at) / 1000

  test('a timeout at the instant of the expiry counts as a failure', () => {
    const decision = expired({ timeout_seconds, status: 'running' }).decide(wake())
    expect(decision.answer).toEqual({ status: 'queued' })
    expect(onlyTask(decision)).toMatchObject({
      status: 'queued',
      attempt: 1,
      expiry_count: 0,
      next_eligible_at: LEASE.expires_at + 15_000,
    })
    expect(receiptTypes(decision)).toEqual(['task.retry_scheduled'])
    expect(receiptOf(decision, 'task.retry_scheduled').from).toBe('service:asyncgate')
    expect(bodyOf(receiptOf(decision, 'task.retry_scheduled')).error).toEqual({
      code: 'EXECUTION_TIMEOUT',
      message: 'The work did not end within 60 s.',
    })
  })

  test('a timeout of the last attempt ends the task', () => {
    const decision = expired({ timeout_seconds, attempt: 1 }).decide(wake())
    expect(decision.answer).toEqual({ status: 'failed' })
    expect(onlyTask(decision)).toMatchObject({
      status: 'failed',
      expiry_count: 0,
      outcome: { dead_letter: true },
    })
    expect(receiptTypes(decision)).toEqual(['task.failed', 'task.result_ready'])
    expect(receiptOf(decision, 'task.failed').from).toBe('service:asyncgate')
  })

  test('a lease that expires before the timeout counts as an expiry, even if it is detected later', () => {
    const world = expired({ timeout_seconds: timeout_seconds + 1 })
    for (const late of [0, 1_000, 3_600_000]) {
      const decision = world.later(late).decide(wake())
      expect(receiptTypes(decision)).toEqual(['lease.expired'])
      expect(onlyTask(decision)).toMatchObject({ attempt: 0, expiry_count: 1 })
    }
  })

  test('a timeout that is detected late counts as a timeout', () => {
    const decision = expired({ timeout_seconds }).later(3_600_000).decide(wake())
    expect(receiptTypes(decision)).toEqual(['task.retry_scheduled'])
  })
})

describe('deadline', () => {
  test('a deadline at the instant of a timeout and an expiry fails the task', () => {
    const timeout_seconds = (LEASE.expires_at - LEASE.acquired_at) / 1000
    const decision = expired({ timeout_seconds, deadline_at: LEASE.expires_at, max_attempts: 9 }).decide(
      wake(),
    )
    expect(decision.answer).toEqual({ status: 'failed' })
    expect(onlyTask(decision)).toMatchObject({ status: 'failed', attempt: 0, expiry_count: 0 })
    expect(receiptTypes(decision)).toEqual(['task.failed', 'task.result_ready'])
    expect(receiptOf(decision, 'task.failed')).toMatchObject({ lease_id: LEASE.lease_id, parents: [1] })
    expect(decision.closed).toHaveLength(1)
  })

  test('a lease that expires before the deadline counts as an expiry, even if it is detected later', () => {
    const deadline_at = LEASE.expires_at + 1
    const world = expired({ deadline_at }).later(3_600_000)
    const decision = world.decide(wake())
    expect(receiptTypes(decision)).toEqual(['lease.expired'])
    expect(onlyTask(decision)).toMatchObject({ status: 'queued', next_eligible_at: deadline_at })
    expect(receiptTypes(world.after(decision).decide(wake()))).toEqual(['task.failed', 'task.result_ready'])
  })

  test.each([NOW - 1, NOW])(
    'a deadline that has passed fails a ready and a delayed task (%d)',
    (deadline_at) => {
      for (const next_eligible_at of [null, deadline_at]) {
        const tasks = [queuedTask({ deadline_at, next_eligible_at })]
        const decision = new FakeWorld({ tasks }).decide(wake())
        expect(decision.answer).toEqual({ status: 'failed' })
        expect(receiptOf(decision, 'task.failed')).toMatchObject({
          from: 'service:asyncgate',
          lease_id: null,
        })
      }
    },
  )

  test('a future deadline does not prevent the end of a delay', () => {
    const task = queuedTask({ deadline_at: NOW + 1, next_eligible_at: NOW })
    expect(onlyTask(new FakeWorld({ tasks: [task] }).decide(wake()))).toEqual({
      ...task,
      next_eligible_at: null,
    })
  })
})
