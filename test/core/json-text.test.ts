import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../src/core/errors.ts'
import { inOneGo, parseFields, parseJson, readEnveloped } from '../../src/core/json/text.ts'
import { nestedArrays, nestedObjects, plainJson } from './arbitraries.ts'
import { refusal, refusedPath } from './refusal.ts'

describe('duplicate keys', () => {
  test.each([
    ['next to each other', '{"a":1,"a":2}', 'a'],
    ['with the same value', '{"a":1,"a":1}', 'a'],
    ['through an escape', '{"a":1,"\\u0061":2}', 'a'],
    ['through another escape', '{"\\/":1,"/":2}', '/'],
    ['far apart', '{"a":{"b":[1,{"c":2}]},"b":"a","a":0}', 'a'],
    ['nested in an object', '{"x":{"a":1,"b":2,"a":3}}', 'a'],
    ['nested in an array', '[[],[{"k":1},{"k":1,"k":2}]]', 'k'],
    ['with an empty name', '{"":1,"":2}', ''],
    ['with white space', ' {\n\t"a" : 1 ,\r\n "a" : 2 } ', 'a'],
    ['after a string with JSON syntax', '{"s":"}],{\\"a\\":1,\\\\","a":1,"a":2}', 'a'],
  ])('a duplicate key is refused: %s', (_, text, path) => {
    const fault = refusal(() => parseJson(text))
    expect(fault.code).toBe('VALIDATION_ERROR')
    expect(fault.details).toEqual({ path, problem: 'appears twice in one object' })
  })

  test('a duplicate key is refused with any values between', () => {
    fc.assert(
      fc.property(plainJson, plainJson, fc.context(), (first, second, context) => {
        const text = `{"twice":${JSON.stringify(first)},"between":${JSON.stringify(second)},"twice":null}`
        context.log(text)
        // The values themselves contain no duplicate keys.
        expect(refusedPath(() => parseJson(text))).toBe('twice')
      }),
    )
  })

  test('equal keys in different objects and equal values are accepted', () => {
    const text = '{"a":{"a":{"a":"a"}},"b":["a","a",{"a":1},{"a":1}],"c":"a"}'
    expect(parseJson(text)).toEqual(JSON.parse(text))
  })
})

describe('invalid JSON text', () => {
  test.each([
    ['with the key __proto__', '{"a":[{"__proto__":{"admin":true}}]}'],
    ['with __proto__ in escapes', '{"\\u005f_proto__":1}'],
  ])('a text is refused %s', (_, text) => {
    expect(refusedPath(() => parseJson(text))).toBe('__proto__')
  })

  test.each([
    '9007199254740992',
    '-9007199254740993',
    '[1,{"n":12345678901234567890}]',
    '1e16',
    '1E+300',
    '9007199254740993.0',
  ])('an integer that would lose digits is refused: %s', (text) => {
    expect(refusal(() => parseJson(text)).message).toContain('an integer beyond 2^53; send it as a string')
  })

  test.each(['1e400', '-1e400', '[0,1e309]'])('a number that is not finite is refused: %s', (text) => {
    expect(refusal(() => parseJson(text)).message).toContain('not a finite number')
  })

  test.each([
    ['arrays', nestedArrays],
    ['objects', nestedObjects],
  ])('more than 64 levels of %s are refused', (_, nested) => {
    expect(parseJson(JSON.stringify(nested(64)))).toEqual(nested(64))
    expect(refusal(() => parseJson(JSON.stringify(nested(65)))).message).toContain('deeper than 64')
  })

  test('a hundred thousand levels are refused without a stack overflow', () => {
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
  ])('a text that is not JSON is refused: %j', (text) => {
    expect(refusal(() => parseJson(text)).details).toEqual({ path: '', problem: 'is not valid JSON' })
  })
})

