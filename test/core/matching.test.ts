import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Lane,
  laneName,
  looksAt,
  normalCapabilities,
  servable,
  type Wanted,
} from '../../src/core/matching.ts'

const lane = (changes: Partial<Lane> = {}): Lane => ({
  tenant: 1,
  lane: 1,
  type: 'render',
  capabilities: [],
  priority: 0,
  ...changes,
})

const wanted = (changes: Partial<Wanted> = {}): Wanted => ({ capabilities: [], ...changes })

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
  ])('a task that needs %j, a worker that has %j: %s', (needed, has, fits) => {
    expect(servable(lane({ capabilities: needed }), wanted({ capabilities: has }))).toBe(fits)
  })

  test('are the same set in whatever order and however often they are named', () => {
    expect(normalCapabilities(['net', 'gpu', 'net', 'Gpu'])).toEqual(['Gpu', 'gpu', 'net'])
    const given = Object.freeze(['b', 'a'])
    expect(normalCapabilities(given)).toEqual(['a', 'b'])
    expect(given).toEqual(['b', 'a'])
  })
})

describe('the name of a lane', () => {
  test('is the same for the same lane and another for another', () => {
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

describe('a claim looks at', () => {
  const pool = lane({ type: null })
  const render = lane({ type: 'render' })
  const print = lane({ type: 'print' })
  const looks = (asked: Partial<Wanted>) => [pool, render, print].map((one) => looksAt(one, wanted(asked)))

  test('the pools only, if it takes any type', () => {
    expect(looks({})).toEqual([true, false, false])
  })

  test('the lanes of its types only, if it names them', () => {
    expect(looks({ accept_types: ['render'] })).toEqual([false, true, false])
    expect(looks({ accept_types: ['print', 'render'] })).toEqual([false, true, true])
  })

  test('nothing, if it names no type at all', () => {
    expect(looks({ accept_types: [] })).toEqual([false, false, false])
  })

  test('the lanes of preferred types beside the pools, if it takes any type', () => {
    expect(looks({ preferred_types: ['print'] })).toEqual([true, false, true])
  })

  test('no more types than it accepts, whatever it prefers', () => {
    expect(looks({ accept_types: ['render'], preferred_types: ['print'] })).toEqual([false, true, false])
  })

  test('no lane or pool that needs what the worker cannot do', () => {
    for (const one of [pool, render]) {
      const demanding = { ...one, capabilities: ['gpu'] }
      const asked = { ...(one.type !== null && { accept_types: [one.type] }) }
      expect(looksAt(demanding, wanted(asked))).toBe(false)
      expect(looksAt(demanding, wanted({ ...asked, capabilities: ['gpu'] }))).toBe(true)
    }
  })
})
