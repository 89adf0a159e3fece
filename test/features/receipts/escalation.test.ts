import { describe, expect, it } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { admin, agent, describeGates, worker } from '../../support/gates.ts'
import {
  at,
  expire,
  failTask,
  held,
  hold,
  lease,
  look,
  openTasks,
  receiptsOf,
  receiptTypes,
  refusal,
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

  describe('escalation classes', () => {
    const classes = {
      ...settings,
      escalation_target: 'agent:ops',
      escalation_targets: [
        { class: 0, to: 'human:duty' },
        { class: 7, to: 'agent:legal' },
      ],
    } as const
    const targetsOf = async (gate: Gate, task: { readonly task_id: string }, tenant?: string) => {
      const { receipts } = await gate.listReceipts(admin(tenant), { task_id: task.task_id })
      return receipts.flatMap(({ receipt_type, to }) => (receipt_type === 'task.escalated' ? [to.id] : []))
    }

    it('the class of a task chooses the target, for expired leases and exhausted attempts', async () => {
      const { gate, clock, another } = await open({ settings: classes })
      const expiring = await hold(gate, { escalation_class: 7 })
      await expire(gate, clock)
      // The class is stored with the task.
      await gate.close()
      const { gate: second } = await another({ settings: classes })
      await failTask(second, await lease(second), { retryable: true })
      expect(await targetsOf(second, expiring)).toEqual(['legal', 'legal'])
      expect(await look(second, expiring)).toMatchObject({ escalation_class: 7 })
    })

    it('a task takes the class of its type unless it has one, and an unlisted class counts as none', async () => {
      const { gate } = await open({ settings: classes })
      await gate.registerTaskType(admin(), { type: 'job', escalation_class: 0 })
      const escalated = async (input: object) => {
        const offer = await hold(gate, { ...input })
        await failTask(gate, offer, { retryable: true })
        return targetsOf(gate, offer)
      }
      expect(await escalated({})).toEqual(['duty'])
      expect(await escalated({ escalation_class: 7 })).toEqual(['legal'])
      expect(await escalated({ escalation_class: 3 })).toEqual(['ops'])
      expect(await refusal(hold(gate, { escalation_class: -1 }))).toMatchObject({ code: 'VALIDATION_ERROR' })
    })

    it('the target is a principal of the tenant of the task', async () => {
      const { gate } = await open({ settings: classes })
      const [alice, w1] = [agent('alice', 'acme'), worker('w1', 'acme')]
      await gate.createTask(alice, { type: 'job', escalation_class: 7 })
      const offer = await lease(gate, {}, w1)
      await gate.fail(w1, { ...held(offer), error: { message: 'no' }, retryable: true })
      expect(await targetsOf(gate, offer, 'acme')).toEqual(['legal'])
      const attention = async (tenant: string) =>
        (await gate.listInbox(agent('legal', tenant), {})).items.map(({ task_id }) => task_id)
      expect(await attention('acme')).toEqual([offer.task_id])
      expect(await attention('default')).toEqual([])
    })
  })

  it('escalation is disabled by default', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate, { max_attempts: 1 })
    await expire(gate, clock)
    await failTask(gate, await lease(gate), { retryable: true })
    expect(await receiptTypes(gate, offer)).not.toContain('task.escalated')
  })
})
