import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { glob, literally } from '../../src/policy/glob.ts'

describe('glob', () => {
  test.each([
    ['send_email', 'send_email', true],
    ['send_email', 'send_emails', false],
    ['send_*', 'send_email', true],
    ['send_*', 'resend_email', false],
    ['*delete*', 'undelete_all', true],
    ['*delete*', 'remove', false],
    ['a*b*c', 'a1b2c', true],
    ['a*b*c', 'abc', true],
    ['a*b*c', 'acb', false],
    ['ab*ba', 'aba', false],
    ['*', '', true],
    ['\\*', '*', true],
    ['\\*', 'x', false],
    ['a.c', 'abc', false],
  ])('the glob %s matches %s: %s', (pattern, text, fits) => {
    expect(glob(pattern)(text)).toBe(fits)
  })

  const text = fc.string({ unit: fc.constantFrom('a', 'b', '*', '\\', '.'), maxLength: 8 })

  test('an escaped glob matches only its own text', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(glob(literally(a))(b)).toBe(a === b)
        expect(glob(literally(a))(a)).toBe(true)
      }),
    )
  })

  test('a glob matches like a regular expression with .* for each star', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 6 }),
        fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 }),
        (pattern, given) => {
          expect(glob(pattern)(given)).toBe(new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(given))
        },
      ),
      { numRuns: 2000 },
    )
  })
})