describe('valid JSON text', () => {
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
  ])('the text is accepted: %s', (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text))
  })

  test('a text is parsed as JSON.parse does', () => {
    fc.assert(
      fc.property(plainJson, fc.constantFrom('', ' ', '\t', '\n  '), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        expect(parseJson(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  test('a text with every character escaped is parsed', () => {
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

describe('limit of members', () => {
  const wide = (n: number) => `{${Array.from({ length: n }, (_, i) => `"k${i}":0`).join(',')}}`
  const fields = (text: string) => inOneGo(parseFields(text))

  test('an object with 65,537 members is refused at any depth', () => {
    expect(Object.keys(Object(parseJson(wide(65_536))))).toHaveLength(65_536)
    expect(refusal(() => parseJson(wide(65_537))).message).toContain('more than 65536 members')
    expect(refusal(() => parseJson(`[[${wide(65_537)}]]`)).message).toContain('more than 65536 members')
  })

  test('a request with 1,001 fields is refused', () => {
    expect(Object.keys(Object(fields(wide(1_000))))).toHaveLength(1_000)
    expect(refusal(() => fields(wide(1_001))).message).toContain('more than 1000 members')
    expect(fields(`{"payload":${wide(1_001)}}`)).toEqual({ payload: JSON.parse(wide(1_001)) })
  })

  test('1,001 members are refused in each level of an envelope', () => {
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

describe('readEnveloped', () => {
  test.each([
    [
      'a duplicate key',
      '{"id":1,"method":"m","params":{"a":1,"a":2}}',
      { id: 1, method: 'm', params: { a: 2 } },
    ],
    ['a large integer', '{"id":1,"params":{"n":9007199254740993}}', { id: 1, params: { n: 2 ** 53 } }],
    ['the key __proto__', '{"id":1,"params":{"__proto__":{"x":1}}}', { id: 1, params: {} }],
  ])('the value is returned with a flaw for %s', (_, text, value) => {
    expect(inOneGo(readEnveloped(text, 2))).toMatchObject({ value, flaw: { code: 'VALIDATION_ERROR' } })
  })

  test('values nested too deep are omitted', () => {
    const { value, flaw } = inOneGo(
      readEnveloped(`{"id":7,"params":${JSON.stringify(nestedArrays(1_000))}}`, 2),
    )
    expect(value).toMatchObject({ id: 7 })
    expect(flaw?.message).toContain('deeper than 64')
    expect(JSON.stringify(value).length).toBeLessThan(1_000)
  })

  test('extreme nesting is refused without reading the rest', () => {
    expect(refusal(() => inOneGo(readEnveloped('['.repeat(200_000), 2))).message).toContain('deeper than 64')
  })
})

describe('arbitrary text', () => {
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
    // Valid JSON with one character missing, added or replaced.
    fc.tuple(plainJson, fc.nat(), fc.nat(1), fragment).map(([value, at, cut, extra]) => {
      const text = JSON.stringify(value)
      const i = at % (text.length + 1)
      return text.slice(0, i) + extra + text.slice(i + cut)
    }),
  )

  test('any text is parsed as JSON.parse does, or refused with a fault', () => {
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

  test('a long text that is parsed in steps gives the same outcome', () => {
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

  test('parsing takes linear time', { timeout: 10_000 }, () => {
    const long = 200_000
    const members = Array.from({ length: 65_536 }, (_, i) => `"k${i}":0`)
    expect(parseJson(`"${'\\\\'.repeat(long)}"`)).toHaveLength(long)
    expect(parseJson(`[${'0,'.repeat(long)}0]`)).toHaveLength(long + 1)
    expect(Object.keys(Object(parseJson(`{${members.join(',')}}`)))).toHaveLength(65_536)
    expect(refusal(() => parseJson('1'.repeat(long))).code).toBe('VALIDATION_ERROR')
    expect(refusal(() => parseJson(' '.repeat(long))).code).toBe('VALIDATION_ERROR')
  })
})
