import { expect, it } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { admin, agent, caller, describeGates, worker } from '../../support/gates.ts'
import {
  ask,
  at,
  claim,
  failTask,
  finish,
  held,
  hold,
  lease,
  look,
  receiptTypes,
  refusal,
  statusOf,
} from '../../support/steps.ts'

type LeaseCall = readonly [
  name: string,
  call: (gate: Gate, by: ReturnType<typeof worker>, names: object) => Promise<unknown>,
]

/** Every operation that a lease holder can call. */
const CALLS: readonly LeaseCall[] = [
  ['start', (gate, by, names) => gate.startTask(by, names)],
  ['renew', (gate, by, names) => gate.renewLease(by, names)],
  ['progress', (gate, by, names) => gate.reportProgress(by, { ...names, progress: { percent: 1 } })],
  ['complete', (gate, by, names) => gate.complete(by, { ...names, result: 1, artifacts: ['x'] })],
  ['fail', (gate, by, names) => gate.fail(by, { ...names, error: {} })],
  ['release', (gate, by, names) => gate.releaseLease(by, names)],
]

const LOST = 'LEASE_INVALID_OR_EXPIRED'

describeGates('calls of a lease holder', (open) => {
  /** Every call is refused with the status of the task, and none changes anything. */
  async function expectLost(gate: Gate, names: ReturnType<typeof held>, task_status: string, by = worker()) {
    const seen = async () => {
      // The acknowledgement of a cancellation is stored beside the task.
      const { cancellation: _, ...task } = await look(gate, names)
      return [task, await receiptTypes(gate, names)]
    }
    const before = await seen()
    for (const [name, call] of CALLS) {
      expect(await refusal(call(gate, by, names)), name).toMatchObject({
        code: LOST,
        retryable: false,
        details: { task_id: names.task_id, task_status },
      })
    }
    expect(await seen()).toEqual(before)
  }

  it('a call is refused with a wrong lease id, worker id or principal', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const names = held(offer)
    const other = await hold(gate)
    await expectLost(gate, { ...names, lease_id: other.lease_id }, 'leased')
    await expectLost(gate, { ...names, lease_id: 'nonsense' }, 'leased')
    await expectLost(gate, { ...names, worker_id: 'w2' }, 'leased')
    await expectLost(gate, names, 'leased', worker('w2'))
    await expectLost(gate, names, 'leased', caller('service', 'w1', 'worker'))
    await expectLost(gate, names, 'leased', admin())
    expect(await gate.renewLease(worker(), names)).toMatchObject({ ok: true })
  })

  it('a call works until the lease expires and not after, with or without a sweep', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate, {}, { lease_ttl_seconds: 10 })
    clock.advance(9.999)
    expect(await gate.startTask(worker(), held(offer))).toMatchObject({ ok: true })
    clock.advance(0.001)
    await expectLost(gate, held(offer), 'running')
    await gate.sweep()
    await expectLost(gate, held(offer), 'queued')
  })

  it('a call is refused after the lease was released, also while another worker holds the task', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await gate.releaseLease(worker(), held(offer))
    await expectLost(gate, held(offer), 'queued')
    const next = await lease(gate, {}, worker('w2'))
    await expectLost(gate, held(offer), 'leased')
    await gate.complete(worker('w2'), { ...held(next, 'w2'), result: null, artifacts: ['x'] })
    await expectLost(gate, held(offer), 'succeeded')
  })

  it('a call is refused when the same worker has claimed the task again', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    clock.advance(120)
    await gate.sweep()
    clock.advance(5)
    const again = await lease(gate)
    expect(again.task_id).toBe(offer.task_id)
    await expectLost(gate, held(offer), 'leased')
    expect(await finish(gate, again)).toMatchObject({ ok: true })
  })

  it('a call is refused after a failure that is retried', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await failTask(gate, offer, { retryable: true })
    await expectLost(gate, held(offer), 'queued')
  })

  it('a call is refused when the task was canceled', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await gate.cancelTask(agent(), { task_id: offer.task_id })
    await expectLost(gate, held(offer), 'canceled')
  })

  it('a call does not find a missing task, a malformed id, or a task of another tenant', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await ask(gate, {}, agent('alice', 'other'))
    const theirs = await lease(gate, {}, worker('w1', 'other'))
    const unknown = [
      held({ ...offer, task_id: '01234567-89ab-7def-8123-456789abcdef' }),
      held({ ...offer, task_id: 'nonsense' }),
      held(theirs),
    ]
    for (const names of unknown) {
      for (const [name, call] of CALLS) {
        expect(await refusal(call(gate, worker(), names)), name).toMatchObject({ code: 'TASK_NOT_FOUND' })
      }
    }
    expect(await gate.startTask(worker('w1', 'other'), held(theirs))).toMatchObject({ ok: true })
  })

  it('a call requires worker_id, task_id and lease_id', async () => {
    const { gate } = await open()
    const names = held(await hold(gate))
    for (const field of ['worker_id', 'task_id', 'lease_id']) {
      for (const [name, call] of CALLS) {
        expect(await refusal(call(gate, worker(), { ...names, [field]: undefined })), name).toMatchObject({
          code: 'VALIDATION_ERROR',
          details: { path: field },
        })
      }
    }
  })
})

describeGates('start_task', (open) => {
  it('start_task marks the task as running, once', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    clock.advance(3)
    const started_at = new Date(clock.now).toISOString()
    const answer = { ok: true, status: 'running', started_at }
    expect(await gate.startTask(worker(), held(offer))).toEqual(answer)
    clock.advance(3)
    expect(await gate.startTask(worker(), held(offer))).toEqual(answer)
    expect(await look(gate, offer)).toMatchObject({ status: 'running', started_at })
    expect(await receiptTypes(gate, offer)).toEqual(['task.assigned', 'task.accepted', 'task.started'])
  })

  it('start_task starts again under the next lease', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    await gate.startTask(worker(), held(offer))
    await gate.releaseLease(worker(), held(offer))
    expect(await look(gate, offer)).toMatchObject({ status: 'queued', started_at: null })
    clock.advance(3)
    const { started_at } = await gate.startTask(worker(), held(await lease(gate)))
    expect(started_at).toBe(new Date(clock.now).toISOString())
  })
})

describeGates('release_lease', (open) => {
  it('release_lease requeues the task immediately at its old place, without counting an attempt', async () => {
    const { gate } = await open()
    const offer = await hold(gate, { max_attempts: 1 })
    await ask(gate)
    expect(await gate.releaseLease(worker(), held(offer))).toEqual({ ok: true, status: 'queued' })
    expect(await look(gate, offer)).toMatchObject({
      status: 'queued',
      attempt: 0,
      expiry_count: 0,
      next_eligible_at: null,
    })
    expect(at(await claim(gate, { max_tasks: 2 }), 0)).toMatchObject({ task_id: offer.task_id, attempt: 0 })
    expect(await receiptTypes(gate, offer)).toEqual([
      'task.assigned',
      'task.accepted',
      'lease.released',
      'task.accepted',
    ])
  })

  it('release_lease works for a running task', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await gate.startTask(worker(), held(offer))
    await gate.releaseLease(worker(), held(offer))
    expect(await statusOf(gate, offer)).toBe('queued')
  })
})
