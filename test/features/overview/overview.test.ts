import { expect, it } from 'vitest'
import { admin, agent, caller, describeGates, worker } from '../../support/gates.ts'
import { ask, askMany, failTask, lease, refusal } from '../../support/steps.ts'

describeGates('overview', (open) => {
  it('an empty tenant needs no attention', async () => {
    const { gate } = await open()
    expect(await gate.getOverview(admin(), {})).toEqual({
      tasks: expect.objectContaining({ queued: 0, failed: 0, more: false }),
      oldest_waiting_at: null,
      workers: { idle: 0, busy: 0, offline: 0 },
      attention: [],
      failing_types: [],
      unserved_types: [],
    })
  })

  it('the oldest waiting task and types without a live worker are reported', async () => {
    const { gate, clock } = await open()
    const { task_id } = await ask(gate, { type: 'ocr' })
    const { created_at } = await gate.getTask(admin(), { task_id })
    clock.advance(600)
    await askMany(gate, 2, { type: 'ocr' })
    await ask(gate, { type: 'served' })
    await gate.registerWorker(worker(), { worker_id: 'w1', accept_types: ['served'] })
    const overview = await gate.getOverview(admin(), {})
    expect(overview).toMatchObject({
      tasks: { queued: 4 },
      oldest_waiting_at: created_at,
      workers: { idle: 1 },
      unserved_types: [{ type: 'ocr', open_tasks: 3 }],
    })
    expect(overview.attention).toEqual([
      { kind: 'unserved_types', count: 1, message: expect.stringContaining('without a live worker') },
    ])
  })

  it('failing types are listed with the last error and its task', async () => {
    const { gate, clock } = await open()
    for (const [type, message] of [
      ['old', 'long ago'],
      ['mail', 'first'],
      ['pdf', 'no font'],
      ['mail', 'smtp refused'],
    ]) {
      await ask(gate, { type })
      await failTask(gate, await lease(gate), { retryable: false, error: { code: 'E1', message } })
      clock.advance(type === 'old' ? 2 * 86_400 : 60)
    }
    const { failing_types } = await gate.getOverview(admin(), {})
    expect(failing_types).toMatchObject([
      { type: 'mail', failed: 2, last_error: 'E1: smtp refused' },
      { type: 'pdf', failed: 1, last_error: 'E1: no font' },
    ])
    const task_id = failing_types[0]?.last_task_id
    expect(await gate.getTask(admin(), { task_id })).toMatchObject({
      type: 'mail',
      result: { error: { message: 'smtp refused' }, completed_at: failing_types[0]?.last_failed_at },
    })
  })

  it('what waits for a person, and paused retention, need attention', async () => {
    const { gate } = await open()
    await gate.putPolicy(admin(), { id: 'look', action: 'REQUIRE_APPROVAL', scope: { type: 'pay' } })
    await askMany(gate, 2, { type: 'pay' })
    await gate.controlRetention(admin(), { action: 'pause' })
    const { attention } = await gate.getOverview(admin(), {})
    expect(attention.map(({ kind, count }) => [kind, count])).toEqual([
      ['approvals', 2],
      ['retention_paused', 1],
    ])
  })

  it('an anomaly of the last day needs attention', async () => {
    const { gate, clock } = await open()
    await gate.reportLedgerAnomaly('default', { kind: 'receipt_backlog', details: { pending: 1 } })
    const kinds = async () => (await gate.getOverview(admin(), {})).attention.map(({ kind }) => kind)
    expect(await kinds()).toEqual(['anomalies'])
    clock.advance(90_000)
    expect(await kinds()).toEqual([])
  })

  it('tenants see only their own tasks, and agents see no overview', async () => {
    const { gate } = await open()
    await ask(gate, {}, agent('alice', 'acme'))
    expect((await gate.getOverview(admin(), {})).tasks.queued).toBe(0)
    expect((await gate.getOverview(caller('human', 'vic', 'viewer', 'acme'), {})).tasks.queued).toBe(1)
    expect(await refusal(gate.getOverview(agent(), {}))).toMatchObject({ code: 'FORBIDDEN' })
  })
})
