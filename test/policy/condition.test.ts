import fc from 'fast-check'
import jsonLogic from 'json-logic-js'
import { describe, expect, test, vi } from 'vitest'
import { ConditionError, compileCondition } from '../../src/policy/condition.ts'
import type { ConditionData } from '../../src/policy/condition-data.ts'

const NOTHING: ConditionData = {
  tool: null,
  upstream: null,
  category: null,
  type: 'render',
  agent: 'alice',
  principal: 'agent:alice',
  tenant: 'default',
  session: null,
  args: {},
  inputs: {},
  body: null,
  payload_pointer: null,
  requirements: { capabilities: [], tags: [] },
}

const holds = (logic: unknown, args: unknown = {}) => compileCondition(logic).holds({ ...NOTHING, args })

describe('conditions', () => {
  test.each([
    [{ '>': [{ var: 'args.amount' }, 100] }, { amount: 101 }, true],
    [{ '>': [{ var: 'args.amount' }, 100] }, { amount: 100 }, false],
    [{ '>': [{ var: 'args.amount' }, 100] }, {}, false],
    [{ in: [{ var: 'args.to' }, ['a', 'b']] }, { to: 'b' }, true],
    [{ in: ['@example.com', { var: 'args.to' }] }, { to: 'bob@example.com' }, true],
    [
      { some: [{ var: 'args.items' }, { '==': [{ var: 'kind' }, 'card'] }] },
      { items: [{ kind: 'card' }] },
      true,
    ],
    [{ missing: ['args.to', 'args.amount'] }, { to: 'x', amount: 1 }, false],
    [{ missing: ['args.to', 'args.amount'] }, { to: 'x' }, true],
    [{ and: [{ '==': [{ var: 'type' }, 'render'] }, { '!': { var: 'session' } }] }, {}, true],
    [{ '==': [{ var: 'principal' }, 'agent:alice'] }, {}, true],
    [{ '==': [{ var: 'args.list.length' }, 2] }, { list: [1, 2] }, true],
  ])('the condition %j over %j is %j', (logic, args, expected) => {
    expect(holds(logic, args)).toBe(expected)
  })

  test.each([
    [{ var: 'args.__proto__' }],
    [{ var: 'args.constructor' }],
    [{ var: 'args.constructor.constructor' }],
    [{ var: 'args.toString' }],
    [{ var: { cat: ['args.', '__proto__'] } }],
    [{ '!': { missing: ['args.constructor'] } }],
  ])('a condition cannot read inherited properties: %j', (logic) => {
    expect(holds(logic, { a: 1 })).toBe(false)
  })

  test.each([
    ['not an object', 'yes'],
    ['a list', [true]],
    ['an empty object', {}],
    ['two operators in one object', { '==': [1, 1], '>': [2, 1] }],
    ['an unknown operator', { matches: ['a', 'b'] }],
    ['log', { log: 'x' }],
    ['method', { method: [{ var: 'args' }, 'toString', []] }],
    ['an inherited operator name', { constructor: [1] }],
    ['too few arguments', { '>': [{ var: 'args.amount' }] }],
    ['an unknown variable', { '>': [{ var: 'arg.amount' }, 100] }],
    ['an unknown variable in missing', { missing: ['amount'] }],
    ['a tree that is too deep', nest(40)],
    ['a tree that is too large', { or: Array.from({ length: 600 }, () => 1) }],
    ['a variable name that is not text', { '==': [{ var: true }, 1] }],
  ])('a condition is refused: %s', (_, logic) => {
    expect(() => compileCondition(logic)).toThrow(ConditionError)
  })

  test('a condition cannot write to the console', () => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    expect(() => holds({ log: 'x' })).toThrow(/operator "log"/)
    expect(log).not.toHaveBeenCalled()
    log.mockRestore()
  })

  test('usesArgs tells whether a condition can read the arguments', () => {
    expect(compileCondition({ '==': [{ var: 'type' }, 'x'] }).usesArgs).toBe(false)
    expect(compileCondition({ '==': [{ var: 'args.to' }, 'x'] }).usesArgs).toBe(true)
    expect(compileCondition({ '==': [{ var: { cat: ['ar', 'gs'] } }, 'x'] }).usesArgs).toBe(true)
    expect(compileCondition({ missing: ['args.to'] }).usesArgs).toBe(true)
  })
})

