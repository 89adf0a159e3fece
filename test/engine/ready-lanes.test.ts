import { describe, expect, it } from 'vitest'
import type { Lane, Wanted } from '../../src/core/matching.ts'
import { joinLevels, type Level, ReadyLanes } from '../../src/engine/ready-lanes.ts'

let numbers = 0
const lane = (changes: Partial<Lane> = {}): Lane => ({
  tenant: 1,
  lane: ++numbers,
  type: 'render',
  capabilities: [],
  priority: 0,
  limited: null,
  rated: null,
  ...changes,
})

const ready = (...lanes: readonly Lane[]) => {
  const found = new ReadyLanes()
  for (const each of lanes) found.add(each)
  return found
}

const levels = (lanes: ReadyLanes, asked: Partial<Wanted> = {}) => [
  ...lanes.levels({ capabilities: [], ...asked }),
]
const lanesOf = (found: readonly Level[]) => found.map((level) => level.lanes)

describe('lanes that a claim searches', () => {
  const pool = lane({ type: null })
  const render = lane({ type: 'render' })
  const print = lane({ type: 'print' })
  const all = ready(pool, render, print)
  const searched = (asked: Partial<Wanted>) => lanesOf(levels(all, asked)).flat()

  it('a claim for any type searches only the pools', () => {
    expect(searched({})).toEqual([pool])
  })

  it('a claim for given types searches only the lanes of these types', () => {
    expect(searched({ accept_types: ['render'] })).toEqual([render])
    expect(searched({ accept_types: ['print', 'render'] })).toEqual([print, render])
  })

  it('a claim searches each lane once, even if its type is repeated', () => {
    expect(searched({ accept_types: ['print', 'print'], preferred_types: ['print', 'print'] })).toEqual([
      print,
    ])
  })

  it('a claim with an empty list of types searches nothing', () => {
    expect(searched({ accept_types: [] })).toEqual([])
  })

  it('a claim for any type searches the lanes of preferred types before the pools', () => {
    expect(lanesOf(levels(all, { preferred_types: ['print'] }))).toEqual([[print], [pool]])
  })

  it('a claim never searches a preferred type that it does not accept', () => {
    expect(searched({ accept_types: ['render'], preferred_types: ['print'] })).toEqual([render])
  })

  it('a claim searches no lane or pool whose capabilities the worker lacks', () => {
    for (const type of ['render', null]) {
      const demanding = lane({ type, capabilities: ['gpu'] })
      const lanes = ready(demanding)
      const asked = type === null ? {} : { accept_types: [type] }
      expect(levels(lanes, asked)).toEqual([])
      expect(lanesOf(levels(lanes, { ...asked, capabilities: ['cpu', 'gpu'] }))).toEqual([[demanding]])
    }
  })
})

describe('levels of ready lanes', () => {
  it('levels are ordered from the highest priority to the lowest across types', () => {
    const [a, b, c, d] = [
      lane({ type: 'a', priority: 5 }),
      lane({ type: 'b', priority: -5 }),
      lane({ type: 'a', priority: -5 }),
      lane({ type: 'b', priority: 1000 }),
    ]
    expect(lanesOf(levels(ready(a, b, c, d), { accept_types: ['a', 'b'] }))).toEqual([[d], [a], [c, b]])
  })

  it('levels of preferred types come before all others', () => {
    const low = lane({ type: 'a', priority: -9 })
    const high = lane({ type: 'b', priority: 9 })
    const found = levels(ready(low, high), { accept_types: ['a', 'b'], preferred_types: ['a'] })
    expect(found.map(({ preferred, priority }) => [preferred, priority])).toEqual([
      [true, -9],
      [false, 9],
    ])
  })

  it('deleted lanes are removed from their levels', () => {
    const [a, b, c] = [lane({ priority: 1 }), lane({ priority: 1 }), lane({ priority: 2 })]
    const lanes = ready(a, b, c)
    lanes.delete(c)
    lanes.delete(a)
    lanes.delete(a)
    expect(lanesOf(levels(lanes, { accept_types: ['render'] }))).toEqual([[b]])
    lanes.delete(b)
    expect(levels(lanes, { accept_types: ['render'] })).toEqual([])
  })

  it('joinLevels merges the levels of two sets in order', () => {
    const [a, b, c, d] = [5, 3, 4, 3].map((priority) => lane({ priority }))
    const join = (one: Lane[], other: Lane[]) => {
      const asked = { capabilities: [], accept_types: ['render'] }
      return lanesOf([...joinLevels(ready(...one).levels(asked), ready(...other).levels(asked))])
    }
    expect([a, b, c, d]).not.toContain(undefined)
    if (!a || !b || !c || !d) return
    expect(join([a, b], [c, d])).toEqual([[a], [c], [b, d]])
    expect(join([a, b], [])).toEqual([[a], [b]])
    expect(join([], [a, b])).toEqual([[a], [b]])
    expect(join([], [])).toEqual([])
  })
})
