import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json } from '../../src/core/json/json.ts'
import type { PartialContext } from '../../src/policy/compiled-rule.ts'
import type { RuleDraft } from '../../src/policy/rule.ts'
import { book, call, NOW, rule } from './support.ts'

const partial = (fields: Partial<PartialContext> = {}): PartialContext => ({
  type: 'mcp.tool_call',
  tool: 'send_email',
  upstream: 'mail',
  category: 'write',
  tenant: 'default',
  ...fields,
})

const forecast = (rules: readonly RuleDraft[], fields: Partial<PartialContext> = {}, defaults = {}) =>
  book(rules, { defaults }).forecast(partial(fields))

const outcomeOf = (...args: Parameters<typeof forecast>) => {
  const { outcome, rule_id } = forecast(...args)
  return [outcome, rule_id]
}

const amount = { '>': [{ var: 'args.amount' }, 100] }

describe('forecast for a tool', () => {
  test('the forecast is the default if no rule matches', () => {
    expect(forecast([])).toEqual({
      outcome: 'blocked',
      depends_on: [],
      rule_id: null,
      reason: 'No rule allows this, and calls of upstream tools are blocked by default.',
    })
    expect(outcomeOf([], {}, { upstream: 'ALLOW' })).toEqual(['allowed', null])
    expect(outcomeOf([], {}, { upstream: 'REQUIRE_APPROVAL' })).toEqual(['needs_approval', null])
  })

  test('the forecast is the decision of the first matching rule', () => {
    const rules = [
      rule('other', { action: 'BLOCK', priority: 3, scope: { tool: 'delete_*' } }),
      rule('off', { action: 'BLOCK', priority: 3, enabled: false }),
      rule('over', { action: 'BLOCK', priority: 3, expires_at: new Date(NOW).toISOString() }),
      rule('reads', { action: 'ALLOW', priority: 2, condition: { in: [{ var: 'tool' }, ['read']] } }),
      rule('mail', { action: 'REQUIRE_APPROVAL', priority: 1, scope: { upstream: 'mail' } }),
    ]
    expect(outcomeOf(rules)).toEqual(['needs_approval', 'mail'])
    expect(outcomeOf(rules, { tool: 'read' })).toEqual(['allowed', 'reads'])
    expect(outcomeOf(rules, { tool: 'delete_all' })).toEqual(['blocked', 'other'])
    expect(outcomeOf(rules, { upstream: 'files' })).toEqual(['blocked', null])
  })

  test('the forecast depends on the arguments if a condition on them could change the decision', () => {
    const rules = [
      rule('spending', { action: 'REQUIRE_APPROVAL', priority: 9, condition: amount, description: 'Dear.' }),
      rule('mail', { action: 'ALLOW' }),
    ]
    expect(forecast(rules)).toEqual({
      outcome: 'depends',
      depends_on: ['arguments'],
      rule_id: 'spending',
      reason:
        'Rule spending (Dear) may require approval, depending on the arguments. Otherwise: Rule mail allows this.',
    })
  })

  test('the forecast does not depend on a condition that changes nothing', () => {
    expect(outcomeOf([rule('never', { action: 'BLOCK', condition: amount })])).toEqual(['blocked', null])
  })

  test.each<[string, Json, string]>([
    ['and with a part that is false', { and: [amount, { '==': [{ var: 'tool' }, 'x'] }] }, 'blocked'],
    ['and with a part that is true', { and: [{ '==': [{ var: 'upstream' }, 'mail'] }, amount] }, 'depends'],
    ['or with a part that is true', { or: [amount, { '==': [{ var: 'upstream' }, 'mail'] }] }, 'allowed'],
    ['or with a part that is false', { or: [{ '==': [{ var: 'tool' }, 'x'] }, amount] }, 'depends'],
    ['not', { '!': [amount] }, 'depends'],
    ['if', { if: [amount, true, false] }, 'depends'],
    ['missing', { missing: ['args.amount'] }, 'depends'],
    [
      'some of a list in the arguments',
      { some: [{ var: 'args.to' }, { '==': [{ var: '' }, 'x'] }] },
      'depends',
    ],
    ['all data', { '!!': [{ var: '' }] }, 'depends'],
    ['the session', { '==': [{ var: 'session' }, 's'] }, 'depends'],
    ['a known list', { some: [['send_email'], { '==': [{ var: '' }, 'send_email'] }] }, 'allowed'],
    ['an error after an unknown part', { and: [amount, { missing_some: [1, 'tool'] }] }, 'depends'],
    ['an error before an unknown part', { and: [{ missing_some: [1, 'tool'] }, amount] }, 'blocked'],
  ])('the forecast evaluates a condition with %s', (_, condition, outcome) => {
    expect(forecast([rule('r', { action: 'ALLOW', condition })]).outcome).toBe(outcome)
  })

  test('the forecast depends on the caller if a rule names a principal and the caller is unknown', () => {
    const rules = [rule('alice', { action: 'ALLOW', scope: { principal: 'alice' } })]
    expect(forecast(rules)).toMatchObject({ outcome: 'depends', depends_on: ['caller'], rule_id: 'alice' })
    expect(outcomeOf(rules, { principal: 'agent:alice' })).toEqual(['allowed', 'alice'])
    expect(outcomeOf(rules, { principal: 'agent:bob' })).toEqual(['blocked', null])
    const both = [rule('both', { action: 'ALLOW', scope: { principal: 'alice' }, condition: amount })]
    expect(forecast(both).depends_on).toEqual(['arguments', 'caller'])
    expect(forecast(both).reason).toMatch(/depending on the arguments and the caller\./)
  })

  test('the forecast includes remembered approvals', () => {
    const ask = rule('ask', { action: 'REQUIRE_APPROVAL' })
    const remembered = rule('r', { action: 'ALLOW', approves: 'ask', scope: { principal: 'alice' } })
    expect(outcomeOf([ask, remembered])).toEqual(['depends', 'r'])
    expect(outcomeOf([ask, remembered], { principal: 'agent:alice' })).toEqual(['allowed', 'r'])
    expect(outcomeOf([ask, remembered], { principal: 'agent:bob' })).toEqual(['needs_approval', 'ask'])
    expect(outcomeOf([remembered])).toEqual(['blocked', null])
  })

  test('a REDACT rule changes the forecast only if it cannot be applied', () => {
    const redact = { targets: 'both', paths: ['$.card'] }
    const allow = rule('mail', { action: 'ALLOW' })
    expect(outcomeOf([rule('red', { action: 'REDACT', redact })])).toEqual(['blocked', null])
    expect(outcomeOf([rule('red', { action: 'REDACT', redact }), allow])).toEqual(['allowed', 'mail'])
    const broken = { targets: 'args', patterns: ['gone'] }
    expect(outcomeOf([rule('red', { action: 'REDACT', redact: broken }), allow])).toEqual(['blocked', 'red'])
    const failing = rule('red', { action: 'REDACT', redact, condition: { nonsense: [1] } })
    expect(outcomeOf([failing, allow])).toEqual(['blocked', 'red'])
  })
})

