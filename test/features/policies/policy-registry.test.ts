import { expect, it } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { patternOf } from '../../../src/policy/pattern.ts'
import { registryOn } from '../../gateway/upstreams/support.ts'
import { rule } from '../../policy/support.ts'
import { offering } from '../../policy/upstreams.ts'
import { admin, agent, describeGates } from '../../support/gates.ts'
import { ask, only, refusal, refusals } from '../../support/steps.ts'

type Fields = Readonly<Record<string, unknown>>

const put = (gate: Gate, id: string, fields: Fields) => gate.putPolicy(admin(), { id, ...fields })

async function changes(gate: Gate, type = 'policy.changed') {
  const page = await gate.listReceipts(admin(), { to_kind: 'service', to_id: 'asyncgate', limit: 200 })
  return page.receipts.filter((receipt) => receipt.receipt_type === type)
}

describeGates('policy rules', (open) => {
  it('put_policy stores a rule with its author, also across a restart', async () => {
    const { gate, another } = await open()
    const written = await put(gate, 'r', { action: 'ALLOW', scope: { tool: 'x' }, priority: 5 })
    expect(written).toEqual({
      id: 'r',
      description: null,
      scope: { tool: 'x' },
      action: 'ALLOW',
      condition: null,
      redact: null,
      approves: null,
      approval_expires_in_seconds: null,
      approve_by: null,
      priority: 5,
      enabled: true,
      expires_at: null,
      source: 'api',
      version: 1,
      updated_at: expect.any(String),
      updated_by: 'human:root',
    })
    await gate.close()
    const { gate: next } = await another()
    expect(await next.getPolicy(admin(), { id: 'r' })).toEqual(written)
  })

  it('list_policies lists rules in the order of evaluation', async () => {
    const { gate } = await open()
    await put(gate, 'low', { action: 'ALLOW' })
    await put(gate, 'b', { action: 'ALLOW', priority: 10 })
    await put(gate, 'special', { action: 'ALLOW', priority: 10, scope: { type: 'x' } })
    const { policies, defaults } = await gate.listPolicies(admin())
    expect(policies.map(({ id }) => id)).toEqual(['special', 'b', 'low'])
    expect(defaults).toEqual({ plain: 'ALLOW', upstream: 'BLOCK' })
  })

  it('every change writes a receipt, and an unchanged rule writes none', async () => {
    const { gate } = await open()
    await put(gate, 'r', { action: 'ALLOW' })
    await put(gate, 'r', { action: 'ALLOW' })
    await put(gate, 'r', { action: 'BLOCK' })
    expect(await gate.removePolicy(admin(), { id: 'r' })).toEqual({ id: 'r', removed: true })
    expect(await gate.removePolicy(admin(), { id: 'r' })).toEqual({ id: 'r', removed: false })
    await gate.putRedactionPattern(admin(), { name: 'plate', pattern: '[A-Z]{2}-\\d+' })
    await gate.removeRedactionPattern(admin(), { name: 'plate' })
    const changed = await changes(gate)
    expect(changed.map(({ body }) => body)).toMatchObject([
      { what: 'rule', id: 'r', change: 'set', before: null, after: { action: 'ALLOW' } },
      { what: 'rule', id: 'r', change: 'set', before: { action: 'ALLOW' }, after: { action: 'BLOCK' } },
      { what: 'rule', id: 'r', change: 'removed', before: { action: 'BLOCK' }, after: null },
      { what: 'pattern', id: 'plate', change: 'set', before: null, after: { pattern: '[A-Z]{2}-\\d+' } },
      { what: 'pattern', id: 'plate', change: 'removed', after: null },
    ])
    for (const { from, to } of changed) {
      expect([from, to]).toEqual([
        { kind: 'human', id: 'root' },
        { kind: 'service', id: 'asyncgate' },
      ])
    }
  })

  it('only admins can manage policies', async () => {
    const { gate } = await open()
    const calls = [
      gate.listPolicies(agent()),
      gate.getPolicy(agent(), { id: 'r' }),
      gate.putPolicy(agent(), { id: 'r', action: 'ALLOW' }),
      gate.removePolicy(agent(), { id: 'r' }),
      gate.testPolicy(agent(), { context: { type: 'job' } }),
      gate.listRedactionPatterns(agent()),
      gate.putRedactionPattern(agent(), { name: 'x', pattern: 'x' }),
      gate.removeRedactionPattern(agent(), { name: 'x' }),
    ]
    expect((await refusals(calls)).map(({ code }) => code)).toEqual(calls.map(() => 'FORBIDDEN'))
  })

  it.each([
    ['condition', { action: 'ALLOW', condition: { matches: ['a', 'b'] } }],
    ['condition', { action: 'ALLOW', condition: { '>': [{ var: 'arg.amount' }, 1] } }],
    ['condition', { action: 'ALLOW', condition: { '==': [1, 'x'.repeat(30_000)] } }],
    ['redact', { action: 'REDACT' }],
    ['redact.paths', { action: 'REDACT', redact: { targets: 'args', paths: ['card'] } }],
    ['redact.patterns', { action: 'REDACT', redact: { targets: 'args', patterns: ['nobody'] } }],
    ['action', { action: 'MAYBE' }],
    ['expires_at', { action: 'ALLOW', expires_at: 'friday' }],
    ['scope', { action: 'ALLOW', scope: { tools: 'x' } }],
    ['id', { id: 'default', action: 'ALLOW' }],
    ['id', { id: 'a/b', action: 'ALLOW' }],
  ])('put_policy refuses a rule with a wrong %s and stores nothing', async (path, fields) => {
    const { gate } = await open()
    expect(await refusal(put(gate, 'r', fields))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path },
    })
    expect((await gate.listPolicies(admin())).policies).toEqual([])
    expect(await changes(gate)).toEqual([])
  })

  it('an unknown rule is not found', async () => {
    const { gate } = await open()
    expect(await refusal(gate.getPolicy(admin(), { id: 'r' }))).toMatchObject({ code: 'POLICY_NOT_FOUND' })
  })

  it('rules of the file cannot be changed or removed', async () => {
    const fixed = {
      rules: [rule('file', { action: 'BLOCK', scope: { type: 'evil' } })],
      patterns: [patternOf({ name: 'plate', pattern: '[A-Z]{2}-\\d+' })],
    }
    const { gate } = await open({ policy: { fixed } })
    expect(await gate.getPolicy(admin(), { id: 'file' })).toMatchObject({ source: 'file', version: null })
    const calls = [
      put(gate, 'file', { action: 'ALLOW' }),
      gate.removePolicy(admin(), { id: 'file' }),
      gate.putRedactionPattern(admin(), { name: 'plate', pattern: 'x' }),
      gate.removeRedactionPattern(admin(), { name: 'plate' }),
    ]
    for (const { code, message } of await refusals(calls)) {
      expect([code, message]).toEqual(['VALIDATION_ERROR', expect.stringContaining("operator's file")])
    }
    const redact = { targets: 'args', patterns: ['plate'] }
    expect(await put(gate, 'r', { action: 'REDACT', redact })).toMatchObject({ source: 'api' })
  })

  it('concurrent writes of the same rule write it once', async () => {
    const { gate } = await open()
    await Promise.all(Array.from({ length: 10 }, (_, i) => put(gate, 'r', { action: 'ALLOW', priority: i })))
    expect(await gate.getPolicy(admin(), { id: 'r' })).toMatchObject({ version: 10 })
  })
})

