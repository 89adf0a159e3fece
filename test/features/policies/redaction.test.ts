import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { BADGE, decidingRules, objects, SECRETS } from '../../policy/rule-books.ts'
import { offering } from '../../policy/upstreams.ts'
import { admin, agent, caller, describeGates, worker } from '../../support/gates.ts'
import { ask, held, lease, look, only, receiptsOf, refusal } from '../../support/steps.ts'

type Fields = Readonly<Record<string, unknown>>

const CARD = '4111 1111 1111 1111'
const HUMAN = caller('human', 'erin', 'agent')
const ARTIFACTS = [{ url: 'https://results.example/1.json' }]

const put = (gate: Gate, id: string, fields: Fields) => gate.putPolicy(admin(), { id, ...fields })

const redactCards = (gate: Gate, fields: Fields = {}) =>
  put(gate, 'cards', {
    action: 'REDACT',
    priority: 150,
    redact: { targets: 'both', patterns: ['card'] },
    ...fields,
  })

const callOf = (tool: string, args: Fields) => ({
  type: 'mcp.tool_call',
  payload: { upstream: 'mail', tool, arguments: args },
})

describeGates('redaction and the deciding rule', (open) => {
  it('approver, worker, receipts and result never show a value that a rule of lower priority redacts', async () => {
    const { gate } = await open()
    await put(gate, 'spending', { action: 'REQUIRE_APPROVAL', priority: 200, scope: { type: 'pay' } })
    await redactCards(gate)
    const asked = await ask(gate, { type: 'pay', payload: { amount: 5000, card: CARD } })
    expect(asked.status).toBe('pending_approval')
    const approval = await gate.getApproval(HUMAN, { task_id: asked.task_id })
    expect(JSON.stringify(approval)).not.toContain(CARD)
    expect(await look(gate, asked)).toMatchObject({
      payload: { amount: 5000, card: '[REDACTED]' },
      policy: {
        action: 'REQUIRE_APPROVAL',
        rule_id: 'spending',
        redacted_fields: ['/payload/card'],
        redacting_rules: ['cards'],
      },
    })
    await gate.approve(HUMAN, { task_id: asked.task_id })
    const offer = await lease(gate)
    expect(offer.payload).toEqual({ amount: 5000, card: '[REDACTED]' })
    await gate.complete(worker(), { ...held(offer), result: { paid: CARD }, artifacts: ARTIFACTS })
    const done = await look(gate, asked)
    expect(done.result?.result).toEqual({ paid: '[REDACTED]' })
    expect(JSON.stringify([done, await receiptsOf(gate, asked)])).not.toContain('4111 1111')
  })

  it('a payload edited by an approver is redacted by a rule of lower priority', async () => {
    const { gate } = await open()
    await put(gate, 'spending', { action: 'REQUIRE_APPROVAL', priority: 200 })
    await redactCards(gate)
    const asked = await ask(gate, { payload: { card: 'none' } })
    await gate.approve(HUMAN, { task_id: asked.task_id, payload: { card: CARD } })
    expect((await lease(gate)).payload).toEqual({ card: '[REDACTED]' })
    expect(JSON.stringify(await receiptsOf(gate, asked))).not.toContain('4111 1111')
  })

  it('an ALLOW rule of higher priority decides but does not exempt from redaction', async () => {
    const { gate } = await open()
    await put(gate, 'jobs', { action: 'ALLOW', priority: 500 })
    await redactCards(gate)
    const task = await look(gate, await ask(gate, { payload: { card: CARD } }))
    expect(task).toMatchObject({
      payload: { card: '[REDACTED]' },
      policy: { action: 'ALLOW', rule_id: 'jobs', redacting_rules: ['cards'] },
    })
  })

  it('a blocked task is stored redacted, and so is the hash of its arguments', async () => {
    const { gate } = await open()
    await put(gate, 'no-jobs', { action: 'BLOCK', priority: 300, scope: { type: 'job' } })
    await redactCards(gate)
    const hashes = []
    for (const card of [CARD, '5500 0000 0000 0004']) {
      const { details } = await refusal(ask(gate, { payload: { card }, summary: `pay ${card}` }))
      const { task_id } = details as { task_id: string }
      expect(await look(gate, { task_id })).toMatchObject({
        status: 'failed',
        payload: { card: '[REDACTED]' },
        summary: 'pay [REDACTED]',
        policy: { action: 'BLOCK', rule_id: 'no-jobs' },
      })
      const receipts = await receiptsOf(gate, { task_id })
      expect(JSON.stringify(receipts)).not.toContain(card)
      const blocked = only(receipts.filter(({ receipt_type }) => receipt_type === 'policy.blocked'))
      hashes.push((blocked.body as { args_hash: string }).args_hash)
    }
    expect(hashes[0]).toBe(hashes[1])
  })

  it('a REDACT rule for an upstream, tool, category or type does not allow a call', async () => {
    const { gate } = await open({ upstreams: offering({ send: 'write' }) })
    for (const scope of [
      { upstream: 'mail' },
      { tool: 'send' },
      { category: 'write' },
      { type: 'mcp.tool_call' },
    ]) {
      await redactCards(gate, { scope })
      expect(await refusal(ask(gate, callOf('send', { text: CARD })))).toMatchObject({
        code: 'POLICY_BLOCKED',
        details: { rule_id: null },
      })
    }
    const { tasks } = await gate.listTasks(agent())
    expect(tasks).toHaveLength(4)
    expect(JSON.stringify(tasks)).not.toContain('4111 1111')
  })

  it('a REDACT rule for an upstream does not replace the approval that the default requires', async () => {
    const { gate } = await open({
      upstreams: offering({ send: 'write' }),
      policy: { defaults: { upstream: 'REQUIRE_APPROVAL' } },
    })
    await redactCards(gate, { scope: { upstream: 'mail' } })
    const asked = await ask(gate, callOf('send', { text: CARD }))
    expect(asked.status).toBe('pending_approval')
    expect(await look(gate, asked)).toMatchObject({
      payload: { arguments: { text: '[REDACTED]' } },
      policy: { action: 'REQUIRE_APPROVAL', rule_id: null, redacting_rules: ['cards'] },
    })
  })
})

