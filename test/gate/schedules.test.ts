import { expect, it } from 'vitest'
import type { Gate } from '../../src/gate/gate.ts'
import { agent, type Bench, describeGates, worker } from '../support/gates.ts'
import { checkInvariants } from '../support/invariants.ts'
import {
  anomalies,
  ask,
  claim,
  finish,
  held,
  hold,
  lease,
  only,
  receiptTypes,
  refusal,
} from '../support/steps.ts'

const PAST = '2025-12-31T00:00:00.000Z'

/** A schedule, and the task that asked for it, which is done. */
async function plan(gate: Gate, principal_ai = 'alice') {
  const offer = await hold(gate, { type: 'schedule.create', principal_ai })
  const schedule_id = offer.task_id
  const { receipt_id } = await gate.recordSchedule(worker(), {
    ...held(offer),
    schedule_id,
    event: 'created',
    schedule: { name: 'nightly' },
  })
  await finish(gate, offer)
  return { schedule_id, receipt_id, offer }
}

async function drop(gate: Gate, schedule_id: string, by = agent()) {
  await ask(gate, { type: 'schedule.delete' }, by)
  const offer = await lease(gate, { accept_types: ['schedule.delete'] })
  return gate.recordSchedule(worker(), { ...held(offer), schedule_id, event: 'deleted' })
}

async function expectInOrder({ store }: Bench) {
  expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
}

describeGates('a schedule', (open) => {
  it('is owed from its creation to its deletion, though the task that asked for it is done', async () => {
    const bench = await open()
    const { gate } = bench
    const { schedule_id, receipt_id } = await plan(gate, 'eve')
    for (const principal of [agent(), agent('eve')]) {
      const { open_obligations } = await gate.listObligations(principal)
      expect(only(open_obligations)).toMatchObject({
        receipt_id,
        receipt_type: 'schedule.created',
        schedule_id,
        from: { kind: 'worker', id: 'w1' },
        body: { schedule: { name: 'nightly' } },
      })
    }
    expect(await gate.checkTerminator(agent(), { receipt_id })).toEqual({ has_terminator: false })
    await expectInOrder(bench)

    const deleted = await drop(gate, schedule_id)
    for (const principal of [agent(), agent('eve')]) {
      const { open_obligations } = await gate.listObligations(principal)
      expect(open_obligations.filter((receipt) => receipt.schedule_id !== null)).toEqual([])
    }
    expect(await gate.checkTerminator(agent(), { receipt_id })).toMatchObject({
      has_terminator: true,
      terminator: { receipt_id: deleted.receipt_id, receipt_type: 'schedule.deleted' },
    })
    await expectInOrder(bench)
  })

  it('is recorded once, also by calls that come together', async () => {
    const bench = await open()
    const { gate } = bench
    const offer = await hold(gate)
    const created = { ...held(offer), schedule_id: offer.task_id, event: 'created' }
    const first = await Promise.all([1, 2, 3].map(() => gate.recordSchedule(worker(), created)))
    expect(new Set(first.map(({ receipt_id }) => receipt_id)).size).toBe(1)
    await ask(gate, { type: 'schedule.delete' })
    const end = await lease(gate)
    const deleted = { ...held(end), schedule_id: offer.task_id, event: 'deleted' }
    const last = await Promise.all([1, 2, 3].map(() => gate.recordSchedule(worker(), deleted)))
    expect(new Set(last.map(({ receipt_id }) => receipt_id)).size).toBe(1)
    const types = await receiptTypes(gate, offer)
    expect(types.filter((type) => type.startsWith('schedule.'))).toEqual([
      'schedule.created',
      'schedule.deleted',
    ])
    await expectInOrder(bench)
  })

  it('can be redone under another lease of the same task', async () => {
    const { gate, clock } = await open()
    const first = await hold(gate)
    const created = { schedule_id: first.task_id, event: 'created' }
    const { receipt_id } = await gate.recordSchedule(worker(), { ...held(first), ...created })
    clock.advance(600)
    await gate.sweep()
    clock.advance(10)
    const [second] = await claim(gate, {}, worker('w2'))
    if (second === undefined) return expect.unreachable()
    const again = await gate.recordSchedule(worker('w2'), { ...held(second, 'w2'), ...created })
    expect(again.receipt_id).toBe(receipt_id)
    const lost = gate.recordSchedule(worker(), { ...held(first), ...created })
    expect(await refusal(lost)).toMatchObject({ code: 'LEASE_INVALID_OR_EXPIRED' })
  })

  it('is deleted by its owner only', async () => {
    const { gate } = await open()
    const { schedule_id } = await plan(gate)
    expect(await refusal(drop(gate, schedule_id, agent('bob')))).toMatchObject({ code: 'FORBIDDEN' })
  })

  it.each(['none', '00000000-0000-7000-8000-000000000000'])(
    'that does not exist is not found: %s',
    async (id) => {
      const { gate } = await open()
      expect(await refusal(drop(gate, id))).toMatchObject({ code: 'SCHEDULE_NOT_FOUND' })
      const stale = gate.reportStale(worker(), { worker_id: 'w1', schedule_id: id, next_run_at: PAST })
      expect(await refusal(stale)).toMatchObject({ code: 'SCHEDULE_NOT_FOUND' })
    },
  )

  it('that is overdue is an anomaly in the inbox of its owner, once for each run', async () => {
    const bench = await open()
    const { gate } = bench
    const { schedule_id, offer } = await plan(gate)
    const stale = { worker_id: 'w1', schedule_id, next_run_at: PAST, reason: 'QUOTA_EXCEEDED' }
    const reports = await Promise.all([1, 2].map(() => gate.reportStale(worker(), stale)))
    expect(new Set(reports.map(({ receipt_id }) => receipt_id)).size).toBe(1)
    await gate.reportStale(worker(), { ...stale, next_run_at: '2025-12-31T00:01:00Z' })
    expect(await anomalies(gate, offer)).toEqual(['stale_schedule', 'stale_schedule'])
    const { attention } = await gate.bootstrap(agent())
    expect(attention.anomalies.map((receipt) => receipt.schedule_id)).toEqual([schedule_id, schedule_id])
    await expectInOrder(bench)
  })

  it('is no open task in bootstrap, and hides none', async () => {
    const { gate } = await open()
    for (let n = 0; n < 5; n++) await plan(gate)
    const task = await ask(gate, { type: 'later' })
    const { attention } = await gate.bootstrap(agent(), { max_items: 2 })
    expect(attention.assigned_tasks.map(({ task_id }) => task_id)).toEqual([task.task_id])
    expect(attention.running_or_scheduled).toEqual([])
  })
})
