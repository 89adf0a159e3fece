import { expect, it } from 'vitest'
import { describeGates, worker } from '../../support/gates.ts'
import {
  ARTIFACTS,
  anomalies,
  askMany,
  at,
  claim,
  finish,
  held,
  hold,
  lease,
  look,
  receiptTypes,
  refusal,
  statusOf,
} from '../../support/steps.ts'

describeGates('renew_lease', (open) => {
  it('renew_lease never shortens a lease', async () => {
    const { gate } = await open()
    await askMany(gate, 1)
    const lease = held(at(await claim(gate, { lease_ttl_seconds: 600 }), 0))
    expect(await gate.renewLease(worker(), lease)).toMatchObject({ expires_in_ms: 600_000, renewals_left: 9 })
    const shorter = { ...lease, extend_by_seconds: 5 }
    expect(await gate.renewLease(worker(), shorter)).toMatchObject({
      expires_in_ms: 600_000,
      renewals_left: 8,
    })
  })

  it('renew_lease extends the lease from now by the requested or the default duration', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    clock.advance(100)
    expect(await gate.renewLease(worker(), { ...held(offer), extend_by_seconds: 300 })).toEqual({
      ok: true,
      expires_at: new Date(clock.now + 300_000).toISOString(),
      expires_in_ms: 300_000,
      renewals_left: 9,
    })
    clock.advance(200)
    expect(await gate.renewLease(worker(), held(offer))).toMatchObject({
      expires_in_ms: 120_000,
      renewals_left: 8,
    })
    clock.advance(119.999)
    expect(await finish(gate, offer)).toMatchObject({ ok: true })
  })

  it('renew_lease is limited by the maximum duration of a lease', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    expect(await gate.renewLease(worker(), { ...held(offer), extend_by_seconds: 5000 })).toMatchObject({
      expires_in_ms: 1_800_000,
    })
    for (const extend_by_seconds of [0, -5, 1.5, '60']) {
      expect(await refusal(gate.renewLease(worker(), { ...held(offer), extend_by_seconds }))).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path: 'extend_by_seconds' },
      })
    }
  })

  it('renew_lease changes neither the status nor the receipts', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await gate.renewLease(worker(), held(offer))
    expect(await statusOf(gate, offer)).toBe('leased')
    await gate.startTask(worker(), held(offer))
    await gate.renewLease(worker(), held(offer))
    expect(await statusOf(gate, offer)).toBe('running')
    expect(await receiptTypes(gate, offer)).toEqual(['task.assigned', 'task.accepted', 'task.started'])
  })

  it('renew_lease is refused after ten renewals, with one anomaly receipt', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    for (let left = 9; left >= 0; left--) {
      clock.advance(60)
      expect(await gate.renewLease(worker(), held(offer))).toMatchObject({ renewals_left: left })
    }
    const { lease: before } = await look(gate, offer)
    expect(await anomalies(gate, offer)).toEqual([])
    for (let n = 0; n < 3; n++) {
      clock.advance(10)
      expect(await refusal(gate.renewLease(worker(), held(offer)))).toMatchObject({
        code: 'LEASE_RENEWAL_LIMIT_EXCEEDED',
        details: { max_renewals: 10 },
      })
      expect(await refusal(progress(5))).toMatchObject({ code: 'LEASE_RENEWAL_LIMIT_EXCEEDED' })
    }
    expect(await anomalies(gate, offer)).toEqual(['excessive_renewals'])
    expect(await look(gate, offer)).toMatchObject({ status: 'leased', lease: before })
    await progress(undefined)
    expect(await finish(gate, offer)).toMatchObject({ ok: true })

    function progress(extend_by_seconds: number | undefined) {
      return gate.reportProgress(worker(), { ...held(offer), progress: {}, extend_by_seconds })
    }
  })

  it('each lease has its own number of renewals', async () => {
    const { gate } = await open({ settings: { max_lease_renewals: 1 } })
    const offer = await hold(gate)
    await gate.renewLease(worker(), held(offer))
    await gate.releaseLease(worker(), held(offer))
    expect(await gate.renewLease(worker(), held(await lease(gate)))).toMatchObject({ renewals_left: 0 })
  })

  it('renew_lease never exceeds the absolute lifetime of the lease', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate, {}, { lease_ttl_seconds: 1800 })
    const end = new Date(clock.now + 7_200_000).toISOString()
    for (let n = 0; n < 3; n++) {
      clock.advance(1799)
      await gate.renewLease(worker(), { ...held(offer), extend_by_seconds: 1800 })
    }
    clock.advance(1000)
    expect(await gate.renewLease(worker(), { ...held(offer), extend_by_seconds: 1800 })).toMatchObject({
      expires_at: end,
      expires_in_ms: 803_000,
    })
    expect(
      await refusal(gate.renewLease(worker(), { ...held(offer), extend_by_seconds: 1800 })),
    ).toMatchObject({
      code: 'LEASE_LIFETIME_EXCEEDED',
      details: { expires_in_ms: 803_000 },
    })
    expect(await look(gate, offer)).toMatchObject({ lease: { expires_at: end } })
    expect(await anomalies(gate, offer)).toEqual([])
    clock.advance(803)
    expect(await refusal(finish(gate, offer))).toMatchObject({ code: 'LEASE_INVALID_OR_EXPIRED' })
  })

  it('renew_lease never exceeds the timeout of the task', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate, { timeout_seconds: 150 })
    clock.advance(60)
    expect(await gate.renewLease(worker(), held(offer))).toMatchObject({ expires_in_ms: 90_000 })
    expect(await refusal(gate.renewLease(worker(), held(offer)))).toMatchObject({
      code: 'LEASE_LIFETIME_EXCEEDED',
    })
  })

  it('renew_lease does not revive an expired lease', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    clock.advance(120)
    expect(await refusal(gate.renewLease(worker(), held(offer)))).toMatchObject({
      code: 'LEASE_INVALID_OR_EXPIRED',
      details: { task_status: 'leased' },
    })
  })
})

