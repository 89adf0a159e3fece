import { expect, it } from 'vitest'
import { agent, describeGates, worker } from '../../support/gates.ts'
import {
  ARTIFACTS,
  finish,
  held,
  hold,
  look,
  openTasks,
  receiptsOf,
  receiptTypes,
  refusal,
} from '../../support/steps.ts'

describeGates('complete', (open) => {
  it('complete stores the result and shows it', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    clock.advance(7)
    const result = { text: 'fertig', list: [1, null] }
    const answer = await finish(gate, offer, { result })
    expect(answer).toEqual({ ok: true, receipt_id: expect.any(String), obligation_open: false })
    expect(await gate.getTask(agent(), { task_id: offer.task_id })).toMatchObject({
      status: 'succeeded',
      result: {
        outcome: 'succeeded',
        result,
        error: null,
        artifacts: ARTIFACTS,
        completed_at: new Date(clock.now).toISOString(),
      },
    })
    expect(await openTasks(gate)).toEqual([])
  })

  it('complete writes exactly the chain of receipts that proves it', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const { receipt_id } = await finish(gate, offer, {
      result: { n: 1 },
      result_summary: 'One',
      completion_metadata: { tokens: 12 },
    })
    const receipts = await receiptsOf(gate, offer)
    const [assigned, ...others] = receipts
    const owner = { kind: 'agent', id: 'alice' }
    const parents = [assigned?.receipt_id]
    expect(assigned).toMatchObject({ receipt_type: 'task.assigned', to: owner, parents: [], lease_id: null })
    expect(others).toMatchObject([
      {
        receipt_type: 'task.accepted',
        from: { kind: 'worker', id: 'w1' },
        to: owner,
        parents,
        lease_id: offer.lease_id,
        body: { worker_capabilities: [] },
      },
      {
        receipt_id,
        receipt_type: 'task.completed',
        from: { kind: 'worker', id: 'w1' },
        to: owner,
        parents,
        lease_id: offer.lease_id,
        body: {
          result_payload: { n: 1 },
          result_summary: 'One',
          completion_metadata: { tokens: 12 },
          artifacts: ARTIFACTS,
          schema_version: '1',
        },
      },
      {
        receipt_type: 'task.result_ready',
        from: { kind: 'service', id: 'asyncgate' },
        to: owner,
        parents,
        lease_id: null,
        body: { status: 'succeeded', result_payload: { n: 1 }, artifacts: ARTIFACTS, error: null },
      },
    ])
    expect(receipts.map((receipt) => receipt.seq)).toEqual([1, 2, 3, 4])
    expect(new Set(receipts.map((receipt) => receipt.hash)).size).toBe(4)
    expect(receipts.every((receipt) => receipt.tenant_id === 'default')).toBe(true)
  })

  it('complete works with and without a start', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await gate.startTask(worker(), held(offer))
    await finish(gate, offer)
    expect(await receiptTypes(gate, offer)).toEqual([
      'task.assigned',
      'task.accepted',
      'task.started',
      'task.completed',
      'task.result_ready',
    ])
  })

  it('complete is idempotent for the same result', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    const first = await finish(gate, offer, { result: { a: 1, b: 2 } })
    const before = [await look(gate, offer), await receiptTypes(gate, offer)]
    clock.advance(100_000)
    expect(await finish(gate, offer, { result: { b: 2, a: 1 } })).toEqual(first)
    expect(await finish(gate, offer, { result: { a: 1, b: 2 }, artifacts: undefined })).toEqual(first)
    expect([await look(gate, offer), await receiptTypes(gate, offer)]).toEqual(before)
  })

  it('concurrent repetitions of complete happen once', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const answers = await Promise.all(Array.from({ length: 20 }, () => finish(gate, offer)))
    expect(new Set(answers.map((answer) => answer.receipt_id)).size).toBe(1)
    expect(await receiptTypes(gate, offer)).toHaveLength(4)
  })

  it('complete with another result or other evidence is a conflict, and the first result stays', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await finish(gate, offer, { result: 1 })
    const before = await look(gate, offer)
    for (const other of [{ result: 2 }, { result: null }, { result: 1, artifacts: ['elsewhere'] }]) {
      expect(await refusal(finish(gate, offer, other))).toMatchObject({
        code: 'RESULT_CONFLICT',
        details: { task_id: offer.task_id },
      })
    }
    expect(await look(gate, offer)).toEqual(before)
    expect(await receiptTypes(gate, offer)).toHaveLength(4)
  })

  it('complete requires a result, which may be null', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    expect(await refusal(finish(gate, offer, { result: undefined }))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'result' },
    })
    await finish(gate, offer, { result: null })
    expect((await look(gate, offer)).result).toMatchObject({ result: null })
  })
})