describe('cost limit of conditions', () => {
  const list = Array.from({ length: 20_000 }, (_, i) => i)

  test.each<[string, unknown, unknown]>([
    [
      'a list searched for each item of a list',
      {
        reduce: [
          { var: 'args.list' },
          { if: [{ in: [-1, { var: 'accumulator' }] }, [], { var: 'accumulator' }] },
          { var: 'args.list' },
        ],
      },
      { list },
    ],
    [
      'a text that doubles',
      doubling({ cat: [{ var: 'accumulator' }, { var: 'accumulator' }] }, 'ab'),
      { list },
    ],
    [
      'a list that doubles',
      doubling({ merge: [{ var: 'accumulator' }, { var: 'accumulator' }] }, [1]),
      { list },
    ],
    ['a list that nests', { '==': [doubling([{ var: 'accumulator' }], 'x'), 'y'] }, { list }],
    [
      'a long text that is compared for each item',
      { reduce: [{ var: 'args.list' }, { '+': [{ var: 'current.text' }, 1] }, 0] },
      { list: list.map(() => ({ text: '9'.repeat(500) })) },
    ],
    [
      'a search through a long text',
      { in: [{ var: 'args.needle' }, { var: 'args.hay' }] },
      { needle: `b${'a'.repeat(5000)}`, hay: 'a'.repeat(4_000_000) },
    ],
  ])('a condition that takes too long throws: %s', (_, logic, args) => {
    expect(() => holds(logic, args)).toThrow(/takes too long|call stack/)
  })

  test('a condition over thousands of list items is within the limit', () => {
    const items = list.slice(0, 5000).map((price) => ({ price }))
    expect(holds({ some: [{ var: 'args.items' }, { '>': [{ var: 'price' }, 4998] }] }, { items })).toBe(true)
  })
})

describe('JSON Logic compatibility', () => {
  const scalar = fc.oneof(
    fc.integer({ min: -3, max: 3 }),
    fc.constantFrom('', 'a', 'ab', '1', '2.5'),
    fc.boolean(),
    fc.constant(null),
  )
  const data = fc.record({
    a: scalar,
    b: fc.array(scalar, { maxLength: 4 }),
    c: fc.record({ d: scalar }),
  })
  const { logic } = fc.letrec<{ logic: unknown; scoped: unknown }>((tie) => ({
    scoped: fc.oneof(
      { maxDepth: 2 },
      fc.constantFrom({ var: '' }, { '>': [{ var: '' }, 1] }, { '!': { var: '' } }),
      scalar,
    ),
    logic: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      scalar,
      fc
        .constantFrom('args.a', 'args.b', 'args.c.d', 'args.b.0', 'args.x', 'args.b.length')
        .map((name) => ({ var: name })),
      fc.tuple(fc.constantFrom('args.x', 'args.a'), scalar).map((both) => ({ var: both })),
      fc
        .tuple(
          fc.constantFrom(
            '==',
            '===',
            '!=',
            '!==',
            '>',
            '>=',
            '<',
            '<=',
            '+',
            '-',
            '*',
            '/',
            '%',
            'in',
            'cat',
            'min',
            'max',
            'merge',
            'and',
            'or',
          ),
          tie('logic'),
          tie('logic'),
        )
        .map(([name, a, b]) => ({ [name]: [a, b] })),
      fc.tuple(fc.constantFrom('!', '!!'), tie('logic')).map(([name, a]) => ({ [name]: [a] })),
      fc.tuple(tie('logic'), tie('logic'), tie('logic')).map((args) => ({ if: args })),
      fc
        .tuple(tie('logic'), fc.integer({ min: -4, max: 4 }), fc.integer({ min: -4, max: 4 }))
        .map((args) => ({ substr: args })),
      fc
        .tuple(fc.constantFrom('map', 'filter', 'all', 'some', 'none'), tie('logic'), tie('scoped'))
        .map(([name, list, each]) => ({ [name]: [list, each] })),
      fc
        .tuple(tie('logic'))
        .map(([list]) => ({ reduce: [list, { '+': [{ var: 'current' }, { var: 'accumulator' }] }, 0] })),
      fc.constantFrom({ missing: ['args.a', 'args.x'] }, { missing_some: [1, ['args.a', 'args.x']] }),
    ),
  }))

  test('random conditions evaluate as in json-logic-js', () => {
    fc.assert(
      fc.property(logic, data, (condition, args) => {
        const wrapped = { '!!': [condition] }
        const expected = outcome(() => jsonLogic.truthy(jsonLogic.apply(wrapped, { ...NOTHING, args })))
        expect(outcome(() => holds(wrapped, args))).toBe(expected)
      }),
      { numRuns: 5000 },
    )
  })
})

/** The value, or whether the evaluation throws. */
function outcome(run: () => boolean): boolean | 'throws' {
  try {
    return run()
  } catch {
    return 'throws'
  }
}

function nest(depth: number): object {
  return depth === 0 ? { var: 'type' } : { '!': nest(depth - 1) }
}

function doubling(step: unknown, start: unknown): object {
  return { reduce: [{ var: 'args.list' }, step, start] }
}
