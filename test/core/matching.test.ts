import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Lane, laneName, servable, sortedSet } from '../../src/core/matching.ts'

const lane = (changes: Partial<Lane> = {}): Lane => ({
  tenant: 1,
  lane: 1,
  type: 'render',
  capabilities: [],
  priority: 0,
  limited: null,
  rated: null,
  ...changes,
})

describe('capabilities', () => {
  test.each([
    [[], [], true],
    [[], ['gpu'], true],
    [['gpu'], [], false],
    [['gpu'], ['gpu'], true],
    [['gpu'], ['cpu', 'gpu'], true],
    [['cpu', 'gpu'], ['gpu'], false],
    [['cpu', 'gpu'], ['gpu', 'net', 'cpu'], true],
    [['GPU'], ['gpu'], false],
    [['gpu'], ['gpu '], false],
  ])('a task that needs %j can be served by a worker with %j: %s', (needed, has, fits) => {
    expect(servable(lane({ capabilities: needed }), new Set(has))).toBe(fits)
  })

  test('sortedSet sorts and removes duplicates without changing its input', () => {
    expect(sortedSet(['net', 'gpu', 'net', 'Gpu'])).toEqual(['Gpu', 'gpu', 'net'])
    const given = Object.freeze(['b', 'a'])
    expect(sortedSet(given)).toEqual(['a', 'b'])
    expect(given).toEqual(['b', 'a'])
  })
})

describe('laneName', () => {
  test('lane names are equal exactly if the lanes are', () => {
    const type = fc.oneof(fc.constant(null), fc.constantFrom('', 'a', 'b', '1', 'a","b', 'null'))
    const capabilities = fc.uniqueArray(fc.constantFrom('a', 'b', 'a,b', '","', '0', ''), { maxLength: 3 })
    const key = fc.tuple(type, capabilities, fc.integer({ min: -2, max: 2 }))
    fc.assert(
      fc.property(key, key, (one, other) => {
        expect(laneName(...one) === laneName(...other)).toBe(JSON.stringify(one) === JSON.stringify(other))
      }),
      { numRuns: 1000 },
    )
  })
})