describeGates('redaction patterns', (open) => {
  it('list_redaction_patterns lists built-in and added patterns', async () => {
    const { gate } = await open()
    await gate.putRedactionPattern(admin(), {
      name: 'plate',
      pattern: '[A-Z]{2}-\\d+',
      replacement: '(plate)',
    })
    const { patterns } = await gate.listRedactionPatterns(admin())
    expect(patterns.map(({ name }) => name)).toEqual([
      'email',
      'phone',
      'ssn',
      'card',
      'api_key',
      'bearer',
      'ipv4',
      'plate',
    ])
    expect(patterns.at(-1)).toMatchObject({ source: 'api', replacement: '(plate)', updated_by: 'human:root' })
    const rules = [{ id: 'r', action: 'REDACT', redact: { targets: 'args', patterns: ['plate', 'card'] } }]
    const args = { text: 'XY-12 paid with 4111 1111 1111 1111, order 4111 1111 1111 1112' }
    expect(await gate.testPolicy(admin(), { context: { type: 'job', args }, rules })).toMatchObject({
      args: { text: '(plate) paid with [REDACTED], order 4111 1111 1111 1112' },
    })
  })

  it('a disabled pattern matches nothing', async () => {
    const { gate } = await open()
    const plate = { name: 'plate', pattern: '[A-Z]{2}-\\d+' }
    await gate.putRedactionPattern(admin(), plate)
    await put(gate, 'r', { action: 'REDACT', redact: { targets: 'args', patterns: ['plate'] } })
    const args = async () =>
      (await gate.testPolicy(admin(), { context: { type: 'job', args: 'XY-12' } })).args
    expect(await args()).toBe('[REDACTED]')
    await gate.putRedactionPattern(admin(), { ...plate, enabled: false })
    expect(await args()).toBe('XY-12')
  })

  it('a pattern that a rule names cannot be removed', async () => {
    const { gate } = await open()
    await gate.putRedactionPattern(admin(), { name: 'plate', pattern: '[A-Z]{2}-\\d+' })
    await put(gate, 'r', { action: 'REDACT', redact: { targets: 'args', patterns: ['plate'] } })
    expect(await refusal(gate.removeRedactionPattern(admin(), { name: 'plate' }))).toMatchObject({
      message: expect.stringContaining('in use by rule r'),
    })
  })

  it.each([
    ['pattern', { pattern: '(a' }],
    ['pattern', { pattern: '(?=a)b' }],
    ['pattern', { pattern: 'a*' }],
    ['pattern', { pattern: 'a'.repeat(1001) }],
    ['name', { name: 'email' }],
    ['name', { name: 'No' }],
  ])('a pattern with a wrong %s is refused: %j', async (path, fields) => {
    const { gate } = await open()
    const call = gate.putRedactionPattern(admin(), { name: 'x', pattern: 'x', ...fields })
    expect(await refusal(call)).toMatchObject({ code: 'VALIDATION_ERROR', details: { path } })
  })
})

