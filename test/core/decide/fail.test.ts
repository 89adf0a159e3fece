import { describe, expect, test } from 'vitest'
import { canonical } from '../../../src/core/json/json.ts'
import type { DoneTask } from '../../../src/core/task.ts'
import { FakeWorld, heldTask, NOW } from '../../support/fake-world.ts'
import {
  anomalyKinds,
  bodyOf,
  expectNoChange,
  fail,
  faultOf,
  onlyTask,
  receiptOf,
  receiptTypes,
  release,
} from '../commands.ts'

const ERROR = canonical({ code: 'BROKEN' })

describe('retryable failure', () => {
  test('a retryable failure requeues the task, counts an attempt and delays the retry', () => {
    const task = heldTask({ status: 'running', max_attempts: 3, expiry_count: 2, fence: 4 })
    const decision = new FakeWorld({ tasks: [task] }).decide(fail())
    expect(decision.answer).toEqual({ requeued: true, next_eligible_at: NOW + 15_000, seq: 2 })
    const queued = onlyTask(decision)
    expect(queued).toMatchObject({
      status: 'queued',
      attempt: 1,
      expiry_count: 2,
      fence: 4,
      rank: task.rank,
      next_eligible_at: NOW + 15_000,
    })
    expect('lease' in queued).toBe(false)
    expect(receiptTypes(decision)).toEqual(['task.retry_scheduled'])
    expect(receiptOf(decision, 'task.retry_scheduled')).toMatchObject({ from: 'worker:w1', parents: [1] })
    expect(bodyOf(receiptOf(decision, 'task.retry_scheduled'))).toEqual({
      schema_version: '1',
      attempt: 1,
      max_attempts: 3,
      error: { code: 'BROKEN' },
      next_eligible_at: '2026-01-01T00:00:15.000Z',
      requeued: true,
    })
    expect(decision.closed).toEqual([])
  })

  test.each([
    [0, 15],
    [1, 30],
    [2, 60],
    [6, 900],
  ])('a failure after %d others is retried after %d s', (attempt, seconds) => {
    const decision = new FakeWorld({ tasks: [heldTask({ attempt, max_attempts: 10 })] }).decide(fail())
    expect(decision.answer).toMatchObject({ next_eligible_at: NOW + seconds * 1000 })
  })

  test('retry_after of the worker replaces the backoff, also beyond its maximum', () => {
    const world = new FakeWorld({ tasks: [heldTask()] })
    expect(onlyTask(world.decide(fail({ retry_after_ms: 3_600_000 })))).toMatchObject({
      next_eligible_at: NOW + 3_600_000,
    })
  })

  test.each([
    ['the worker says 0', heldTask(), fail({ retry_after_ms: 0 })],
    ['the backoff is 0', heldTask({ retry_backoff_seconds: 0 }), fail()],
  ])('a failed task is ready immediately if %s', (_, task, asked) => {
    const decision = new FakeWorld({ tasks: [task] }).decide(asked)
    expect(onlyTask(decision)).toMatchObject({ status: 'queued', next_eligible_at: null })
    expect(decision.answer).toMatchObject({ next_eligible_at: NOW })
  })
})

describe('final failure', () => {
  test('a failure that is not retryable ends the task, notifies the owner and closes the obligation', () => {
    const decision = new FakeWorld({ tasks: [heldTask()] }).decide(fail({ retryable: false }))
    expect(decision.answer).toEqual({ requeued: false, next_eligible_at: null, seq: 2 })
    const task = onlyTask(decision) as DoneTask
    expect(task).toMatchObject({ status: 'failed', attempt: 0 })
    expect(task.outcome).toMatchObject({ result: null, error: ERROR, receipt_seq: 2, dead_letter: false })
    expect(receiptTypes(decision)).toEqual(['task.failed', 'task.result_ready'])
    expect(receiptOf(decision, 'task.failed')).toMatchObject({ from: 'worker:w1', parents: [1] })
    expect(bodyOf(receiptOf(decision, 'task.failed'))).toMatchObject({
      error: { code: 'BROKEN' },
      retry_recommended: false,
      retry_after_seconds: null,
    })
    expect(bodyOf(receiptOf(decision, 'task.result_ready'))).toMatchObject({
      status: 'failed',
      result_payload: null,
    })
    expect(decision.closed).toHaveLength(1)
  })

  test('a retryable failure of the last attempt ends the task as a dead letter', () => {
    const decision = new FakeWorld({ tasks: [heldTask({ attempt: 1 })] }).decide(
      fail({ retry_after_ms: 1500 }),
    )
    expect(onlyTask(decision)).toMatchObject({ status: 'failed', attempt: 1, outcome: { dead_letter: true } })
    expect(bodyOf(receiptOf(decision, 'task.failed'))).toMatchObject({
      retry_recommended: true,
      retry_after_seconds: 2,
    })
  })

  test('exhausted retries are escalated to the target or the owner if escalation is enabled', () => {
    const escalations = (settings: object, retryable = true) =>
      new FakeWorld({ tasks: [heldTask({ attempt: 1 })], settings })
        .decide(fail({ retryable }))
        .receipts.filter((receipt) => receipt.receipt_type === 'task.escalated')
        .map((receipt) => [receipt.to, bodyOf(receipt).escalation_reason])
    expect(escalations({})).toEqual([])
    expect(escalations({ escalation_enabled: true })).toEqual([['agent:alice', 'max_retries_exceeded']])
    expect(escalations({ escalation_enabled: true, escalation_target: 'human:ops' })).toEqual([
      ['human:ops', 'max_retries_exceeded'],
    ])
    expect(escalations({ escalation_enabled: true }, false)).toEqual([])
  })

  test('a repeated fail returns the same response and writes nothing', () => {
    const world = new FakeWorld({ tasks: [heldTask()] })
    const after = world.after(world.decide(fail({ retryable: false })))
    const again = after.later(3_600_000).decide(fail({ retryable: false }))
    expect(again.answer).toEqual({ requeued: false, next_eligible_at: null, seq: 2 })
    expectNoChange(again)
    expect(faultOf(after.decide(fail({ lease_id: 'other' }))).code).toBe('LEASE_INVALID_OR_EXPIRED')
  })
})

describe('task that is queued with exhausted attempts', () => {
  const overdrawn = (changes = {}) => heldTask({ attempt: 2, max_attempts: 2, ...changes })

  test('requeuing a task with exhausted attempts writes an anomaly', () => {
    const decision = new FakeWorld({ tasks: [overdrawn()] }).decide(release())
    expect(onlyTask(decision).status).toBe('queued')
    expect(anomalyKinds(decision)).toEqual(['max_attempts_exceeded'])
    expect(bodyOf(receiptOf(decision, 'system.anomaly')).details).toEqual({ attempt: 2, max_attempts: 2 })
    expect(receiptOf(decision, 'system.anomaly')).toMatchObject({
      from: 'service:asyncgate',
      to: 'agent:alice',
      parents: [1],
    })
  })

  test('requeuing a task with an attempt left writes no anomaly', () => {
    expect(anomalyKinds(new FakeWorld({ tasks: [overdrawn({ attempt: 1 })] }).decide(release()))).toEqual([])
  })

  test('a failure of the last attempt ends the task and writes no anomaly', () => {
    let world = new FakeWorld({ tasks: [heldTask({ max_attempts: 1 })] })
    const decision = world.decide(fail())
    world = world.after(decision)
    expect(onlyTask(decision).status).toBe('failed')
    expect(anomalyKinds(decision)).toEqual([])
  })
})
