import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonical, canonicalWithin, MAX_DEPTH, parseCanonical } from '../../src/core/json/json.ts'
import { nestedArrays, nestedObjects, plainJson, reordered } from './arbitraries.ts'
import { refusal, refusedPath } from './refusal.ts'

/** The double with these 64 bits, as in RFC 8785 appendix B. */
function double(bits: string): number {
  return Buffer.from(bits, 'hex').readDoubleBE()
}

describe('canonical JSON (RFC 8785)', () => {
  test.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
    ['433fffffffffffff', '9007199254740991'],
  ])('the number %s is written as %s', (bits, text) => {
    expect(canonical(double(bits))).toBe(text)
  })

  test.each([
    ['7fffffffffffffff', 'NaN'],
    ['7ff0000000000000', 'Infinity'],
    ['fff0000000000000', '-Infinity'],
    ['4340000000000000', '2^53'],
    ['c340000000000000', '-2^53'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af6', '1e+23'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
  ])('the number %s (%s) is refused, since it does not round-trip everywhere', (bits) => {
    expect(refusedPath(() => canonical({ n: double(bits) }))).toBe('n')
  })

  test('keys are sorted by UTF-16 code units, as in the sample of section 3.2.3', () => {
    const sample = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\u{1f600}': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    }
    expect([...canonical(sample).matchAll(/:"(.*?)"/g)].map((match) => match[1])).toEqual([
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ])
  })

  test('strings, literals and numbers are written as in the sample of section 3.2.2', () => {
    const sample = {
      numbers: [Number('333333333.33333329'), 4.5, 2e-3, 0.000000000000000000000000001],
      string: '\u20ac$\u000f\u000aA\'\u0042\u0022\u005c\\"/',
      literals: [null, true, false],
    }
    expect(canonical(sample)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    )
  })

  test('control characters have short escapes or lower-case hex, and nothing else is escaped', () => {
    expect(canonical('\b\t\n\f\r\u0001\u001f\u007f\u2028é🦀</')).toBe(
      '"\\b\\t\\n\\f\\r\\u0001\\u001f\u007f\u2028é🦀</"',
    )
  })

  test('canonical text does not depend on the order of keys', () => {
    fc.assert(
      fc.property(plainJson, (value) => {
        expect(canonical(reordered(value))).toBe(canonical(value))
      }),
    )
  })

  test('canonical text parses to the same value and is its own canonical text', () => {
    fc.assert(
      fc.property(plainJson, (value) => {
        const text = canonical(value)
        expect(parseCanonical(text)).toEqual(value)
        expect(canonical(JSON.parse(text))).toBe(text)
      }),
    )
  })

  test('different values have different canonical texts', () => {
    const texts = [null, false, 0, '', '0', [], {}, [[]], [null], { a: 1 }, { a: '1' }, { a: [1] }].map(
      (value) => canonical(value),
    )
    expect(new Set(texts).size).toBe(texts.length)
  })

  test('undefined members are omitted, and objects without a prototype are accepted', () => {
    const bare = Object.assign(Object.create(null), { b: 1, a: undefined })
    expect(canonical(bare)).toBe('{"b":1}')
  })
})

describe('values that are not JSON', () => {
  class Point {
    x = 1
  }
  test.each<[string, unknown, string]>([
    ['a NUL in a value', { a: [1, { b: 'x\0y' }] }, 'a[1].b'],
    ['a NUL in a key', { a: { 'k\0': 1 } }, 'a.k\0'],
    ['a lone high surrogate', { a: { b: '\ud800' } }, 'a.b'],
    ['a lone low surrogate', ['ok', '\udc00x'], '[1]'],
    ['a reversed pair', '\udc00\ud800', ''],
    ['a lone surrogate in a key', [{ '\ud83d': 1 }], '[0].\ud83d'],
    ['NaN', { n: Number.NaN }, 'n'],
    ['Infinity', [[Number.POSITIVE_INFINITY]], '[0][0]'],
    ['2^53', { n: 2 ** 53 }, 'n'],
    ['-2^53', { n: -(2 ** 53) }, 'n'],
    ['the key __proto__', { a: JSON.parse('{"__proto__":1}') }, 'a.__proto__'],
    ['a date', { at: new Date(0) }, 'at'],
    ['a map', { m: new Map() }, 'm'],
    ['an instance of a class', { p: new Point() }, 'p'],
    ['a boxed string', { s: Object('x') }, 's'],
    ['a bigint', { n: 1n }, 'n'],
    ['a function', { f: () => 1 }, 'f'],
    ['a symbol', { s: Symbol('s') }, 's'],
    ['undefined', undefined, ''],
    ['an undefined element', { a: [1, undefined] }, 'a[1]'],
    ['a hole in an array', { a: new Array(2) }, 'a[0]'],
  ])('a value that is not JSON is refused with its path: %s', (_, value, path) => {
    expect(refusedPath(() => canonical(value))).toBe(path)
  })

  test('the path of a refusal begins with the path of the value', () => {
    expect(refusedPath(() => canonical({ a: [Number.NaN] }, 'payload'))).toBe('payload.a[0]')
  })

  test('a cycle is refused as too deep', () => {
    const loop: Record<string, unknown> = {}
    loop.self = loop
    expect(refusal(() => canonical(loop)).message).toContain(`deeper than ${MAX_DEPTH}`)
  })

  test('the largest and smallest safe integers are accepted', () => {
    expect(canonical([Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])).toBe(
      '[9007199254740991,-9007199254740991]',
    )
  })
})

describe('nesting', () => {
  test.each([
    ['arrays', nestedArrays],
    ['objects', nestedObjects],
  ])('64 levels of %s are accepted and 65 are refused', (_, nested) => {
    expect(JSON.parse(canonical(nested(64)))).toEqual(nested(64))
    expect(refusal(() => canonical(nested(65))).message).toContain('is nested deeper than 64')
  })
})

describe('size limit', () => {
  test('the size limit counts bytes, not characters', () => {
    // Four characters with the quotes, five bytes.
    expect(canonicalWithin('aé', '', 5)).toBe('"aé"')
    const fault = refusal(() => canonicalWithin('aé', 'payload', 4))
    expect(fault.code).toBe('PAYLOAD_TOO_LARGE')
    expect(fault.details).toEqual({ path: 'payload', limit_bytes: 4 })
  })

  test('the size limit counts escapes as written', () => {
    expect(canonicalWithin('\u0001', '', 8)).toBe('"\\u0001"')
    expect(refusal(() => canonicalWithin('\u0001', '', 7)).code).toBe('PAYLOAD_TOO_LARGE')
  })

  test('a value that is not JSON is reported as such regardless of its size', () => {
    expect(refusal(() => canonicalWithin(Number.NaN, 'n', 0)).code).toBe('VALIDATION_ERROR')
  })
})
