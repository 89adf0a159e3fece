import { expect, it } from 'vitest'
import { admin, agent, caller, describeGates, worker } from '../../support/gates.ts'
import {
  ask,
  at,
  claim,
  failTask,
  finish,
  held,
  hold,
  look,
  openTasks,
  receiptsOf,
  receiptTypes,
  refusal,
  refusals,
  statusOf,
} from '../../support/steps.ts'

describeGates('cancel_task', (open) => {
  it('cancel_task cancels a queued task', async () => {
    const { gate, clock } = await open()
    const task = await ask(gate)
    clock.advance(1)
    expect(await gate.cancelTask(agent(), { task_id: task.task_id, reason: 'not needed' })).toEqual({
      ok: true,
      status: 'canceled',
    })
    expect(await look(gate, task)).toMatchObject({
      status: 'canceled',
      result: {
        outcome: 'canceled',
        result: null,
        error: { code: 'CANCELED', message: 'not needed' },
        completed_at: new Date(clock.now).toISOString(),
      },
    })
    expect(await claim(gate)).toEqual([])
  })

  it('cancel_task cancels a delayed task', async () => {
    const { gate, clock } = await open()
    const task = await ask(gate, { delay_seconds: 60 })
    expect(await gate.cancelTask(agent(), { task_id: task.task_id })).toMatchObject({ ok: true })
    clock.advance(60)
    expect(await gate.sweep()).toBe(0)
    expect(await claim(gate)).toEqual([])
    expect(await statusOf(gate, task)).toBe('canceled')
  })

  it('cancel_task cancels a leased or running task, and the next call of the worker is refused', async () => {
    const { gate } = await open()
    for (const runs of [false, true]) {
      const offer = await hold(gate)
      if (runs) await gate.startTask(worker(), held(offer))
      expect(await gate.cancelTask(agent(), { task_id: offer.task_id })).toEqual({
        ok: true,
        status: 'canceled',
      })
      const calls = [
        gate.renewLease(worker(), held(offer)),
        gate.reportProgress(worker(), { ...held(offer), progress: {} }),
        finish(gate, offer),
        failTask(gate, offer, { retryable: true }),
        gate.releaseLease(worker(), held(offer)),
      ]
      for (const answer of await refusals(calls)) {
        expect(answer).toMatchObject({
          code: 'LEASE_INVALID_OR_EXPIRED',
          details: { task_status: 'canceled' },
        })
      }
      expect(await statusOf(gate, offer)).toBe('canceled')
    }
  })

  it('cancel_task writes its receipts and closes the obligation', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await gate.cancelTask(agent(), { task_id: offer.task_id, reason: 'why' })
    const receipts = await receiptsOf(gate, offer)
    const parents = [at(receipts, 0).receipt_id]
    const owner = { kind: 'agent', id: 'alice' }
    expect(receipts.slice(2)).toMatchObject([
      {
        receipt_type: 'task.canceled',
        from: owner,
        to: owner,
        parents,
        lease_id: offer.lease_id,
        body: { reason: 'why', canceled_by: 'agent:alice' },
      },
      { receipt_type: 'task.result_ready', to: owner, parents, body: { status: 'canceled' } },
    ])
    expect(receipts).toHaveLength(4)
    expect(await openTasks(gate)).toEqual([])
  })

  it('cancel_task of an ended task changes nothing and returns its status', async () => {
    const { gate } = await open()
    const succeeded = await hold(gate)
    await finish(gate, succeeded)
    const failed = await hold(gate)
    await failTask(gate, failed)
    const canceled = await ask(gate)
    await gate.cancelTask(agent(), { task_id: canceled.task_id })
    for (const [task, status] of [
      [succeeded, 'succeeded'],
      [failed, 'failed'],
      [canceled, 'canceled'],
    ] as const) {
      const before = [await look(gate, task), await receiptTypes(gate, task)]
      expect(await gate.cancelTask(agent(), { task_id: task.task_id })).toEqual({ ok: false, status })
      expect([await look(gate, task), await receiptTypes(gate, task)]).toEqual(before)
    }
  })

  it('cancel_task is allowed for the owner, admins and the system', async () => {
    const { gate } = await open()
    const [one, two] = [await ask(gate, { principal_ai: 'bob' }), await ask(gate)]
    for (const by of [agent('bob'), caller('human', 'alice', 'agent')]) {
      expect(await refusal(gate.cancelTask(by, { task_id: one.task_id }))).toMatchObject({
        code: 'FORBIDDEN',
        details: { required_role: 'admin', your_role: 'agent' },
      })
    }
    expect(await statusOf(gate, one)).toBe('queued')
    expect(await gate.cancelTask(admin(), { task_id: one.task_id })).toMatchObject({ ok: true })
    expect(at(await receiptsOf(gate, one), 1)).toMatchObject({ from: { kind: 'human', id: 'root' } })
    const system = caller('system', 'reaper', 'system')
    expect(await gate.cancelTask(system, { task_id: two.task_id })).toMatchObject({ ok: true })
  })

  it('cancel_task does not find a missing task or one of another tenant', async () => {
    const { gate } = await open()
    const theirs = await ask(gate, {}, agent('alice', 'other'))
    for (const task_id of [theirs.task_id, '01234567-89ab-7def-8123-456789abcdef', 'nonsense']) {
      expect(await refusal(gate.cancelTask(admin(), { task_id }))).toMatchObject({ code: 'TASK_NOT_FOUND' })
    }
  })
})
