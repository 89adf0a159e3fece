import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Pattern } from '../../src/policy/pattern.ts'
import { compareRules, contradictionIn, type RuleDraft } from '../../src/policy/rule.ts'
import { book, call, NOW, patterns, rule, task } from './support.ts'

let known: Map<string, Pattern>
beforeAll(async () => {
  known = await patterns()
})

const ruled = (rules: readonly RuleDraft[], context = call()) => {
  const { action, rule_id } = book(rules, { known }).rule(context)
  return [action, rule_id]
}

describe('who may approve', () => {
  const ask = (id: string, fields: object = {}) => rule(id, { action: 'REQUIRE_APPROVAL', ...fields })
  const approver = (rules: readonly RuleDraft[], defaults = {}) =>
    book(rules, { defaults }).rule(call()).approve_by

  test('the rule that decides says who may approve', () => {
    expect(approver([ask('a')])).toBe('person')
    expect(approver([ask('a', { approve_by: 'person' })])).toBe('person')
    expect(approver([ask('a', { approve_by: 'client' })])).toBe('client')
    const client = ask('c', { approve_by: 'client', priority: 1 })
    expect(approver([client, ask('a')])).toBe('client')
    expect(approver([client, ask('a', { priority: 2 })])).toBe('person')
    expect(approver([client, ask('a', { priority: 1, scope: { upstream: 'mail' } })])).toBe('person')
  })

  test('an approval that the default requires needs a person', () => {
    expect(approver([], { upstream: 'REQUIRE_APPROVAL' })).toBe('person')
  })

  test('no approver is named where none is needed', () => {
    const client = ask('c', { approve_by: 'client' })
    expect(approver([client, rule('ok', { action: 'ALLOW', approves: 'c' })])).toBeNull()
    expect(approver([rule('no', { action: 'BLOCK' }), ask('z', { approve_by: 'client' })])).toBeNull()
  })
})

describe('order of rules', () => {
  const scope = fc.record(
    { tool: fc.constantFrom('a', 'b'), type: fc.constant('t'), principal: fc.constant('p') },
    { requiredKeys: [] },
  )
  const drafts = fc.uniqueArray(
    fc.record({ id: fc.stringMatching(/^[a-c]{1,3}$/), priority: fc.integer({ min: 0, max: 2 }), scope }),
    { selector: ({ id }) => id, maxLength: 12 },
  )

  test('the order of rules is total and independent of insertion', () => {
    fc.assert(
      fc.property(
        drafts.chain((all) =>
          fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
        ),
        ([all, shuffled]) => {
          const make = (list: typeof all) =>
            list.map(({ id, ...fields }) => rule(id, { action: 'ALLOW', ...fields }))
          const order = (list: typeof all) => book(make(list)).rules.map(({ id }) => id)
          expect(order(shuffled)).toEqual(order(all))
          for (const a of make(all)) {
            for (const b of make(all)) {
              expect(Math.sign(compareRules(a, b))).toBe(-Math.sign(compareRules(b, a)) + 0)
              expect(compareRules(a, b) === 0).toBe(a.id === b.id)
            }
          }
        },
      ),
    )
  })

  test('rules are ordered by priority, then by the number of scope fields, then by id', () => {
    const rules = [
      rule('z', { action: 'ALLOW', scope: { tool: 'x', upstream: 'y' } }),
      rule('a', { action: 'ALLOW' }),
      rule('c', { action: 'ALLOW', scope: { tool: 'x' } }),
      rule('b', { action: 'ALLOW', scope: { upstream: 'y' } }),
      rule('last', { action: 'ALLOW', priority: -1, scope: { tool: 'x', upstream: 'y', type: 't' } }),
      rule('first', { action: 'ALLOW', priority: 1 }),
    ]
    expect(book(rules).rules.map(({ id }) => id)).toEqual(['first', 'z', 'b', 'c', 'a', 'last'])
  })
})

