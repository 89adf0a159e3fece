import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { diffOf } from '../../src/core/diff.ts'
import { canonical, type Json } from '../../src/core/json/json.ts'
import { plainJson } from './arbitraries.ts'

describe('the difference of two values', () => {
  test.each<[string, Json, Json, unknown[]]>([
    ['nothing', { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
    ['the order of keys', { a: 1, b: 2 }, { b: 2, a: 1 }, []],
    ['a value', { a: 1 }, { a: 2 }, [{ path: '/a', before: 1, after: 2 }]],
    ['a null', { a: null }, { a: 0 }, [{ path: '/a', before: null, after: 0 }]],
    ['a key that is new', {}, { a: null }, [{ path: '/a', after: null }]],
    ['a key that is gone', { a: 1, b: 2 }, { b: 2 }, [{ path: '/a', before: 1 }]],
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
      'something deep',
      { a: [{ b: { c: 1 } }] },
      { a: [{ b: { c: 2 } }] },
      [{ path: '/a/0/b/c', before: 1, after: 2 }],
    ],
    ['another kind', { a: {} }, { a: [] }, [{ path: '/a', before: {}, after: [] }]],
    ['all of it', 1, 'x', [{ path: '', before: 1, after: 'x' }]],
    [
      'odd keys',
      { 'a/b': 1, 'c~d': 2 },
      {},
      [
        { path: '/a~1b', before: 1 },
        { path: '/c~0d', before: 2 },
      ],
    ],
  ])('%s', (_, before, after, differences) => {
    expect(diffOf(before, after)).toEqual(differences)
  })

  test('of many places is that of the whole', () => {
    const list = (n: number, value: number) => Array.from({ length: n }, () => value)
    expect(diffOf(list(100, 1), list(100, 2))).toHaveLength(100)
    expect(diffOf(list(101, 1), list(101, 2))).toEqual([
      { path: '', before: list(101, 1), after: list(101, 2) },
    ])
  })

  test('shows no more than the beginning of what is long', () => {
    const [difference] = diffOf({ text: 'x'.repeat(5000) }, { text: '🦀'.repeat(2000) })
    expect(String(difference?.before)).toHaveLength(1001)
    expect(String(difference?.before)).toMatch(/^"xxx.*…$/)
    expect(String(difference?.after).isWellFormed()).toBe(true)
  })

  test('is empty exactly if the values are equal, and always bounded', () => {
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
