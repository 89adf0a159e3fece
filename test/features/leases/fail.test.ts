import { expect, it } from 'vitest'
import { agent, describeGates } from '../../support/gates.ts'
import {
  claim,
  failTask,
  finish,
  hold,
  lease,
  look,
  openTasks,
  receiptsOf,
  receiptTypes,
  refusal,
} from '../../support/steps.ts'

const error = { code: 'E_DISK', message: 'The disk is full', details: { free: 0 } }

describeGates('fail', (open) => {
  it('fail without retryable ends the task, but not as a dead letter', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    clock.advance(3)
    const answer = await failTask(gate, offer, { error })
    expect(answer).toEqual({ ok: true, requeued: false, receipt_id: expect.any(String) })
    const task = await look(gate, offer)
    expect(task).toMatchObject({
      status: 'failed',
      attempt: 0,
      result: {
        outcome: 'failed',
        result: null,
        error,
        artifacts: null,
        completed_at: new Date(clock.now).toISOString(),
      },
    })
    expect(task).not.toHaveProperty('dead_letter')
    expect(await openTasks(gate)).toEqual([])
    expect(await claim(gate)).toEqual([])
  })

  it('fail writes the receipts that prove it', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const { receipt_id } = await failTask(gate, offer, { error })
    const [assigned, , failed, ready, ...more] = await receiptsOf(gate, offer)
    const owner = { kind: 'agent', id: 'alice' }
    expect(failed).toMatchObject({
      receipt_id,
      receipt_type: 'task.failed',
      from: { kind: 'worker', id: 'w1' },
      to: owner,
      parents: [assigned?.receipt_id],
      lease_id: offer.lease_id,
      body: { error, retry_recommended: false, retry_after_seconds: null },
    })
    expect(ready).toMatchObject({
      receipt_type: 'task.result_ready',
      to: owner,
      parents: [assigned?.receipt_id],
      body: { status: 'failed', error, result_payload: null },
    })
    expect(more).toEqual([])
  })

  it('fail with retryable requeues the task after a backoff that doubles', async () => {
    const { gate, clock } = await open()
    let offer = await hold(gate, { max_attempts: 5, retry_backoff_seconds: 20 })
    for (const [attempt, seconds] of [
      [1, 20],
      [2, 40],
      [3, 80],
      [4, 160],
    ] as const) {
      const next_eligible_at = new Date(clock.now + seconds * 1000).toISOString()
      expect(await failTask(gate, offer, { retryable: true })).toEqual({
        ok: true,
        requeued: true,
        next_eligible_at,
        receipt_id: expect.any(String),
      })
      expect(await look(gate, offer)).toMatchObject({ status: 'queued', attempt, next_eligible_at })
      clock.advance(seconds - 0.001)
      expect(await claim(gate)).toEqual([])
      clock.advance(0.001)
      offer = await lease(gate)
      expect(offer).toMatchObject({ attempt, max_attempts: 5 })
    }
    await finish(gate, offer)
    expect(await look(gate, offer)).toMatchObject({ status: 'succeeded', attempt: 4 })
  })

  it('fail uses the default backoff, limited by the maximum', async () => {
    const { gate, clock } = await open()
    const wait = async (offer: Parameters<typeof failTask>[1]) => {
      const { next_eligible_at = '' } = await failTask(gate, offer, { retryable: true })
      return (Date.parse(next_eligible_at) - clock.now) / 1000
    }
    expect(await wait(await hold(gate))).toBe(15)
    let offer = await hold(gate, { type: 'other', max_attempts: 9, retry_backoff_seconds: 400 })
    const waits = []
    for (let n = 0; n < 5; n++) {
      waits.push(await wait(offer))
      clock.advance(900)
      offer = await lease(gate, { accept_types: ['other'] })
    }
    expect(waits).toEqual([400, 800, 900, 900, 900])
  })

  it('retry_after_seconds replaces the backoff, and zero retries immediately', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate, { max_attempts: 3 })
    const later = new Date(clock.now + 5_000_000).toISOString()
    expect(await failTask(gate, offer, { retryable: true, retry_after_seconds: 5000 })).toMatchObject({
      next_eligible_at: later,
    })
    clock.advance(4999)
    expect(await claim(gate)).toEqual([])
    clock.advance(1)
    const again = await lease(gate)
    await failTask(gate, again, { retryable: true, retry_after_seconds: 0 })
    expect(await lease(gate)).toMatchObject({ task_id: offer.task_id, attempt: 2 })
  })

  it('fail notifies the owner when the task is retried', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    const { receipt_id, next_eligible_at } = await failTask(gate, offer, { error, retryable: true })
    const [assigned, , scheduled, ...more] = await receiptsOf(gate, offer)
    expect(scheduled).toMatchObject({
      receipt_id,
      receipt_type: 'task.retry_scheduled',
      from: { kind: 'worker', id: 'w1' },
      to: { kind: 'agent', id: 'alice' },
      parents: [assigned?.receipt_id],
      lease_id: offer.lease_id,
      body: { attempt: 1, max_attempts: 2, error, next_eligible_at, requeued: true },
    })
    expect(more).toEqual([])
    expect(await openTasks(gate)).toEqual([offer.task_id])
    clock.advance(15)
    await finish(gate, await lease(gate))
    expect(await receiptTypes(gate, offer)).toEqual([
      'task.assigned',
      'task.accepted',
      'task.retry_scheduled',
      'task.accepted',
      'task.completed',
      'task.result_ready',
    ])
  })

  it('fail of the last attempt ends the task as a dead letter', async () => {
    const { gate, clock } = await open()
    const first = await hold(gate)
    await failTask(gate, first, { retryable: true })
    clock.advance(15)
    const last = await lease(gate)
    expect(await failTask(gate, last, { error, retryable: true, retry_after_seconds: 60 })).toEqual({
      ok: true,
      requeued: false,
      receipt_id: expect.any(String),
    })
    expect(await look(gate, first)).toMatchObject({
      status: 'failed',
      dead_letter: true,
      attempt: 1,
      result: { error },
    })
    expect((await receiptTypes(gate, first)).slice(-2)).toEqual(['task.failed', 'task.result_ready'])
    expect(await openTasks(gate)).toEqual([])
  })

  it('fail of the only attempt ends the task immediately', async () => {
    const { gate } = await open()
    const offer = await hold(gate, { max_attempts: 1 })
    expect(await failTask(gate, offer, { retryable: true })).toMatchObject({ requeued: false })
    expect(await look(gate, offer)).toMatchObject({ status: 'failed', dead_letter: true, attempt: 0 })
  })

  it('fail is idempotent under the same lease', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const answer = await failTask(gate, offer, { error })
    expect(await failTask(gate, offer, { error })).toEqual(answer)
    expect(await failTask(gate, offer, { error, retryable: true })).toEqual(answer)
    expect(await receiptTypes(gate, offer)).toHaveLength(4)
    expect(await look(gate, offer)).toMatchObject({ status: 'failed' })
  })

  it('fail after complete, and complete after fail, are refused', async () => {
    const { gate } = await open()
    const done = await hold(gate)
    await finish(gate, done)
    expect(await refusal(failTask(gate, done))).toMatchObject({
      code: 'LEASE_INVALID_OR_EXPIRED',
      details: { task_status: 'succeeded' },
    })
    const failed = await hold(gate)
    await failTask(gate, failed)
    expect(await refusal(finish(gate, failed))).toMatchObject({
      code: 'LEASE_INVALID_OR_EXPIRED',
      details: { task_status: 'failed' },
    })
  })

  it('fail requires an error object and valid times', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const wrong = [
      ['error', 'text'],
      ['error', undefined],
      ['error', ['x']],
      ['retryable', 'yes'],
      ['retry_after_seconds', -1],
      ['retry_after_seconds', 0.5],
      ['retry_after_seconds', 400 * 24 * 3600],
    ] as const
    for (const [path, value] of wrong) {
      expect(await refusal(failTask(gate, offer, { retryable: true, [path]: value })), path).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path },
      })
    }
    expect(await gate.getTask(agent(), { task_id: offer.task_id })).toMatchObject({ status: 'leased' })
  })
})
