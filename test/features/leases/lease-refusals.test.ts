import { expect, it } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import type { OfferView } from '../../../src/features/leases/shape.ts'
import { agent, describeGates, type OpenOptions, worker } from '../../support/gates.ts'
import { anomalies, failTask, finish, held, hold, receiptsOf } from '../../support/steps.ts'

const ON = { settings: { lease_anomaly_receipts: true } }
const REFUSED = { code: 'LEASE_INVALID_OR_EXPIRED' }

describeGates('refused lease calls', (open) => {
  const lapsed = async (options?: OpenOptions) => {
    const bench = await open(options)
    const offer = await hold(bench.gate)
    bench.clock.advance(120)
    return { ...bench, offer }
  }

  const callAll = async (gate: Gate, offer: OfferView) => {
    await expect(finish(gate, offer)).rejects.toMatchObject(REFUSED)
    await expect(failTask(gate, offer)).rejects.toMatchObject(REFUSED)
    await expect(gate.startTask(worker(), held(offer))).rejects.toMatchObject(REFUSED)
  }

  it('a refused call is reported to the owner if lease_anomaly_receipts is set', async () => {
    const { gate, offer } = await lapsed(ON)
    await expect(finish(gate, offer)).rejects.toMatchObject(REFUSED)
    await expect.poll(() => anomalies(gate, offer)).toEqual(['invalid_lease_call'])
    expect((await receiptsOf(gate, offer)).at(-1)).toMatchObject({
      from: { kind: 'service', id: 'asyncgate' },
      body: { details: { call: 'complete', by: 'worker:w1', worker_id: 'w1', task_status: 'leased' } },
    })
  })

  it('refused calls are reported at most once a minute per task', async () => {
    const { gate, offer, clock } = await lapsed(ON)
    for (let i = 0; i < 20; i++) await callAll(gate, offer)
    await expect.poll(() => anomalies(gate, offer)).toHaveLength(1)
    clock.advance(59.999)
    await callAll(gate, offer)
    clock.advance(0.001)
    await expect
      .poll(async () => {
        await callAll(gate, offer)
        return anomalies(gate, offer)
      })
      .toHaveLength(2)
    for (let i = 0; i < 20; i++) await callAll(gate, offer)
    expect(await anomalies(gate, offer)).toHaveLength(2)
  })

  it('a refused call is not reported by default', async () => {
    const { gate, offer } = await lapsed()
    await callAll(gate, offer)
    await gate.createTask(agent(), { type: 'job' })
    expect(await anomalies(gate, offer)).toEqual([])
  })

  it('a refused call about a missing task is not reported', async () => {
    const { gate, offer, errors } = await lapsed(ON)
    const absent = { ...offer, task_id: '018f0000-0000-7000-8000-000000000001' }
    await expect(finish(gate, absent)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
    expect(await anomalies(gate, offer)).toEqual([])
    expect(errors).toEqual([])
  })
})
