import { expect, it } from 'vitest'
import { isoTime } from '../../../src/core/time.ts'
import type { Gate } from '../../../src/features/gate.ts'
import { agent, type Bench, describeGates, worker } from '../../support/gates.ts'
import { checkInvariants } from '../../support/invariants.ts'
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
} from '../../support/steps.ts'

const PAST = '2025-12-31T00:00:00.000Z'

/** A schedule and the ended task that created it. */
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

const HOUR = 3600_000

/** A schedule in the format that the server can run. */
async function planHourly(gate: Gate) {
  const payload = {
    name: 'hourly',
    mode: 'interval',
    interval_seconds: 3600,
    task_template: { type: 'tick' },
  }
  await ask(gate, { type: 'schedule.create', payload })
  const offer = await lease(gate, { accept_types: ['schedule.create'] })
  const schedule_id = offer.task_id
  const { receipt_id } = await gate.recordSchedule(worker(), {
    ...held(offer),
    schedule_id,
    event: 'created',
  })
  await finish(gate, offer)
  const { created_at } = await gate.getTask(agent(), { task_id: schedule_id })
  return { schedule_id, receipt_id, offer, first: Date.parse(created_at) + HOUR }
}

async function drop(gate: Gate, schedule_id: string, by = agent()) {
  await ask(gate, { type: 'schedule.delete' }, by)
  const offer = await lease(gate, { accept_types: ['schedule.delete'] })
  return gate.recordSchedule(worker(), { ...held(offer), schedule_id, event: 'deleted' })
}

async function expectInOrder({ store }: Bench) {
  expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
}

