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
  ])('%s', (path, value, expected, fields) => {
    expect(redact(byPaths(path), value)).toEqual({ value: expected, fields })
  })

  test('leaves a value alone, and the same, where nothing is found', () => {
    const value = { a: [{ b: 1 }] }
    expect(redact(byPaths('$.x', '$..y'), value).value).toBe(value)
  })

  test.each(['to', '$', '$.', '$to', '$.a[', '$.a[x]', '$..a..b', '$.a.[0]', `$${'.a'.repeat(30)}`])(
    '%s is no path',
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
  ])('%s: %s', async (name, text, expected) => {
    const { compileBuiltIns } = await import('../../src/policy/built-in-patterns.ts')
    const builtIn = compileBuiltIns(await patternCompiler()).filter((pattern) => pattern.name === name)
    const { value } = redact({ paths: [], patterns: builtIn, isBroken: false }, text)
    expect(value).toBe(expected)
  })

  test('works on texts at any depth, and leaves keys and numbers', () => {
    const value = { 'bob@example.com': [{ to: 'bob@example.com', n: 5 }], ok: 'none' }
    expect(redact(byPatterns('email'), value)).toEqual({
      value: { 'bob@example.com': [{ to: '[REDACTED]', n: 5 }], ok: 'none' },
      fields: ['/bob@example.com/0/to'],
    })
  })

  test('what one pattern leaves, the next one sees', () => {
    expect(redact(byPatterns('email', 'digits'), 'bob@example.com 42').value).toBe('[REDACTED] [REDACTED]')
  })

  test('takes all texts out if a pattern is not there', () => {
    const value = redact({ paths: [], patterns: [], isBroken: true }, { a: 'x', b: [1, 'y'] }).value
    expect(value).toEqual({ a: '[REDACTED]', b: [1, '[REDACTED]'] })
  })

  test('takes a text that is too long for its patterns as a whole, and looks at the others', () => {
    const value = { long: 'x '.repeat(600_000), short: 'bob@example.com', other: 'fine' }
    expect(redact(byPatterns('email'), value)).toEqual({
      value: { long: '[REDACTED]', short: '[REDACTED]', other: 'fine' },
      fields: ['/long', '/short'],
    })
  })

  test('the evil expression ends', () => {
    expect(redact(byPatterns('evil'), `${'a'.repeat(1_000_000)}!`).value).toBe('[REDACTED]')
    // Below the limit it is really looked for: with backtracking this would never return.
    const text = `${'a'.repeat(200_000)}!`
    expect(redact(byPatterns('evil'), text).value).toBe(text)
  })
})

describe('a redaction pattern', () => {
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
  ])('%s is refused', async (pattern, message) => {
    expect(await problem(pattern)).toMatch(message)
  })

  test('keeps a replacement as it is written', async () => {
    const compile = await patternCompiler()
    const pattern = compile(patternOf({ name: 'x', pattern: '(\\d+)', replacement: '<$1>' }))
    expect(pattern.replace('a1b22c')).toBe('a<$1>b<$1>c')
  })
})
