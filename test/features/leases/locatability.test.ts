import { expect, it } from 'vitest'
import type { JsonObject } from '../../../src/core/json/json.ts'
import { agent, describeGates, worker } from '../../support/gates.ts'
import {
  ARTIFACTS,
  anomalies,
  at,
  finish,
  held,
  hold,
  lease,
  look,
  openTasks,
  receiptsOf,
  receiptTypes,
  refusal,
  refusals,
  statusOf,
} from '../../support/steps.ts'

describeGates('completion without evidence', (open) => {
  const bare = { artifacts: undefined }

  it('a completion without evidence succeeds, keeps the obligation open and notifies the owner once', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const answer = await finish(gate, offer, bare)
    expect(answer).toMatchObject({ ok: true, obligation_open: true })
    expect(await finish(gate, offer, bare)).toEqual(answer)
    expect(await statusOf(gate, offer)).toBe('succeeded')
    expect(await openTasks(gate)).toEqual([offer.task_id])
    const receipts = await receiptsOf(gate, offer)
    expect(receipts.map((receipt) => receipt.receipt_type)).toEqual([
      'task.assigned',
      'task.accepted',
      'task.completed',
      'task.result_ready',
      'system.anomaly',
    ])
    expect(at(receipts, 2)).toMatchObject({ receipt_id: answer.receipt_id, parents: [] })
    expect(await anomalies(gate, offer)).toEqual(['locatability_missing'])
    const assigned = at(receipts, 0).receipt_id
    expect(await gate.checkTerminator(agent(), { receipt_id: assigned })).toEqual({ has_terminator: false })
  })

  it.each([
    ['artifacts', { artifacts: [{ url: 'https://results.example/2' }] }],
    ['one artifact', { artifacts: { url: 'https://results.example/2' } }],
    ['a delivery proof', { artifacts: undefined, delivery_proof: { mode: 'email', target: 'a@b.example' } }],
  ])('the same lease can add evidence later: %s', async (_, evidence) => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    const first = await finish(gate, offer, bare)
    const before = await look(gate, offer)
    clock.advance(100_000)
    const repaired = await finish(gate, offer, evidence)
    expect(repaired).toEqual({ ok: true, receipt_id: expect.any(String), obligation_open: false })
    expect(repaired.receipt_id).not.toBe(first.receipt_id)
    expect(await openTasks(gate)).toEqual([])
    expect(await receiptTypes(gate, offer)).toEqual([
      'task.assigned',
      'task.accepted',
      'task.completed',
      'task.result_ready',
      'system.anomaly',
      'task.completed',
    ])
    const receipts = await receiptsOf(gate, offer)
    expect(at(receipts, -1).parents).toEqual([at(receipts, 0).receipt_id])
    expect(await look(gate, offer)).toEqual({
      ...before,
      result: { ...before.result, artifacts: evidence.artifacts ?? null },
    })
    expect(await finish(gate, offer, evidence)).toEqual(repaired)
    expect(await finish(gate, offer, bare)).toEqual(repaired)
    expect(await receiptTypes(gate, offer)).toHaveLength(6)
  })

  it('only the same worker can add evidence, and only for the same result', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await finish(gate, offer, bare)
    const evidence = { result: { n: 1 }, artifacts: ARTIFACTS }
    const others = [
      gate.complete(worker('w2'), { ...held(offer, 'w2'), ...evidence }),
      gate.complete(worker('w2'), { ...held(offer), ...evidence }),
      gate.complete(worker(), { ...held(offer, 'w2'), ...evidence }),
      gate.complete(worker(), { ...held(offer), lease_id: 'wrong', ...evidence }),
    ]
    for (const answer of await refusals(others)) {
      expect(answer).toMatchObject({
        code: 'LEASE_INVALID_OR_EXPIRED',
        details: { task_status: 'succeeded' },
      })
    }
    expect(await refusal(finish(gate, offer, { result: 'other' }))).toMatchObject({ code: 'RESULT_CONFLICT' })
    expect(await openTasks(gate)).toEqual([offer.task_id])
  })

  it('empty evidence counts as none', async () => {
    const { gate } = await open()
    const none: JsonObject[] = [
      { artifacts: [] },
      { artifacts: {} },
      { artifacts: null },
      { artifacts: [], delivery_proof: {} },
      { artifacts: [{}, ''] },
      { artifacts: null, delivery_proof: { x: 1 } },
    ]
    for (const evidence of none) {
      const offer = await hold(gate)
      expect(await finish(gate, offer, evidence)).toMatchObject({ obligation_open: true })
    }
  })

  it('malformed evidence is refused, and the lease stays', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const wrong: [JsonObject, string][] = [
      [{ artifacts: [null] }, 'artifacts[0]'],
      [{ artifacts: 'x' }, 'artifacts'],
      [{ delivery_proof: [1] }, 'delivery_proof'],
      [{ delivery_proof: { mode: 'push', target: 'a', at: 'today' } }, 'delivery_proof.at'],
    ]
    for (const [evidence, path] of wrong) {
      const answer = await refusal(finish(gate, offer, evidence))
      expect(answer).toMatchObject({ code: 'VALIDATION_ERROR', details: { path } })
    }
    expect(await statusOf(gate, offer)).toBe('leased')
    expect(await finish(gate, offer)).toMatchObject({ obligation_open: false })
  })

  it('a completion without evidence is refused in strict mode, and the lease stays', async () => {
    const { gate } = await open({ settings: { locatability: 'strict' } })
    const offer = await hold(gate)
    for (const evidence of [bare, { artifacts: [] }, { artifacts: {} }, { artifacts: [{}] }]) {
      expect(await refusal(finish(gate, offer, evidence))).toMatchObject({ code: 'LOCATABILITY_REQUIRED' })
    }
    expect(await statusOf(gate, offer)).toBe('leased')
    expect(await receiptTypes(gate, offer)).toEqual(['task.assigned', 'task.accepted'])
    expect(await finish(gate, offer)).toMatchObject({ ok: true, obligation_open: false })
  })

  it('a lease that another has followed cannot add evidence', async () => {
    const { gate } = await open()
    const first = await hold(gate)
    await gate.releaseLease(worker(), held(first))
    await finish(gate, await lease(gate), bare)
    expect(await refusal(finish(gate, first))).toMatchObject({ code: 'LEASE_INVALID_OR_EXPIRED' })
  })
})
