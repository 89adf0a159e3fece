import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Fault } from '../../../../src/core/errors.ts'
import { STATUSES } from '../../../../src/core/transitions.ts'
import { formatQuery, parseQuery, type Term } from '../../../../src/features/tasks/search/query.ts'

function faultOf(query: string): Fault {
  try {
    parseQuery(query)
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
  throw new Error(`the query was accepted: ${query}`)
}

describe('the search language', () => {
  it.each<[string, readonly Term[]]>([
    ['', []],
    ['  \t ', []],
    ['type:mail.send', [{ by: 'type', any: [{ text: 'mail.send', isPrefix: false }], isNegated: false }]],
    ['type:mail.*', [{ by: 'type', any: [{ text: 'mail.', isPrefix: true }], isNegated: false }]],
    ['type:"mail.*"', [{ by: 'type', any: [{ text: 'mail.*', isPrefix: false }], isNegated: false }]],
    ['-type:a', [{ by: 'type', any: [{ text: 'a', isPrefix: false }], isNegated: true }]],
    ['status:queued,cancelled', [{ by: 'status', any: ['queued', 'canceled'], isNegated: false }]],
    [
      'agent:human:maria',
      [{ by: 'agent', any: [{ text: 'human:maria', isPrefix: false }], isNegated: false }],
    ],
    [
      'label.a.b:"two words"',
      [{ by: 'label', name: 'a.b', any: [{ text: 'two words', isPrefix: false }], isNegated: false }],
    ],
    [
      'payload.customer."the id":42,"42"',
      [
        {
          by: 'payload',
          path: ['customer', 'the id'],
          any: [
            { text: '42', isQuoted: false },
            { text: '42', isQuoted: true },
          ],
          isNegated: false,
        },
      ],
    ],
    ['age:>10m', [{ by: 'age', is: 'more', ms: 600_000, isNegated: false }]],
    ['age:<2h', [{ by: 'age', is: 'less', ms: 7_200_000, isNegated: false }]],
    ['error:"no \\"luck\\""', [{ by: 'error', any: ['no "luck"'], isNegated: false }]],
    ['0197d7a4-31c0', [{ by: 'id', any: ['0197d7a4-31c0'], isNegated: false }]],
    ['deadbeef', [{ by: 'text', text: 'deadbeef', isNegated: false }]],
    [
      'monthly report v1.2',
      [
        { by: 'text', text: 'monthly', isNegated: false },
        { by: 'text', text: 'report', isNegated: false },
        { by: 'text', text: 'v1.2', isNegated: false },
      ],
    ],
  ])('%s is parsed', (query, terms) => {
    expect(parseQuery(query)).toEqual(terms)
  })

  it.each([
    ['a status:lost', 9, 4, 'unknown status'],
    ['a colour:red', 2, 10, 'unknown qualifier'],
    ['https://example.com', 0, 19, 'quotation marks'],
    ['type:', 0, 5, 'needs a value'],
    ['type:a,', 0, 7, 'needs a value'],
    ['x "open', 2, 5, 'without a closing one'],
    ['"a"b', 0, 4, 'needs a space'],
    ['age:10m', 0, 7, 'age:>10m'],
    ['age:>10y', 0, 8, 'age:>10m'],
    ['label:x', 0, 7, 'label.NAME'],
    ['payload.:1', 0, 10, 'payload.NAME'],
    ['id:xyz', 3, 3, 'beginning of a task id'],
    ['a - b', 2, 1, 'excludes nothing'],
  ])('%s is refused, and the error points at the bad part', (query, position, length, words) => {
    const { code, details, message } = faultOf(query)
    expect({ code, ...details }).toMatchObject({ code: 'VALIDATION_ERROR', path: 'query', position, length })
    expect(message).toContain(words)
    expect(message).toContain(query.slice(position, position + length))
  })

  it('a query has at most 20 terms and 50 values per term', () => {
    expect(parseQuery('a '.repeat(20))).toHaveLength(20)
    expect(faultOf('a '.repeat(21)).message).toContain('more than 20 terms')
    expect(faultOf(`type:${Array(51).fill('a').join(',')}`).message).toContain('more than 50 values')
  })

  it('any text is parsed or refused with its position', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      fc.stringMatching(/^[ a-z:".,*<>\\-]{0,60}$/),
    )
    fc.assert(
      fc.property(text, (query) => {
        try {
          const terms = parseQuery(query)
          expect(parseQuery(formatQuery(terms))).toEqual(terms)
        } catch (error) {
          if (!(error instanceof Fault)) throw error
          expect(error.code).toBe('VALIDATION_ERROR')
          expect(error.details.position).toBeLessThanOrEqual(query.length)
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('every query can be written and read again', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    const bare = fc.stringMatching(/^[a-z0-9._:/-]{1,8}$/)
    const pattern = fc.oneof(
      text.map((each) => ({ text: each, isPrefix: false })),
      bare.map((each) => ({ text: each, isPrefix: true })),
    )
    const several = <T>(item: fc.Arbitrary<T>) => fc.array(item, { minLength: 1, maxLength: 3 })
    const value = fc.oneof(
      text.map((each) => ({ text: each, isQuoted: true })),
      fc.integer().map((n) => ({ text: String(n), isQuoted: false })),
    )
    const id = fc.stringMatching(/^[0-9a-f]{1,8}$/)
    const condition = fc.oneof(
      fc.record({ by: fc.constant('status' as const), any: several(fc.constantFrom(...STATUSES)) }),
      fc.record({
        by: fc.constantFrom('type' as const, 'agent' as const, 'worker' as const, 'session' as const),
        any: several(pattern),
      }),
      fc.record({ by: fc.constant('label' as const), name: text, any: several(pattern) }),
      fc.record({ by: fc.constant('payload' as const), path: several(text), any: several(value) }),
      fc.record({
        by: fc.constant('age' as const),
        is: fc.constantFrom('more' as const, 'less' as const),
        ms: fc.integer({ min: 1, max: 999_999 }).map((s) => s * 1000),
      }),
      fc.record({ by: fc.constantFrom('id' as const, 'parent' as const), any: several(id) }),
      fc.record({ by: fc.constant('error' as const), any: several(text) }),
      fc.record({ by: fc.constant('text' as const), text }),
    )
    const term: fc.Arbitrary<Term> = fc
      .tuple(condition, fc.boolean())
      .map(([each, isNegated]) => ({ ...each, isNegated }))
    fc.assert(
      fc.property(fc.array(term, { maxLength: 5 }), (terms) => {
        expect(parseQuery(formatQuery(terms))).toEqual(terms)
      }),
      { numRuns: 1000 },
    )
  })
})
