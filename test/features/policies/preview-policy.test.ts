import { expect, it } from 'vitest'
import { admin, describeGates } from '../../support/gates.ts'
import { ask, openTasks, refusal } from '../../support/steps.ts'

describeGates('preview of a policy rule', (open) => {
  it('names the recent tasks that a new rule would have decided otherwise', async () => {
    const { gate } = await open()
    const small = await ask(gate, { type: 'pay', payload: { amount: 5 } })
    const large = await ask(gate, { type: 'pay', payload: { amount: 500 } })
    await ask(gate, { type: 'other', payload: { amount: 500 } })
    const rule = {
      id: 'large',
      action: 'REQUIRE_APPROVAL',
      scope: { type: 'pay' },
      condition: { '>': [{ var: 'args.amount' }, 100] },
    }
    const preview = await gate.previewPolicy(admin(), { rule })
    expect(preview).toMatchObject({
      examined: 3,
      changed: [
        {
          ...{ task_id: large.task_id, type: 'pay', created_by: { kind: 'agent', id: 'alice' }, tool: null },
          before: { action: 'ALLOW', rule_id: null },
          after: { action: 'REQUIRE_APPROVAL', rule_id: 'large' },
        },
      ],
    })
    const wider = await gate.previewPolicy(admin(), { rule: { ...rule, condition: null } })
    expect(wider.changed.map(({ task_id }) => task_id)).toEqual([large.task_id, small.task_id])
    expect(await openTasks(gate)).toHaveLength(3)
    expect((await gate.listPolicies(admin(), {})).policies).toEqual([])
  })

  it('the rule replaces the stored one with the same id', async () => {
    const { gate } = await open()
    await gate.putPolicy(admin(), { id: 'no', action: 'BLOCK', scope: { type: 'pay' } })
    await refusal(ask(gate, { type: 'pay' }))
    const rule = { id: 'no', action: 'ALLOW', scope: { type: 'pay' } }
    expect((await gate.previewPolicy(admin(), { rule })).changed).toMatchObject([
      { before: { action: 'BLOCK', rule_id: 'no' }, after: { action: 'ALLOW', rule_id: 'no' } },
    ])
    const same = { ...rule, action: 'BLOCK' }
    expect((await gate.previewPolicy(admin(), { rule: same })).changed).toEqual([])
    expect((await gate.previewPolicy(admin(), { rule, limit: 1 })).examined).toBe(1)
  })

  it('refuses a rule that cannot be stored', async () => {
    const { gate } = await open()
    const rule = { id: 'x', action: 'BLOCK', condition: { nope: [1] } }
    expect(await refusal(gate.previewPolicy(admin(), { rule }))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'rule.condition' },
    })
  })
})