describeGates('redaction under random rules', (open) => {
  it('no secret is stored, shown to an approver, passed to a worker or returned', {
    timeout: 60_000,
  }, async () => {
    const { gate } = await open()
    await gate.putRedactionPattern(admin(), { name: 'badge', pattern: BADGE })
    const redact = { targets: 'both', patterns: ['card', 'email', 'badge'] }
    const property = fc.asyncProperty(
      fc.array(decidingRules, { maxLength: 4 }),
      fc.integer({ min: -3, max: 3 }),
      objects,
      async (rules, priority, payload) => {
        await put(gate, 'secrets', { action: 'REDACT', priority, redact })
        for (const [i, fields] of rules.entries()) await put(gate, `r${i}`, fields)
        const seen: unknown[] = []
        const asked = { payload, summary: SECRETS.join(' '), inputs: payload }
        const refused = await ask(gate, asked, agent('bob')).catch((error: unknown) => error)
        seen.push(refused)
        const { tasks } = await gate.listTasks(admin(), { limit: 1 })
        const { task_id, status } = only(tasks)
        if (status === 'pending_approval') {
          seen.push(await gate.getApproval(HUMAN, { task_id }))
          await gate.approve(HUMAN, { task_id, payload })
        }
        if (status !== 'failed') {
          const offer = await lease(gate)
          seen.push(offer)
          await gate.complete(worker(), {
            ...held(offer),
            result: { payload, SECRETS },
            artifacts: ARTIFACTS,
          })
        }
        seen.push(await look(gate, { task_id }), await receiptsOf(gate, { task_id }))
        for (const secret of SECRETS) expect(JSON.stringify(seen)).not.toContain(secret)
        for (const [i] of rules.entries()) await gate.removePolicy(admin(), { id: `r${i}` })
      },
    )
    await fc.assert(property, { numRuns: 30 })
  })
})
