import { describe, expect, it } from 'vitest'
import { type LaneRow, laneName } from '../../src/core/matching.ts'
import { TenantLanes } from '../../src/engine/lane-directory.ts'

const row = (lane: number, type: string, version: number): LaneRow => ({
  tenant: 1,
  lane,
  type,
  capabilities: [],
  priority: 0,
  mark: null,
  tasks: 0,
  owner: null,
  owned: 0,
  version,
  limited: null,
  max_held: null,
  rated: null,
  rate: null,
  held: 0,
})

const named = (type: string) => laneName(type, [], 0)

describe('lanes of a tenant', () => {
  it('a lane that is reused is found under its new name only', () => {
    const lanes = new TenantLanes()
    lanes.put([row(1, 'old', 1)])
    expect(lanes.find(named('old'))?.lane).toBe(1)
    lanes.put([row(1, 'new', 2)])
    expect(lanes.find(named('new'))?.lane).toBe(1)
    expect(lanes.find(named('old'))).toBeUndefined()
  })

  it('a name that another lane has taken stays with that lane', () => {
    const lanes = new TenantLanes()
    lanes.put([row(1, 'a', 1)])
    lanes.put([row(2, 'a', 2), row(1, 'b', 3)])
    expect(lanes.find(named('a'))?.lane).toBe(2)
    expect(lanes.find(named('b'))?.lane).toBe(1)
  })
})
