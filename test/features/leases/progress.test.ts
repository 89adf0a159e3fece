import { expect, it } from 'vitest'
import { agent, describeGates, worker } from '../../support/gates.ts'
import {
  failTask,
  finish,
  held,
  hold,
  lease,
  look,
  receiptsOf,
  receiptTypes,
  refusal,
  statusOf,
} from '../../support/steps.ts'

describeGates('report_progress', (open) => {
  it('report_progress marks the task as running once, with one receipt', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    clock.advance(5)
    const started_at = new Date(clock.now).toISOString()
    expect(await gate.reportProgress(worker(), { ...held(offer), progress: { percent: 10 } })).toEqual({
      ok: true,
      expires_at: offer.expires_at,
      expires_in_ms: 115_000,
    })
    clock.advance(5)
    await gate.reportProgress(worker(), { ...held(offer), progress: { percent: 20 } })
    await gate.startTask(worker(), held(offer))
    expect(await look(gate, offer)).toMatchObject({ status: 'running', started_at })
    expect(await receiptTypes(gate, offer)).toEqual([
      'task.assigned',
      'task.accepted',
      'task.started',
      'task.progress',
      'task.progress',
    ])
  })

  it('the task shows the latest report, and get_task_progress lists all in order', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    const history = []
    for (let n = 0; n < 12; n++) {
      clock.advance(1)
      const progress = { percent: n * 8.5, message: `step ${n}`, detail: { n: [n] } }
      await gate.reportProgress(worker(), { ...held(offer), progress })
      history.push({ ...progress, updated_at: new Date(clock.now).toISOString() })
    }
    expect((await look(gate, offer)).progress).toEqual(history.at(-1))
    const run_id = offer.lease_id
    const whole = { progress: history.map((entry) => ({ ...entry, run_id })), next_cursor: null }
    expect(await gate.getTaskProgress(agent(), { task_id: offer.task_id })).toEqual(whole)
    expect((await gate.getTaskProgress(agent(), { task_id: offer.task_id, limit: 2 })).progress).toHaveLength(
      2,
    )
    await finish(gate, offer)
    expect((await look(gate, offer)).progress).toEqual(history.at(-1))
    expect(await gate.getTaskProgress(agent(), { task_id: offer.task_id })).toEqual(whole)
  })

  it('progress reports continue across the attempts of a task', async () => {
    const { gate } = await open()
    const first = await hold(gate)
    await gate.reportProgress(worker(), { ...held(first), progress: { percent: 50 } })
    await failTask(gate, first, { retryable: true, retry_after_seconds: 0 })
    expect(await statusOf(gate, first)).toBe('queued')
    const second = await lease(gate)
    await gate.reportProgress(worker(), { ...held(second), progress: { percent: 5 } })
    const { progress } = await gate.getTaskProgress(agent(), { task_id: first.task_id })
    expect(progress.map((entry) => entry.percent)).toEqual([50, 5])
  })

  it('get_task_progress pages through the reports, each with its lease', async () => {
    const { gate } = await open()
    const first = await hold(gate)
    const reports = Array.from({ length: 210 }, (_, n) => n)
    await Promise.all(
      reports
        .slice(0, 205)
        .map((n) => gate.reportProgress(worker(), { ...held(first), progress: { message: `${n}` } })),
    )
    await failTask(gate, first, { retryable: true, retry_after_seconds: 0 })
    const second = await lease(gate)
    for (const n of reports.slice(205)) {
      await gate.reportProgress(worker(), { ...held(second), progress: { message: `${n}` } })
    }
    const { task_id } = first
    const page = await gate.getTaskProgress(agent(), { task_id, limit: 200 })
    expect(page.progress).toHaveLength(200)
    const rest = await gate.getTaskProgress(agent(), { task_id, limit: 200, cursor: page.next_cursor })
    expect(rest.next_cursor).toBeNull()
    const all = [...page.progress, ...rest.progress]
    expect(all.map(({ message, run_id }) => [message, run_id])).toEqual(
      reports.map((n) => [`${n}`, n < 205 ? first.lease_id : second.lease_id]),
    )
    const newest: unknown[] = []
    let cursor: string | null | undefined
    do {
      const asked = { task_id, limit: 100, order: 'newest', ...(cursor && { cursor }) }
      const some = await gate.getTaskProgress(agent(), asked)
      newest.push(...some.progress)
      cursor = some.next_cursor
    } while (cursor !== null)
    expect(newest).toEqual(all.toReversed())
    expect(await refusal(gate.getTaskProgress(agent(), { task_id, cursor: 'made-up' }))).toMatchObject({
      code: 'VALIDATION_ERROR',
    })
  })

  it('all of several reports in one batch are stored', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const percents = Array.from({ length: 20 }, (_, n) => n)
    await Promise.all(
      percents.map((percent) => gate.reportProgress(worker(), { ...held(offer), progress: { percent } })),
    )
    const { progress } = await gate.getTaskProgress(agent(), { task_id: offer.task_id })
    expect(progress.map((entry) => entry.percent)).toEqual(percents)
  })

  it('report_progress can renew the lease, which counts as a renewal', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    clock.advance(60)
    expect(
      await gate.reportProgress(worker(), { ...held(offer), progress: {}, extend_by_seconds: 300 }),
    ).toMatchObject({ expires_in_ms: 300_000 })
    expect(await gate.renewLease(worker(), held(offer))).toMatchObject({ renewals_left: 8 })
    expect(
      await gate.reportProgress(worker(), { ...held(offer), progress: {}, extend_by_seconds: 9999 }),
    ).toMatchObject({ expires_in_ms: 1_800_000 })
  })

  it('report_progress refuses invalid reports and stores nothing of them', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const wrong = [
      [{ percent: -1 }, 'progress.percent'],
      [{ percent: 100.1 }, 'progress.percent'],
      [{ percent: '50' }, 'progress.percent'],
      [{ percent: Number.NaN }, 'progress.percent'],
      ['half', 'progress'],
      [[1], 'progress'],
      [null, 'progress'],
      [undefined, 'progress'],
      [{ message: 'a\0b' }, 'progress.message'],
    ]
    for (const [progress, path] of wrong) {
      expect(
        await refusal(gate.reportProgress(worker(), { ...held(offer), progress })),
        String(path),
      ).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path },
      })
    }
    expect(
      await refusal(
        gate.reportProgress(worker(), { ...held(offer), progress: { message: 'x'.repeat(20_000) } }),
      ),
    ).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', details: { path: 'progress' } })
    expect(await look(gate, offer)).toMatchObject({ status: 'leased' })
    expect(await gate.getTaskProgress(agent(), { task_id: offer.task_id })).toEqual({
      progress: [],
      next_cursor: null,
    })
  })

  it('progress receipts name the lease, and can be turned off', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await gate.reportProgress(worker(), { ...held(offer), progress: { percent: 5 } })
    expect((await receiptsOf(gate, offer)).at(-1)).toMatchObject({
      receipt_type: 'task.progress',
      from: { kind: 'worker', id: 'w1' },
      to: { kind: 'agent', id: 'alice' },
      lease_id: offer.lease_id,
      body: { progress: { percent: 5 } },
    })
    const { gate: quiet } = await open({ settings: { progress_receipts: false } })
    const other = await hold(quiet)
    await quiet.reportProgress(worker(), { ...held(other), progress: { percent: 5 } })
    expect(await receiptTypes(quiet, other)).toEqual(['task.assigned', 'task.accepted', 'task.started'])
    expect((await look(quiet, other)).progress).toMatchObject({ percent: 5 })
  })

  it('get_task_progress is refused for other principals', async () => {
    const { gate } = await open()
    const { task_id } = await hold(gate)
    expect(await refusal(gate.getTaskProgress(agent('bob'), { task_id }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await refusal(gate.getTaskProgress(agent('alice', 'other'), { task_id }))).toMatchObject({
      code: 'TASK_NOT_FOUND',
    })
    expect(await gate.getTaskProgress(worker(), { task_id })).toEqual({ progress: [], next_cursor: null })
  })
})
