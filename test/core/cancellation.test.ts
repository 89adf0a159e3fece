import { describe, expect, test } from 'vitest'
import { afterReport, checkInterrupted, isInterrupted, UNHEARD } from '../../src/core/cancellation.ts'
import type { LeaseClaim } from '../../src/core/command.ts'
import { doneTask, heldTask, LEASE, queuedTask } from '../support/fake-world.ts'
import { refusal } from './refusal.ts'

const ENDED = { lease_id: LEASE.lease_id, holder: LEASE.holder, worker_id: LEASE.worker_id }
const interrupted = doneTask({ status: 'canceled', lease: ENDED })
const claim = (changes: Partial<LeaseClaim> = {}): LeaseClaim => ({
  task_id: interrupted.task_id,
  ...ENDED,
  ...changes,
})

describe('report_cancel', () => {
  test('a report is accepted from the holder of the lease under which the task was canceled', () => {
    expect(checkInterrupted(interrupted, claim())).toBe(interrupted)
  })

  test.each<[string, Partial<LeaseClaim>]>([
    ['another lease', { lease_id: '00000000-0000-4000-8000-000000000000' }],
    ['another principal', { holder: 'worker:w2' }],
    ['another worker_id', { worker_id: 'label-2' }],
  ])('a report is refused for %s', (_, changes) => {
    expect(refusal(() => checkInterrupted(interrupted, claim(changes))).code).toBe('LEASE_INVALID_OR_EXPIRED')
  })

  test('a report is refused while the task is open and when it ended otherwise', () => {
    for (const task of [queuedTask(), heldTask()]) {
      expect(refusal(() => checkInterrupted(task, claim())).code).toBe('INVALID_STATE_TRANSITION')
    }
    for (const task of [
      doneTask({ status: 'succeeded', lease: ENDED }),
      doneTask({ status: 'canceled', lease: null }),
    ]) {
      expect(isInterrupted(task)).toBe(false)
      expect(refusal(() => checkInterrupted(task, claim())).code).toBe('LEASE_INVALID_OR_EXPIRED')
    }
    expect(refusal(() => checkInterrupted(undefined, claim())).code).toBe('TASK_NOT_FOUND')
  })

  test('the first report of each stage counts, in any order', () => {
    const heard = afterReport(UNHEARD, 'acknowledged', 10)
    expect(heard).toEqual({ acknowledged_at: 10, stopped_at: null })
    const stopped = afterReport(heard, 'stopped', 20)
    expect(stopped).toEqual({ acknowledged_at: 10, stopped_at: 20 })
    expect(afterReport(stopped, 'acknowledged', 30)).toEqual(stopped)
    expect(afterReport(stopped, 'stopped', 30)).toEqual(stopped)
    expect(afterReport(UNHEARD, 'stopped', 20)).toEqual({ acknowledged_at: 20, stopped_at: 20 })
  })
})