describeGates('schedules', (open) => {
  it('a schedule is an open obligation from its creation to its deletion', async () => {
    const bench = await open()
    const { gate } = bench
    const { schedule_id, receipt_id } = await plan(gate, 'eve')
    for (const principal of [agent(), agent('eve')]) {
      const { open_obligations } = await gate.listOpenObligations(principal)
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
      const { open_obligations } = await gate.listOpenObligations(principal)
      expect(open_obligations.filter((receipt) => receipt.schedule_id !== null)).toEqual([])
    }
    expect(await gate.checkTerminator(agent(), { receipt_id })).toMatchObject({
      has_terminator: true,
      terminator: { receipt_id: deleted.receipt_id, receipt_type: 'schedule.deleted' },
    })
    await expectInOrder(bench)
  })

  it('a schedule is recorded once, also by concurrent calls', async () => {
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

  it('a schedule can be recorded again under another lease of the same task', async () => {
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

  it('only its owner can delete a schedule', async () => {
    const { gate } = await open()
    const { schedule_id } = await plan(gate)
    expect(await refusal(drop(gate, schedule_id, agent('bob')))).toMatchObject({ code: 'FORBIDDEN' })
  })

  it.each(['none', '00000000-0000-7000-8000-000000000000'])(
    'a missing schedule is not found: %s',
    async (id) => {
      const { gate } = await open()
      expect(await refusal(drop(gate, id))).toMatchObject({ code: 'SCHEDULE_NOT_FOUND' })
      const stale = gate.reportStaleSchedule(worker(), {
        worker_id: 'w1',
        schedule_id: id,
        next_run_at: PAST,
      })
      expect(await refusal(stale)).toMatchObject({ code: 'SCHEDULE_NOT_FOUND' })
    },
  )

  it('an overdue schedule is an anomaly in the inbox of its owner, once per run', async () => {
    const bench = await open()
    const { gate } = bench
    const { schedule_id, offer } = await plan(gate)
    const stale = { worker_id: 'w1', schedule_id, next_run_at: PAST, reason: 'QUOTA_EXCEEDED' }
    const reports = await Promise.all([1, 2].map(() => gate.reportStaleSchedule(worker(), stale)))
    expect(new Set(reports.map(({ receipt_id }) => receipt_id)).size).toBe(1)
    await gate.reportStaleSchedule(worker(), { ...stale, next_run_at: '2025-12-31T00:01:00Z' })
    expect(await anomalies(gate, offer)).toEqual(['stale_schedule', 'stale_schedule'])
    const { attention } = await gate.bootstrap(agent())
    expect(attention.anomalies.map((receipt) => receipt.schedule_id)).toEqual([schedule_id, schedule_id])
    await expectInOrder(bench)
  })

  it('the server reports a schedule that no scheduler runs, with the reason, once per run', async () => {
    const bench = await open()
    const { gate, clock } = bench
    const { schedule_id, offer, first } = await planHourly(gate)
    const note = async () => {
      const { receipts } = await gate.listReceipts(agent(), { receipt_type: 'system.anomaly' })
      return receipts.map(({ body }) => (body as { details: object }).details)
    }
    clock.advance(3 * 3600)
    expect(await gate.sweepSchedules()).toBe(0)
    clock.advance(1)
    expect(await gate.sweepSchedules()).toBe(1)
    const next_run_at = isoTime(first)
    const reason = 'the scheduler did not run'
    expect(await note()).toEqual([{ next_run_at, reason, schedule_id }])
    // The scheduler reports the same run later; the owner is not notified again.
    await gate.reportStaleSchedule(worker(), { worker_id: 'w1', schedule_id, next_run_at, reason: 'x' })
    expect(await gate.sweepSchedules()).toBe(0)
    expect(await anomalies(gate, offer)).toEqual(['stale_schedule'])

    const run = (n: number) =>
      gate.runSchedule(worker(), { worker_id: 'w1', schedule_id, run_at: isoTime(first + n * HOUR) })
    expect(await run(2)).toMatchObject({ is_duplicate: false })
    clock.advance(2 * 3600)
    expect(await gate.sweepSchedules()).toBe(0)
    clock.advance(3600)
    expect(await gate.sweepSchedules()).toBe(1)
    expect(await note()).toContainEqual({ next_run_at: isoTime(first + 3 * HOUR), reason, schedule_id })
    expect(await note()).toHaveLength(2)
    await expectInOrder(bench)
  })

  it('a schedule whose runs are refused is overdue for that reason', async () => {
    const { gate, clock } = await open({ settings: { max_active_tasks: 1 } })
    const { schedule_id, first } = await planHourly(gate)
    await ask(gate, { type: 'never done' })
    clock.advance(4 * 3600)
    const run = gate.runSchedule(worker(), { worker_id: 'w1', schedule_id, run_at: isoTime(first) })
    expect(await refusal(run)).toMatchObject({ code: 'QUOTA_EXCEEDED' })
    await gate.sweepSchedules()
    const { receipts } = await gate.listReceipts(agent(), { receipt_type: 'system.anomaly' })
    expect(only(receipts).body).toMatchObject({ details: { reason: 'QUOTA_EXCEEDED' } })
  })

  it('a paused or deleted schedule is not overdue', async () => {
    const { gate, clock } = await open()
    const paused = await planHourly(gate)
    const deleted = await planHourly(gate)
    const change = async (type: string, schedule_id: string, event: string, by = agent()) => {
      await ask(gate, { type }, by)
      const offer = await lease(gate, { accept_types: [type] })
      const answer = await gate.recordSchedule(worker(), { ...held(offer), schedule_id, event })
      await finish(gate, offer)
      return answer
    }
    const theirs = change('schedule.pause', paused.schedule_id, 'paused', agent('bob'))
    expect(await refusal(theirs)).toMatchObject({ code: 'FORBIDDEN' })
    clock.advance(600)
    await gate.sweep()
    const answer = await change('schedule.pause', paused.schedule_id, 'paused')
    expect(answer.receipt_id).toBe(paused.receipt_id)
    await change('schedule.delete', deleted.schedule_id, 'deleted')
    clock.advance(24 * 3600)
    expect(await gate.sweepSchedules()).toBe(0)
    await change('schedule.resume', paused.schedule_id, 'resumed')
    clock.advance(2 * 3600)
    expect(await gate.sweepSchedules()).toBe(0)
    clock.advance(2 * 3600)
    expect(await gate.sweepSchedules()).toBe(1)
  })

  it('bootstrap does not list a schedule as an open task and still lists all others', async () => {
    const { gate } = await open()
    for (let n = 0; n < 5; n++) await plan(gate)
    const task = await ask(gate, { type: 'later' })
    const { attention } = await gate.bootstrap(agent(), { max_items: 2 })
    expect(attention.assigned_tasks.map(({ task_id }) => task_id)).toEqual([task.task_id])
    expect(attention.running_or_scheduled).toEqual([])
  })
})
