import { describe, expect, test } from 'vitest'
import { canonical } from '../../../src/core/json/json.ts'
import type { DoneTask } from '../../../src/core/task.ts'
import { FakeWorld, heldTask, LEASE, NOW } from '../../support/fake-world.ts'
import {
  ARTIFACTS,
  anomalyKinds,
  bodyOf,
  cancel,
  complete,
  expectNoChange,
  faultOf,
  onlyTask,
  RESULT,
  receiptOf,
  receiptTypes,
} from '../commands.ts'

const held = new FakeWorld({ tasks: [heldTask({ status: 'running' })] })
const unlocated = complete({ artifacts: null })
const PROOF = canonical({ mode: 'email' })
const OWED = { tenant: 1, principal: 'agent:alice', seq: 1, task_id: heldTask().task_id }

describe('complete', () => {
  test('complete ends the task, notifies the owner and closes the obligation', () => {
    const decision = held.decide(
      complete({ delivery_proof: PROOF, result_summary: 'done', completion_metadata: canonical({ ms: 5 }) }),
    )
    expect(decision.answer).toEqual({ seq: 2, obligation_open: false })
    const task = onlyTask(decision) as DoneTask
    expect(task).toMatchObject({ status: 'succeeded', started_at: NOW - 5_000, updated_at: NOW })
    expect(task.lease).toEqual({ lease_id: LEASE.lease_id, holder: 'worker:w1', worker_id: 'label-1' })
    expect(task.outcome).toEqual({
      completed_at: NOW,
      result: RESULT,
      error: null,
      artifacts: ARTIFACTS,
      delivery_proof: PROOF,
      receipt_seq: 2,
      obligation_open: false,
      dead_letter: false,
    })
    expect(receiptTypes(decision)).toEqual(['task.completed', 'task.result_ready'])
    expect(receiptOf(decision, 'task.completed')).toMatchObject({
      from: 'worker:w1',
      to: 'agent:alice',
      parents: [1],
    })
    expect(bodyOf(receiptOf(decision, 'task.completed'))).toMatchObject({
      result_payload: { answer: 42 },
      result_summary: 'done',
      completion_metadata: { ms: 5 },
    })
    expect(receiptOf(decision, 'task.result_ready')).toMatchObject({
      from: 'service:asyncgate',
      lease_id: null,
    })
    expect(decision.closed).toEqual([OWED])
  })

  test('complete also closes the obligation to principal_ai', () => {
    const world = new FakeWorld({ tasks: [heldTask({ principal_ai: 'boss' })] })
    expect(world.decide(complete()).closed.map(({ principal }) => principal)).toEqual([
      'agent:alice',
      'agent:boss',
    ])
  })

  test('complete works without a start', () => {
    const world = new FakeWorld({ tasks: [heldTask()] })
    expect(onlyTask(world.decide(complete()))).toMatchObject({ status: 'succeeded', started_at: null })
  })

  test('a repeated complete returns the same response at any later time and writes nothing', () => {
    const after = held.after(held.decide(complete())).later(86_400_000)
    for (const again of [complete(), complete({ result_summary: 'other words' })]) {
      const decision = after.decide(again)
      expect(decision.answer).toEqual({ seq: 2, obligation_open: false })
      expectNoChange(decision)
    }
  })

  test('a repeated complete without its earlier evidence returns the same response', () => {
    const decision = held.after(held.decide(complete())).decide(unlocated)
    expect(decision.answer).toEqual({ seq: 2, obligation_open: false })
    expectNoChange(decision)
  })

  test.each([
    ['another result', complete({ result: canonical(43) }), 'RESULT_CONFLICT'],
    ['other artifacts', complete({ artifacts: canonical([1]) }), 'RESULT_CONFLICT'],
    ['another delivery proof', complete({ delivery_proof: PROOF }), 'RESULT_CONFLICT'],
    ['another lease', complete({ lease_id: 'other' }), 'LEASE_INVALID_OR_EXPIRED'],
    ['another worker', complete({ holder: 'worker:w2' }), 'LEASE_INVALID_OR_EXPIRED'],
    ['another worker_id', complete({ worker_id: 'label-2' }), 'LEASE_INVALID_OR_EXPIRED'],
  ])('a repeated complete with %s is refused', (_, again, code) => {
    const decision = held.after(held.decide(complete())).decide(again)
    expect(faultOf(decision).code).toBe(code)
    expectNoChange(decision)
  })

  test('complete after a cancellation is refused with the status', () => {
    const canceled = held.after(held.decide(cancel()))
    expect(faultOf(canceled.decide(complete())).details).toMatchObject({ task_status: 'canceled' })
  })
})