describeGates('renew_many and complete_many', (open) => {
  it('renew_many renews each item independently', async () => {
    const { gate } = await open()
    await askMany(gate, 3)
    const offers = await claim(gate, { max_tasks: 3 })
    const [first, second] = offers.map((offer) => held(offer))
    const items = [
      first,
      { ...second, lease_id: 'wrong' },
      { nonsense: true },
      { ...second, extend_by_seconds: 700 },
    ]
    const { results } = await gate.renewMany(worker(), { items })
    expect(results).toMatchObject([
      { ok: true, expires_in_ms: 120_000 },
      { code: 'LEASE_INVALID_OR_EXPIRED' },
      { code: 'VALIDATION_ERROR', details: { path: 'worker_id' } },
      { ok: true, expires_in_ms: 700_000 },
    ])
  })

  it('complete_many completes each item independently', async () => {
    const { gate } = await open()
    await askMany(gate, 3)
    const offers = await claim(gate, { max_tasks: 3 })
    const items = offers.map((offer, n) => ({ ...held(offer), result: { n }, artifacts: ARTIFACTS }))
    const first = at(items, 0)
    const wrong = [{ ...at(items, 1), worker_id: 'w2' }, { ...first, result: 'other' }, { ...first }]
    const { results } = await gate.completeMany(worker(), { items: [...items, ...wrong] })
    expect(results).toMatchObject([
      { ok: true, obligation_open: false },
      { ok: true },
      { ok: true },
      { code: 'LEASE_INVALID_OR_EXPIRED', details: { task_status: 'succeeded' } },
      { code: 'RESULT_CONFLICT' },
      { ok: true },
    ])
    expect(at(results, 5)).toEqual(at(results, 0))
    for (const [n, offer] of offers.entries()) {
      expect(await look(gate, offer)).toMatchObject({ status: 'succeeded', result: { result: { n } } })
    }
  })

  it('renew_many and complete_many refuse an empty list and more than a thousand items', async () => {
    const { gate } = await open()
    for (const items of [[], Array(1001).fill({})]) {
      for (const many of [gate.renewMany, gate.completeMany]) {
        expect(await refusal(many(worker(), { items }))).toMatchObject({
          code: 'VALIDATION_ERROR',
          details: { path: 'items' },
        })
      }
    }
  })
})
