import { beforeAll, describe, expect, test } from 'vitest'
import { parsePath } from '../../src/policy/path.ts'
import { type Pattern, patternCompiler, patternOf } from '../../src/policy/pattern.ts'
import { redact } from '../../src/policy/redaction.ts'
import { patterns } from './support.ts'

let known: Map<string, Pattern>
beforeAll(async () => {
  known = await patterns({ evil: '(a+)+$', digits: '\\d+' })
})

const named = (...names: string[]) => names.flatMap((name) => known.get(name) ?? [])
const byPatterns = (...names: string[]) => ({ paths: [], patterns: named(...names), isBroken: false })
const byPaths = (...paths: string[]) => ({ paths: paths.map(parsePath), patterns: [], isBroken: false })

describe('redaction by path', () => {
  test.each([
    ['$.to', { to: 'x', cc: 'x' }, { to: '[REDACTED]', cc: 'x' }, ['/to']],
    [
      '$.items[*].card',
      { items: [{ card: 1 }, { name: 2 }, { card: { n: 3 } }] },
      { items: [{ card: '[REDACTED]' }, { name: 2 }, { card: '[REDACTED]' }] },
      ['/items/0/card', '/items/2/card'],
    ],
    [
      '$..password',
      { password: 1, a: [{ password: 2, b: { password: 3 } }] },
      { password: '[REDACTED]', a: [{ password: '[REDACTED]', b: { password: '[REDACTED]' } }] },
      ['/password', '/a/0/password', '/a/0/b/password'],
    ],
    ['$.a[1]', { a: [1, 2] }, { a: [1, '[REDACTED]'] }, ['/a/1']],
    ["$['a b'].c", { 'a b': { c: 1 } }, { 'a b': { c: '[REDACTED]' } }, ['/a b/c']],
    [
      '$.a.*',
      { a: { x: 1, 'y/z': 2 } },
      { a: { x: '[REDACTED]', 'y/z': '[REDACTED]' } },
      ['/a/x', '/a/y~1z'],
    ],
    ['$.a..b', { a: { c: { b: 1 } }, b: 2 }, { a: { c: { b: '[REDACTED]' } }, b: 2 }, ['/a/c/b']],
    ['$.missing', { a: 1 }, { a: 1 }, []],
  ])('the path %s is redacted', (path, value, expected, fields) => {
    expect(redact(byPaths(path), value)).toEqual({ value: expected, fields })
  })

  test('a value without matches is returned unchanged', () => {
    const value = { a: [{ b: 1 }] }
    expect(redact(byPaths('$.x', '$..y'), value).value).toBe(value)
  })

  test.each(['to', '$', '$.', '$to', '$.a[', '$.a[x]', '$..a..b', '$.a.[0]', `$${'.a'.repeat(30)}`])(
    '%s is not a valid path',
    (path) => {
      expect(() => parsePath(path)).toThrow()
    },
  )
})

describe('redaction by pattern', () => {
  test.each([
    ['email', 'write to bob@example.co.uk, please', 'write to [REDACTED], please'],
    ['phone', 'call 555-123-4567 or +1 (555) 123-4567', 'call [REDACTED] or [REDACTED]'],
    ['ssn', 'it is 123-45-6789.', 'it is [REDACTED].'],
    ['card', 'pay with 4111 1111 1111 1111 now', 'pay with [REDACTED] now'],
    ['card', 'pay with 1 4111-1111-1111-1111', 'pay with [REDACTED]'],
    ['card', 'order 4111 1111 1111 1112', 'order 4111 1111 1111 1112'],
    ['api_key', `key ${'a1'.repeat(16)}!`, 'key [REDACTED]!'],
    ['api_key', 'short a1b2c3', 'short a1b2c3'],
    ['bearer', 'Authorization: bearer abc.def-ghi==', 'Authorization: [REDACTED]'],
    ['ipv4', 'from 192.168.0.1 to 999.1.1.1', 'from [REDACTED] to 999.1.1.1'],
  ])('the pattern %s redacts: %s', async (name, text, expected) => {
    const { compileBuiltIns } = await import('../../src/policy/built-in-patterns.ts')
    const builtIn = compileBuiltIns(await patternCompiler()).filter((pattern) => pattern.name === name)
    const { value } = redact({ paths: [], patterns: builtIn, isBroken: false }, text)
    expect(value).toBe(expected)
  })

  test('patterns match texts at any depth, but not keys and numbers', () => {
    const value = { 'bob@example.com': [{ to: 'bob@example.com', n: 5 }], ok: 'none' }
    expect(redact(byPatterns('email'), value)).toEqual({
      value: { 'bob@example.com': [{ to: '[REDACTED]', n: 5 }], ok: 'none' },
      fields: ['/bob@example.com/0/to'],
    })
  })

  test('several patterns apply one after the other', () => {
    expect(redact(byPatterns('email', 'digits'), 'bob@example.com 42').value).toBe('[REDACTED] [REDACTED]')
  })

  test('all texts are redacted if a pattern is missing', () => {
    const value = redact({ paths: [], patterns: [], isBroken: true }, { a: 'x', b: [1, 'y'] }).value
    expect(value).toEqual({ a: '[REDACTED]', b: [1, '[REDACTED]'] })
  })

  test('a text that is too long for the patterns is redacted as a whole', () => {
    const value = { long: 'x '.repeat(600_000), short: 'bob@example.com', other: 'fine' }
    expect(redact(byPatterns('email'), value)).toEqual({
      value: { long: '[REDACTED]', short: '[REDACTED]', other: 'fine' },
      fields: ['/long', '/short'],
    })
  })

  test('a pattern with catastrophic backtracking runs in linear time', () => {
    expect(redact(byPatterns('evil'), `${'a'.repeat(1_000_000)}!`).value).toBe('[REDACTED]')
    // Below the size limit the pattern is evaluated; a backtracking engine would never return.
    const text = `${'a'.repeat(200_000)}!`
    expect(redact(byPatterns('evil'), text).value).toBe(text)
  })
})

describe('redaction pattern', () => {
  const problem = async (pattern: string) => {
    const compile = await patternCompiler()
    try {
      compile(patternOf({ name: 'x', pattern }))
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : ''
    }
  }

  test.each([
    ['(unclosed', /is not a pattern/],
    ['(?<=a)b', /no look-arounds/],
    ['(a)\\1', /no look-arounds/],
    ['a*', /matches the empty text/],
    ['(a{1,30}){1,30}$', /too large/],
  ])('the pattern %s is refused', async (pattern, message) => {
    expect(await problem(pattern)).toMatch(message)
  })

  test('a replacement is used literally', async () => {
    const compile = await patternCompiler()
    const pattern = compile(patternOf({ name: 'x', pattern: '(\\d+)', replacement: '<$1>' }))
    expect(pattern.replace('a1b22c')).toBe('a<$1>b<$1>c')
  })
})