describe('scope of a rule', () => {
  test.each([
    [{}, true],
    [{ tool: 'send_email' }, true],
    [{ tool: 'send_*' }, true],
    [{ tool: 'read_*' }, false],
    [{ upstream: 'mail' }, true],
    [{ upstream: 'files' }, false],
    [{ category: 'write' }, true],
    [{ category: 'read' }, false],
    [{ type: 'mcp.tool_call' }, true],
    [{ type: 'render' }, false],
    [{ principal: 'alice' }, true],
    [{ principal: 'agent:alice' }, true],
    [{ principal: 'human:alice' }, false],
    [{ principal: 'agent:al*' }, true],
    [{ upstream: 'mail', tool: 'send_email', principal: 'bob' }, false],
  ])('the scope %j matches the call: %s', (scope, fits) => {
    expect(ruled([rule('r', { action: 'ALLOW', scope })])).toEqual(fits ? ['ALLOW', 'r'] : ['BLOCK', null])
  })

  test('a tool scope matches no plain task', () => {
    expect(ruled([rule('r', { action: 'BLOCK', scope: { tool: '*' } })], task())).toEqual(['ALLOW', null])
  })

  test('a principal scope matches the credential, not the agent that the caller acts for', () => {
    const rules = [rule('r', { action: 'ALLOW', scope: { principal: 'alice' } })]
    expect(ruled(rules, call({ agent: 'alice', principal: 'agent:mallory' }))).toEqual(['BLOCK', null])
  })
})

describe('decision', () => {
  test('the first applicable rule decides', () => {
    const rules = [
      rule('allow', { action: 'ALLOW', priority: 50 }),
      rule('block', { action: 'BLOCK', priority: 300, condition: { in: ['delete', { var: 'tool' }] } }),
    ]
    expect(ruled(rules)).toEqual(['ALLOW', 'allow'])
    expect(ruled(rules, call({ tool: 'delete_all' }))).toEqual(['BLOCK', 'block'])
  })

  test('the default decides without a rule, separately for plain tasks and tool calls', () => {
    expect(ruled([])).toEqual(['BLOCK', null])
    expect(ruled([], task())).toEqual(['ALLOW', null])
    const other = book([], { defaults: { plain: 'REQUIRE_APPROVAL', upstream: 'ALLOW' } })
    expect([other.rule(task()).action, other.rule(call()).action]).toEqual(['REQUIRE_APPROVAL', 'ALLOW'])
  })

  test('disabled and expired rules do not decide', () => {
    const at = (ms: number) => new Date(ms).toISOString()
    expect(ruled([rule('r', { action: 'ALLOW', enabled: false })])).toEqual(['BLOCK', null])
    expect(ruled([rule('r', { action: 'ALLOW', expires_at: at(NOW) })])).toEqual(['BLOCK', null])
    expect(ruled([rule('r', { action: 'ALLOW', expires_at: at(NOW + 1) })])).toEqual(['ALLOW', 'r'])
  })

  test('a rule expires without being loaded again', () => {
    let now = NOW
    const rules = book([rule('r', { action: 'ALLOW', expires_at: new Date(NOW + 1000).toISOString() })], {
      now: () => now,
    })
    expect(rules.rule(call()).action).toBe('ALLOW')
    now += 1000
    expect(rules.rule(call()).action).toBe('BLOCK')
  })

  test.each([
    ['that takes too long', { in: ['b'.repeat(5000), { var: 'args.text' }] }],
    ['that throws', { missing_some: [1, { var: 'args.text' }] }],
    ['that is not JSON Logic', { nonsense: [1] }],
  ])('a condition %s blocks, even in an ALLOW rule', (_, condition) => {
    const { action, rule_id, reason } = book([
      rule('r', { action: 'ALLOW', priority: 1, condition }),
      rule('other', { action: 'ALLOW' }),
    ]).rule(call({ args: { text: 'a'.repeat(4_000_000) } }))
    expect([action, rule_id]).toEqual(['BLOCK', 'r'])
    expect(reason).toMatch(/cannot be evaluated/)
  })

  test('a condition on arguments blocks if the arguments are stored elsewhere', () => {
    const rules = [
      rule('r', { action: 'REQUIRE_APPROVAL', condition: { '>': [{ var: 'args.amount' }, 100] } }),
    ]
    expect(ruled(rules, task({ elsewhere: true }))).toEqual(['BLOCK', 'r'])
    const others = [rule('r', { action: 'BLOCK', condition: { '==': [{ var: 'type' }, 'x'] } })]
    expect(ruled(others, task({ elsewhere: true }))).toEqual(['ALLOW', null])
  })
})

