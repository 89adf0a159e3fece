import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../src/core/errors.ts'
import { inOneGo, parseFields, parseJson, readEnveloped } from '../../src/core/json/text.ts'
import { nestedArrays, nestedObjects, plainJson } from './arbitraries.ts'
import { refusal, refusedPath } from './refusal.ts'

describe('JSON text with a key twice is refused', () => {
  test.each([
    ['plainly', '{"a":1,"a":2}', 'a'],
    ['with the same value', '{"a":1,"a":1}', 'a'],
    ['through an escape', '{"a":1,"\\u0061":2}', 'a'],
    ['through another escape', '{"\\/":1,"/":2}', '/'],
    ['far apart', '{"a":{"b":[1,{"c":2}]},"b":"a","a":0}', 'a'],
    ['nested in an object', '{"x":{"a":1,"b":2,"a":3}}', 'a'],
    ['nested in an array', '[[],[{"k":1},{"k":1,"k":2}]]', 'k'],
    ['with an empty name', '{"":1,"":2}', ''],
    ['with space around', ' {\n\t"a" : 1 ,\r\n "a" : 2 } ', 'a'],
    ['behind a string full of syntax', '{"s":"}],{\\"a\\":1,\\\\","a":1,"a":2}', 'a'],
  ])('%s', (_, text, path) => {
    const fault = refusal(() => parseJson(text))
    expect(fault.code).toBe('VALIDATION_ERROR')
    expect(fault.details).toEqual({ path, problem: 'appears twice in one object' })
  })

  test('wherever it stands', () => {
    fc.assert(
      fc.property(plainJson, plainJson, fc.context(), (first, second, context) => {
        const text = `{"twice":${JSON.stringify(first)},"between":${JSON.stringify(second)},"twice":null}`
        context.log(text)
        // The values between may only hide the repeat, never have one of their own.
        expect(refusedPath(() => parseJson(text))).toBe('twice')
      }),
    )
  })

  test('but not when it is in different objects, or once a key and once a value', () => {
    const text = '{"a":{"a":{"a":"a"}},"b":["a","a",{"a":1},{"a":1}],"c":"a"}'
    expect(parseJson(text)).toEqual(JSON.parse(text))
  })
})

describe('JSON text is refused', () => {
  test.each([
    ['with the key __proto__', '{"a":[{"__proto__":{"admin":true}}]}'],
    ['with __proto__ in escapes', '{"\\u005f_proto__":1}'],
  ])('%s', (_, text) => {
    expect(refusedPath(() => parseJson(text))).toBe('__proto__')
  })

  test.each([
    '9007199254740992',
    '-9007199254740993',
    '[1,{"n":12345678901234567890}]',
    '1e16',
    '1E+300',
    '9007199254740993.0',
  ])('with an integer that would lose digits: %s', (text) => {
    expect(refusal(() => parseJson(text)).message).toContain('an integer beyond 2^53; send it as a string')
  })

  test.each(['1e400', '-1e400', '[0,1e309]'])('with a number that is not finite: %s', (text) => {
    expect(refusal(() => parseJson(text)).message).toContain('not a finite number')
  })

  test.each([
    ['arrays', nestedArrays],
    ['objects', nestedObjects],
  ])('with more than 64 levels of %s', (_, nested) => {
    expect(parseJson(JSON.stringify(nested(64)))).toEqual(nested(64))
    expect(refusal(() => parseJson(JSON.stringify(nested(65)))).message).toContain('deeper than 64')
  })

  test('with a hundred thousand levels, as fast as with 65', () => {
    const deep = 100_000
    expect(refusal(() => parseJson('['.repeat(deep) + ']'.repeat(deep))).code).toBe('VALIDATION_ERROR')
  })

  test.each([
    '',
    ' ',
    '{',
    '[1,]',
    '{"a":}',
    "{'a':1}",
    '01',
    '+1',
    '.5',
    'NaN',
    'undefined',
    '"\n"',
    '1 2',
    '\ufeff1',
  ])('when it is not JSON at all: %j', (text) => {
    expect(refusal(() => parseJson(text)).details).toEqual({ path: '', problem: 'is not valid JSON' })
  })
})