describeGates('test_policy', (open) => {
  it('test_policy returns the decision with its reason and creates nothing', async () => {
    const { gate } = await open({ upstreams: offering({ send: 'write' }) })
    await put(gate, 'writing', { action: 'REQUIRE_APPROVAL', scope: { category: 'write' } })
    await put(gate, 'cards', {
      action: 'REDACT',
      priority: 9,
      redact: { targets: 'both', paths: ['$.card'] },
    })
    const context = { upstream: 'mail', tool: 'send', principal: 'bob', args: { card: 1 } }
    expect(await gate.testPolicy(admin(), { context })).toEqual({
      action: 'REQUIRE_APPROVAL',
      approve_by: 'person',
      rule_id: 'writing',
      reason: 'Rule writing says that this needs approval.',
      args: { card: '[REDACTED]' },
      redacted_fields: ['/card'],
      redacts_result: true,
      considered: [
        { id: 'cards', applied: true, why: 'it redacts the arguments and the result' },
        { id: 'writing', applied: true, why: 'it decides' },
      ],
    })
    expect((await gate.listTasks(admin())).tasks).toEqual([])
  })

  it('test_policy can evaluate given rules', async () => {
    const { gate } = await open()
    await put(gate, 'stored', { action: 'BLOCK' })
    const rules = [{ id: 'tried', action: 'ALLOW' }]
    const context = { type: 'job' }
    expect(await gate.testPolicy(admin(), { context, rules })).toMatchObject({
      action: 'ALLOW',
      rule_id: 'tried',
    })
    expect(await refusal(ask(gate))).toMatchObject({ details: { rule_id: 'stored' } })
    const wrong = [{ id: 'tried', action: 'ALLOW', condition: { nonsense: 1 } }]
    expect(await refusal(gate.testPolicy(admin(), { context, rules: wrong }))).toMatchObject({
      details: { path: 'rules.0.condition' },
    })
  })

  it('test_policy requires a type or a tool', async () => {
    const { gate } = await open()
    expect(await refusal(gate.testPolicy(admin(), { context: {} }))).toMatchObject({
      details: { path: 'context.type' },
    })
  })
})

describeGates('receipts of upstream changes', (open) => {
  it('receipts of upstream changes contain no secrets', async () => {
    const { gate } = await open({ upstreams: registryOn })
    const transport = { type: 'http', url: 'https://wiki.example/mcp?key=hush' }
    await gate.addUpstream(admin(), { name: 'wiki', transport, enabled: false })
    await gate.removeUpstream(admin(), { name: 'wiki' })
    await gate.removeUpstream(admin(), { name: 'wiki' })
    const changed = await changes(gate, 'upstream.changed')
    expect(changed.map(({ body }) => body)).toMatchObject([
      { name: 'wiki', change: 'set', tool: null, before: null, after: { enabled: false } },
      { name: 'wiki', change: 'removed', before: { enabled: false }, after: null },
    ])
    expect(only([...new Set(changed.map(({ from }) => `${from.kind}:${from.id}`))])).toBe('human:root')
    expect(JSON.stringify(changed)).not.toContain('hush')
  })
})