describe('REDACT rules', () => {
  const redactCards = { action: 'REDACT', redact: { targets: 'both', paths: ['$.card'] } }
  const args = { card: '4111', to: 'bob@example.com' }

  test('a REDACT rule never decides, with any scope', () => {
    for (const scope of [
      {},
      { tool: 'send_email' },
      { upstream: 'mail' },
      { category: 'write' },
      { type: 'mcp.tool_call' },
      { principal: 'alice' },
    ]) {
      const red = rule('r', { ...redactCards, scope })
      expect(ruled([red])).toEqual(['BLOCK', null])
      const asking = book([red], { defaults: { upstream: 'REQUIRE_APPROVAL' } }).rule(call({ args }))
      expect([asking.action, asking.rule_id, asking.redacting]).toEqual(['REQUIRE_APPROVAL', null, ['r']])
    }
  })

  test('the action is REDACT if the default allows a redacted task', () => {
    const red = rule('r', { ...redactCards, scope: { type: 'render' } })
    const ruling = book([red]).rule(task({ args }))
    expect([ruling.action, ruling.rule_id]).toEqual(['REDACT', 'r'])
    expect(ruling.redactArgs(args)).toEqual({ value: { ...args, card: '[REDACTED]' }, fields: ['/card'] })
  })

  test.each(['ALLOW', 'BLOCK', 'REQUIRE_APPROVAL'])(
    'REDACT rules apply above and below a rule with %s',
    (action) => {
      const rules = book(
        [
          rule('cards', { ...redactCards, priority: 100 }),
          rule('decides', { action, priority: 80 }),
          rule('mails', { action: 'REDACT', priority: 70, redact: { targets: 'both', patterns: ['email'] } }),
        ],
        { known },
      )
      const ruling = rules.rule(call({ args }))
      const redacted = { card: '[REDACTED]', to: '[REDACTED]' }
      expect([ruling.action, ruling.rule_id]).toEqual([action, 'decides'])
      expect(ruling.redacting).toEqual(['cards', 'mails'])
      expect(ruling.redactArgs(args).value).toEqual(redacted)
      expect(rules.redactResult(call({ args }), args).value).toEqual(redacted)
    },
  )

  test('a REDACT rule does not apply if its condition is false', () => {
    const condition = { '!=': [{ var: 'tool' }, 'send_email'] }
    const rules = book([rule('r', { ...redactCards, condition }), rule('allow', { action: 'ALLOW' })])
    expect(rules.rule(call({ args })).redactArgs(args).value).toBe(args)
    expect(rules.redactResult(call({ args }), args).value).toBe(args)
    expect(rules.rule(call({ args, tool: 'read' })).redactArgs(args).value).not.toBe(args)
  })

  test('a REDACT rule with a failing condition blocks what another rule allows, and redacts the stored arguments', () => {
    const broken = rule('r', { ...redactCards, condition: { nonsense: [1] } })
    for (const action of ['ALLOW', 'REQUIRE_APPROVAL']) {
      const ruling = book([broken, rule('above', { action, priority: 1 })]).rule(call({ args }))
      expect([ruling.action, ruling.rule_id]).toEqual(['BLOCK', 'r'])
      expect(ruling.redactArgs(args).value).toEqual({ ...args, card: '[REDACTED]' })
    }
    const blocking = rule('above', { action: 'BLOCK', priority: 1 })
    expect(ruled([broken, blocking])).toEqual(['BLOCK', 'above'])
  })

  test('a REDACT rule that cannot be applied blocks', () => {
    const byName = rule('r', {
      action: 'REDACT',
      scope: { type: '*' },
      redact: { targets: 'args', patterns: ['gone'] },
    })
    expect(ruled([byName], task())).toEqual(['BLOCK', 'r'])
    expect(ruled([rule('r', redactCards)], task({ elsewhere: true }))).toEqual(['BLOCK', 'r'])
  })

  test('a REDACT rule for results leaves the arguments, and the reverse', () => {
    const only = (targets: string) =>
      book([rule('r', { action: 'REDACT', redact: { targets, paths: ['$.card'] } })])
    const redacted = { ...args, card: '[REDACTED]' }
    expect(only('result').rule(task({ args })).redactArgs(args).value).toBe(args)
    expect(only('result').redactResult(task(), args).value).toEqual(redacted)
    expect(only('args').redactResult(task(), args).value).toBe(args)
    expect([only('args').redactsResults, only('result').redactsResults]).toEqual([false, true])
  })

  test('results are redacted although the argument used by the condition was redacted', () => {
    const condition = { '==': [{ var: 'args.card' }, '4111'] }
    const rules = book([rule('r', { ...redactCards, condition })])
    const ruling = rules.rule(task({ args }))
    const redacted = ruling.redactArgs(args).value
    expect(rules.redactResult(task({ args: redacted }), args).value).toBe(args)
    expect(rules.redactResult(task({ args: redacted }), args, ruling.redacting).value).toEqual({
      ...args,
      card: '[REDACTED]',
    })
  })

  test('a REDACT rule with a failing condition redacts results', () => {
    const rules = book([rule('r', { ...redactCards, condition: { nonsense: [1] } })])
    expect(rules.redactResult(task(), args).value).toEqual({ ...args, card: '[REDACTED]' })
  })

  test('a REDACT rule with an invalid path blocks, and redacts all texts of results', () => {
    const rules = book([rule('r', { action: 'REDACT', redact: { targets: 'both', paths: ['card'] } })])
    expect(rules.rule(task()).action).toBe('BLOCK')
    expect(rules.redactResult(task(), { a: 'x' }).value).toEqual({ a: '[REDACTED]' })
  })

  test('a REDACT rule with a missing pattern redacts all texts of results', () => {
    const rules = book([rule('r', { action: 'REDACT', redact: { targets: 'result', patterns: ['gone'] } })])
    expect(rules.redactResult(task(), { a: 'x', n: 1 }).value).toEqual({ a: '[REDACTED]', n: 1 })
  })
})