test('every decision agrees with the forecast', () => {
  const condition = fc.constantFrom<Json>(
    amount,
    { '==': [{ var: 'args.to' }, 'bob'] },
    { and: [amount, { '==': [{ var: 'tool' }, 'send_email'] }] },
    { or: [{ '==': [{ var: 'agent' }, 'alice'] }, { missing: ['args.amount'] }] },
    { '!': [{ '==': [{ var: 'principal' }, 'agent:alice'] }] },
    { '==': [{ var: 'category' }, 'write'] },
  )
  const scope = fc.record(
    {
      tool: fc.constantFrom('send_email', 'read', '*'),
      principal: fc.constantFrom('alice', 'bob', 'human:*'),
    },
    { requiredKeys: [] },
  )
  const decides = fc.record(
    {
      action: fc.constantFrom('ALLOW', 'BLOCK', 'REQUIRE_APPROVAL'),
      priority: fc.integer({ min: 0, max: 3 }),
      scope,
      condition,
    },
    { requiredKeys: ['action', 'priority', 'scope'] },
  )
  const standsIn = fc.record({
    action: fc.constant('ALLOW'),
    approves: fc.constantFrom('*', 'default', 'r0', 'r1'),
    scope,
  })
  const redacts = fc.record(
    {
      action: fc.constant('REDACT'),
      redact: fc.constant({ targets: 'both', paths: ['$.x'] }),
      scope,
      condition,
    },
    { requiredKeys: ['action', 'redact', 'scope'] },
  )
  const rules = fc
    .array(fc.oneof({ weight: 4, arbitrary: decides }, standsIn, redacts), { maxLength: 6 })
    .map((all) => all.map((fields, i) => rule(`r${i}`, fields)))
  const context = fc.record({
    tool: fc.constantFrom('send_email', 'read'),
    category: fc.constantFrom('write', null),
    agent: fc.constantFrom('alice', 'carol'),
    principal: fc.constantFrom<`${'agent' | 'human'}:${string}`>('agent:alice', 'agent:bob', 'human:erin'),
    args: fc.record(
      { amount: fc.constantFrom(1, 500), to: fc.constantFrom('bob', 'eve') },
      { requiredKeys: [] },
    ),
  })
  const upstream = fc.constantFrom<'ALLOW' | 'BLOCK' | 'REQUIRE_APPROVAL'>(
    'ALLOW',
    'BLOCK',
    'REQUIRE_APPROVAL',
  )
  const expected = {
    allowed: ['ALLOW', 'REDACT'],
    blocked: ['BLOCK'],
    needs_approval: ['REQUIRE_APPROVAL'],
    depends: ['ALLOW', 'REDACT', 'BLOCK', 'REQUIRE_APPROVAL'],
  }
  fc.assert(
    fc.property(rules, context, upstream, (all, { args, ...who }, action) => {
      const made = book(all, { defaults: { upstream: action } })
      const ruling = made.rule(call({ ...who, args }))
      const { tool, category, principal, agent } = who
      const unknown = made.forecast(partial({ tool, category }))
      const known = made.forecast(partial({ tool, category, principal, agent, session: null }))
      expect(expected[unknown.outcome]).toContain(ruling.action)
      expect(expected[known.outcome]).toContain(ruling.action)
      expect(known.depends_on).not.toContain('caller')
      if (unknown.outcome !== 'depends') expect(known.outcome).toBe(unknown.outcome)
    }),
    { numRuns: 2000 },
  )
})