describe('completion without evidence', () => {
  const first = held.decide(unlocated)
  const after = held.after(first)

  test('a completion without evidence succeeds, keeps the obligation open and notifies the owner', () => {
    expect(first.answer).toEqual({ seq: 2, obligation_open: true })
    expect(onlyTask(first)).toMatchObject({ status: 'succeeded', outcome: { obligation_open: true } })
    expect(receiptTypes(first)).toEqual(['task.completed', 'task.result_ready', 'system.anomaly'])
    expect(receiptOf(first, 'task.completed').parents).toEqual([])
    expect(anomalyKinds(first)).toEqual(['locatability_missing'])
    expect(receiptOf(first, 'system.anomaly').parents).toEqual([2])
    expect(first.closed).toEqual([])
    expect(after.state.obligations).toEqual([OWED])
  })

  test('a repeated completion without evidence returns obligation_open and writes nothing', () => {
    const again = after.decide(unlocated)
    expect(again.answer).toEqual({ seq: 2, obligation_open: true })
    expectNoChange(again)
  })

  test.each([
    ['artifacts', complete()],
    ['a delivery proof', complete({ artifacts: null, delivery_proof: PROOF })],
  ])('the same lease can add %s, also long after its end', (_, repair) => {
    const decision = after.later(86_400_000).decide(repair)
    expect(decision.answer).toEqual({ seq: 5, obligation_open: false })
    expect(receiptTypes(decision)).toEqual(['task.completed'])
    expect(receiptOf(decision, 'task.completed').parents).toEqual([1])
    expect(decision.closed).toEqual([OWED])
    const before = onlyTask(first) as DoneTask
    expect(onlyTask(decision)).toEqual({
      ...before,
      outcome: {
        ...before.outcome,
        artifacts: repair.artifacts,
        delivery_proof: repair.delivery_proof,
        receipt_seq: 5,
        obligation_open: false,
      },
    })
  })

  test('evidence is added once: a repetition returns the same response, and other evidence is a conflict', () => {
    const repaired = after.after(after.decide(complete()))
    expect(repaired.state.obligations).toEqual([])
    const again = repaired.decide(complete())
    expect(again.answer).toEqual({ seq: 5, obligation_open: false })
    expectNoChange(again)
    expect(faultOf(repaired.decide(complete({ artifacts: PROOF }))).code).toBe('RESULT_CONFLICT')
  })

  test('another worker cannot add evidence, and the result cannot change', () => {
    expect(faultOf(after.decide(complete({ holder: 'worker:w2' }))).code).toBe('LEASE_INVALID_OR_EXPIRED')
    expect(faultOf(after.decide(complete({ result: canonical(43) }))).code).toBe('RESULT_CONFLICT')
  })

  test('a completion without evidence is refused in strict mode, and the lease stays valid', () => {
    const strict = new FakeWorld({ tasks: [heldTask()], settings: { locatability: 'strict' } })
    const refused = strict.decide(unlocated)
    expect(faultOf(refused).code).toBe('LOCATABILITY_REQUIRED')
    expect(strict.after(refused).decide(complete()).answer).toEqual({ seq: 2, obligation_open: false })
  })
})