describe('remembered approvals', () => {
  const ask = rule('ask', { action: 'REQUIRE_APPROVAL', priority: 100, scope: { tool: 'send_email' } })
  const block = rule('block', {
    action: 'BLOCK',
    priority: 50,
    condition: { '==': [{ var: 'args.to' }, 'x'] },
  })
  const standIn = (fields: object = {}) =>
    rule('standin', {
      action: 'ALLOW',
      approves: 'ask',
      scope: { principal: 'alice', tool: 'send_email' },
      ...fields,
    })

  test('a remembered approval allows what its rule would ask about', () => {
    expect(ruled([ask, standIn()])).toEqual(['ALLOW', 'standin'])
    expect(ruled([ask, standIn()], call({ principal: 'agent:bob' }))).toEqual(['REQUIRE_APPROVAL', 'ask'])
    expect(ruled([ask, standIn({ approves: 'other' })])).toEqual(['REQUIRE_APPROVAL', 'ask'])
    expect(ruled([ask, standIn({ approves: '*' })])).toEqual(['ALLOW', 'standin'])
  })

  test('a remembered approval allows nothing by itself and overrides no block', () => {
    expect(ruled([standIn({ approves: '*', priority: 1000 })])).toEqual(['BLOCK', null])
    const low = rule('ask', { action: 'REQUIRE_APPROVAL' })
    expect(
      ruled([low, block, standIn({ approves: '*', priority: 1000 })], call({ args: { to: 'x' } })),
    ).toEqual(['BLOCK', 'block'])
  })

  test('a remembered approval does not affect redaction', () => {
    const cards = rule('cards', {
      action: 'REDACT',
      priority: 200,
      redact: { targets: 'args', paths: ['$.card'] },
    })
    const ruling = book([ask, cards, standIn({ priority: 1000 })]).rule(call({ args: { card: 1 } }))
    expect([ruling.action, ruling.redacting]).toEqual(['ALLOW', ['cards']])
  })

  test('a remembered approval for any rule covers the default', () => {
    const rules = book([standIn({ approves: '*' })], { defaults: { upstream: 'REQUIRE_APPROVAL' } })
    expect(rules.rule(call()).action).toBe('ALLOW')
  })
})

