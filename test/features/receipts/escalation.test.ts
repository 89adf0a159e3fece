import { describe, expect, it } from 'vitest'
import { describeGates } from '../../support/gates.ts'
import {
  at,
  expire,
  failTask,
  hold,
  lease,
  openTasks,
  receiptsOf,
  receiptTypes,
} from '../../support/steps.ts'

describeGates('escalation', (open) => {
  const settings = { escalation_enabled: true, default_max_attempts: 1 }

  describe.each([
    [
      'the configured target',
      { ...settings, escalation_target: 'human:boss' } as const,
      { kind: 'human', id: 'boss' },
    ],
    ['the owner if no target is configured', settings, { kind: 'agent', id: 'alice' }],
  ])('an escalation is addressed to %s', (_, chosen, to) => {
    it('an expired lease is escalated', async () => {
      const { gate, clock } = await open({ settings: chosen })
      const offer = await hold(gate)
      await expire(gate, clock)
      const receipts = await receiptsOf(gate, offer)
      expect(receipts.map((receipt) => receipt.receipt_type).slice(2)).toEqual([
        'lease.expired',
        'task.escalated',
      ])
      expect(at(receipts, -1)).toMatchObject({
        to,
        parents: [at(receipts, 0).receipt_id],
        body: { escalation_class: 'policy', escalation_reason: 'lease_expired' },
      })
      expect(await openTasks(gate)).toEqual([offer.task_id])
    })

    it('exhausted attempts are escalated', async () => {
      const { gate } = await open({ settings: chosen })
      const offer = await hold(gate)
      await failTask(gate, offer, { retryable: true })
      const escalated = (await receiptsOf(gate, offer)).filter((one) => one.receipt_type === 'task.escalated')
      expect(escalated).toMatchObject([{ to, body: { escalation_reason: 'max_retries_exceeded' } }])
    })
  })

  it('a failure that is not retryable is not escalated', async () => {
    const { gate } = await open({ settings })
    const offer = await hold(gate)
    await failTask(gate, offer)
    expect(await receiptTypes(gate, offer)).not.toContain('task.escalated')
  })

  it('exhausted retries and expiries can have a target of their own', async () => {
    const targets = { escalation_target: 'agent:ops', escalation_retries_target: 'human:boss' } as const
    const { gate, clock } = await open({ settings: { ...settings, ...targets } })
    const expiring = await hold(gate, { max_expiries: 2 })
    await expire(gate, clock)
    await lease(gate)
    await expire(gate, clock)
    const failing = await hold(gate)
    await failTask(gate, failing, { retryable: true })
    const escalations = async (task: { readonly task_id: string }) =>
      (await receiptsOf(gate, task)).flatMap(({ receipt_type, to, body }) =>
        receipt_type === 'task.escalated' ? [{ to: to.id, ...Object(body) }] : [],
      )
    expect(await escalations(expiring)).toMatchObject([
      { to: 'ops', escalation_reason: 'lease_expired' },
      { to: 'boss', escalation_reason: 'max_retries_exceeded' },
    ])
    expect(await escalations(failing)).toMatchObject([{ to: 'boss' }])
  })

  it('escalation is disabled by default', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate, { max_attempts: 1 })
    await expire(gate, clock)
    await failTask(gate, await lease(gate), { retryable: true })
    expect(await receiptTypes(gate, offer)).not.toContain('task.escalated')
  })
})