describe('JSON text is taken', () => {
  test.each([
    'null',
    'true',
    '""',
    '-0',
    '[]',
    '{}',
    '9007199254740991',
    '-9007199254740991',
    '1.5e3',
    '1e-400',
    '0.1e1',
    '[1,-2.5E-3,"3e400","9007199254740993"]',
    '{"constructor":1,"prototype":2,"toString":3}',
    '"12345678901234567890 \\" 1e400 { [ \\\\"',
  ])('%s', (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text))
  })

  test('and read as JSON.parse reads it', () => {
    fc.assert(
      fc.property(plainJson, fc.constantFrom('', ' ', '\t', '\n  '), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        expect(parseJson(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  test('with escapes for every character', () => {
    fc.assert(
      fc.property(plainJson, (value) => {
        const text = JSON.stringify(value).replace(
          /[^\x20-\x7e]/g,
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
        )
        expect(parseJson(text)).toEqual(value)
      }),
    )
  })
})

describe('an object with too many members is refused', () => {
  const wide = (n: number) => `{${Array.from({ length: n }, (_, i) => `"k${i}":0`).join(',')}}`
  const fields = (text: string) => inOneGo(parseFields(text))

  test('at 65,537 members, wherever it stands', () => {
    expect(Object.keys(Object(parseJson(wide(65_536))))).toHaveLength(65_536)
    expect(refusal(() => parseJson(wide(65_537))).message).toContain('more than 65536 members')
    expect(refusal(() => parseJson(`[[${wide(65_537)}]]`)).message).toContain('more than 65536 members')
  })

  test('at 1,001 if its members are the fields of a request', () => {
    expect(Object.keys(Object(fields(wide(1_000))))).toHaveLength(1_000)
    expect(refusal(() => fields(wide(1_001))).message).toContain('more than 1000 members')
    expect(fields(`{"payload":${wide(1_001)}}`)).toEqual({ payload: JSON.parse(wide(1_001)) })
  })

  test('at 1,001 in each level of an envelope', () => {
    const enveloped = (text: string) => inOneGo(readEnveloped(text, 2)).value
    for (const around of [
      ['', ''],
      ['{"params":', '}'],
      ['{"params":{"arguments":', '}}'],
    ]) {
      const text = around.join(wide(1_001))
      expect(refusal(() => enveloped(text)).message).toContain('more than 1000 members')
    }
    const payload = `{"params":{"arguments":{"payload":${wide(1_001)}}}}`
    expect(enveloped(payload)).toEqual(JSON.parse(payload))
  })
})

describe('an envelope with a flaw is told apart from text that is not JSON', () => {
  test.each([
    ['a key twice', '{"id":1,"method":"m","params":{"a":1,"a":2}}', { id: 1, method: 'm', params: { a: 2 } }],
    ['a large integer', '{"id":1,"params":{"n":9007199254740993}}', { id: 1, params: { n: 2 ** 53 } }],
    ['the key __proto__', '{"id":1,"params":{"__proto__":{"x":1}}}', { id: 1, params: {} }],
  ])('%s', (_, text, value) => {
    expect(inOneGo(readEnveloped(text, 2))).toMatchObject({ value, flaw: { code: 'VALIDATION_ERROR' } })
  })

  test('what is nested too deep is left out of the value', () => {
    const { value, flaw } = inOneGo(
      readEnveloped(`{"id":7,"params":${JSON.stringify(nestedArrays(1_000))}}`, 2),
    )
    expect(value).toMatchObject({ id: 7 })
    expect(flaw?.message).toContain('deeper than 64')
    expect(JSON.stringify(value).length).toBeLessThan(1_000)
  })

  test('absurd nesting is refused without reading on', () => {
    expect(refusal(() => inOneGo(readEnveloped('['.repeat(200_000), 2))).message).toContain('deeper than 64')
  })
})

describe('any text at all', () => {
  const fragment = fc.constantFrom(
    ...[
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      '"a"',
      '"a":',
      '"\\u0061":',
      '"__proto__":',
      '\\u',
      '0',
      '-',
    ],
    ...['1e', '1e400', '9007199254740993', '.', 'true', 'nul', ' ', '\n', '\0', '\ud800', 'é'],
  )
  const noise = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(fragment, { maxLength: 40 }).map((parts) => parts.join('')),
    // Valid JSON with one character too few, too many or wrong.
    fc.tuple(plainJson, fc.nat(), fc.nat(1), fragment).map(([value, at, cut, extra]) => {
      const text = JSON.stringify(value)
      const i = at % (text.length + 1)
      return text.slice(0, i) + extra + text.slice(i + cut)
    }),
  )

  test('is either read as JSON.parse reads it, or refused with a fault', () => {
    fc.assert(
      fc.property(noise, (text) => {
        let value: unknown
        try {
          value = parseJson(text)
        } catch (error) {
          expect(error).toBeInstanceOf(Fault)
          expect(error).toMatchObject({ code: 'VALIDATION_ERROR' })
          return
        }
        expect(value).toEqual(JSON.parse(text))
      }),
      { numRuns: 2000 },
    )
  })

  test('is read in the same way when it is long, and with pauses', () => {
    const blank = ' '.repeat(200_000)
    fc.assert(
      fc.property(noise, (text) => {
        const outcome = (read: () => unknown) => {
          try {
            return { value: read() }
          } catch (error) {
            if (error instanceof Fault) return { problem: error.message }
            throw error
          }
        }
        expect(outcome(() => parseJson(blank + text))).toEqual(outcome(() => parseJson(text)))
      }),
      { numRuns: 150 },
    )
    let pauses = 0
    for (const _ of readEnveloped(`[${'0,'.repeat(100_000)}0]`, 2)) pauses++
    expect(pauses).toBeGreaterThan(10)
  })

  test('is read in time that grows with its length only', { timeout: 10_000 }, () => {
    const long = 200_000
    const members = Array.from({ length: 65_536 }, (_, i) => `"k${i}":0`)
    expect(parseJson(`"${'\\\\'.repeat(long)}"`)).toHaveLength(long)
    expect(parseJson(`[${'0,'.repeat(long)}0]`)).toHaveLength(long + 1)
    expect(Object.keys(Object(parseJson(`{${members.join(',')}}`)))).toHaveLength(65_536)
    expect(refusal(() => parseJson('1'.repeat(long))).code).toBe('VALIDATION_ERROR')
    expect(refusal(() => parseJson(' '.repeat(long))).code).toBe('VALIDATION_ERROR')
  })
})