describe('isOpen', () => {
  test('a rule book is open if no rule can affect a plain task', () => {
    expect(book([]).isOpen).toBe(true)
    expect(book([rule('r', { action: 'BLOCK', scope: { tool: '*' } })]).isOpen).toBe(true)
    expect(book([rule('r', { action: 'BLOCK', enabled: false })]).isOpen).toBe(true)
    expect(book([rule('r', { action: 'BLOCK' })]).isOpen).toBe(false)
    expect(book([], { defaults: { plain: 'BLOCK' } }).isOpen).toBe(false)
  })
})

describe('explanation of a decision', () => {
  test('the explanation lists every rule in order with its effect', () => {
    const rules = book([
      rule('off', { action: 'BLOCK', priority: 5, enabled: false }),
      rule('other', { action: 'BLOCK', priority: 4, scope: { tool: 'x' } }),
      rule('unmet', { action: 'BLOCK', priority: 3, condition: { '==': [1, 2] } }),
      rule('allow', { action: 'ALLOW', priority: 2 }),
      rule('late', { action: 'BLOCK', priority: 1 }),
      rule('red', { action: 'REDACT', redact: { targets: 'both', paths: ['$.a'] } }),
      rule('args', { action: 'REDACT', priority: -1, redact: { targets: 'args', paths: ['$.a'] } }),
      rule('result', { action: 'REDACT', priority: -2, redact: { targets: 'result', paths: ['$.a'] } }),
    ])
    expect(rules.explain(call()).considered).toEqual([
      { id: 'off', applied: false, why: 'it is not enabled' },
      { id: 'other', applied: false, why: 'its tool is x, not send_email' },
      { id: 'unmet', applied: false, why: 'its condition does not hold' },
      { id: 'allow', applied: true, why: 'it decides' },
      { id: 'late', applied: false, why: 'a rule before it has decided' },
      { id: 'red', applied: true, why: 'it redacts the arguments and the result' },
      { id: 'args', applied: true, why: 'it redacts the arguments' },
      { id: 'result', applied: true, why: 'it redacts the result' },
    ])
  })
})

describe('explanation of a remembered approval', () => {
  test('the explanation names the remembered approval wherever it is in the order', () => {
    const standIn = rule('standin', { action: 'ALLOW', approves: 'ask', priority: -5 })
    const { ruling, considered } = book([rule('ask', { action: 'REQUIRE_APPROVAL' }), standIn]).explain(
      call(),
    )
    expect(ruling.rule_id).toBe('standin')
    expect(considered).toEqual([
      { id: 'ask', applied: true, why: 'it decides' },
      { id: 'standin', applied: true, why: 'it stands in for the approval that ask requires' },
    ])
  })
})

describe('contradictions in a rule', () => {
  test.each([
    ['redact', { action: 'REDACT' }],
    ['redact', { action: 'REDACT', redact: { targets: 'args' } }],
    ['redact', { action: 'ALLOW', redact: { targets: 'args', paths: ['$.a'] } }],
    ['approves', { action: 'BLOCK', approves: '*' }],
    ['approval_expires_in_seconds', { action: 'ALLOW', approval_expires_in_seconds: 5 }],
    ['approve_by', { action: 'ALLOW', approve_by: 'client' }],
    ['approve_by', { action: 'BLOCK', approve_by: 'person' }],
  ])('a contradiction in %s is found: %j', (path, fields) => {
    expect(contradictionIn(rule('r', fields))?.path).toBe(path)
  })
})
