import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { diffOf } from '../../src/core/diff.ts'
import { canonical, type Json } from '../../src/core/json/json.ts'
import { plainJson } from './arbitraries.ts'

describe('diffOf', () => {
  test.each<[string, Json, Json, unknown[]]>([
    ['nothing', { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
    ['the order of keys', { a: 1, b: 2 }, { b: 2, a: 1 }, []],
    ['a value', { a: 1 }, { a: 2 }, [{ path: '/a', before: 1, after: 2 }]],
    ['a null', { a: null }, { a: 0 }, [{ path: '/a', before: null, after: 0 }]],
    ['a new key', {}, { a: null }, [{ path: '/a', after: null }]],
    ['a removed key', { a: 1, b: 2 }, { b: 2 }, [{ path: '/a', before: 1 }]],
    [
      'an element',
      [1, 2],
      [1, 3, 4],
      [
        { path: '/1', before: 2, after: 3 },
        { path: '/2', after: 4 },
      ],
    ],
    [
      'a nested value',
      { a: [{ b: { c: 1 } }] },
      { a: [{ b: { c: 2 } }] },
      [{ path: '/a/0/b/c', before: 1, after: 2 }],
    ],
    ['its type', { a: {} }, { a: [] }, [{ path: '/a', before: {}, after: [] }]],
    ['the whole value', 1, 'x', [{ path: '', before: 1, after: 'x' }]],
    [
      'keys that need escaping',
      { 'a/b': 1, 'c~d': 2 },
      {},
      [
        { path: '/a~1b', before: 1 },
        { path: '/c~0d', before: 2 },
      ],
    ],
  ])('the diff of two values that differ in %s', (_, before, after, differences) => {
    expect(diffOf(before, after)).toEqual(differences)
  })

  test('a diff of more than 100 places is one difference of the whole value', () => {
    const list = (n: number, value: number) => Array.from({ length: n }, () => value)
    expect(diffOf(list(100, 1), list(100, 2))).toHaveLength(100)
    expect(diffOf(list(101, 1), list(101, 2))).toEqual([
      { path: '', before: list(101, 1), after: list(101, 2) },
    ])
  })

  test('long values are truncated in a diff', () => {
    const [difference] = diffOf({ text: 'x'.repeat(5000) }, { text: '🦀'.repeat(2000) })
    expect(String(difference?.before)).toHaveLength(1001)
    expect(String(difference?.before)).toMatch(/^"xxx.*…$/)
    expect(String(difference?.after).isWellFormed()).toBe(true)
  })

  test('a diff is empty exactly if the values are equal, and has at most 100 entries', () => {
    fc.assert(
      fc.property(plainJson, plainJson, (before, after) => {
        const diff = diffOf(before, after)
        expect(diff.length === 0).toBe(canonical(before) === canonical(after))
        expect(diff.length).toBeLessThanOrEqual(100)
        expect(diffOf(before, before)).toEqual([])
        canonical(diff.map((difference) => ({ ...difference })))
      }),
    )
  })
})
