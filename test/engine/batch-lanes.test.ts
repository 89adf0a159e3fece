import { describe, expect, it } from 'vitest'
import { LANES_KEPT, type LaneRow, MAX_LANES_PER_OWNER } from '../../src/core/matching.ts'
import type { Tenant } from '../../src/core/world.ts'
import { BatchLanes } from '../../src/engine/batch-lanes.ts'
import { TenantLanes } from '../../src/engine/lane-directory.ts'
import { ALICE, queued } from '../support/fixtures.ts'

const TENANT: Tenant = {
  tenant: 1,
  salt: '',
  seq: 0,
  clock: 0,
  open_tasks: 0,
  active_leases: 0,
  ended_tasks: 0,
  receipt_bytes: 0,
  lanes: LANES_KEPT,
  lanes_version: 1,
}

const row = (changes: Partial<LaneRow>): LaneRow => ({
  tenant: 1,
  lane: 1,
  type: 'job',
  capabilities: [],
  priority: 0,
  mark: null,
  tasks: 0,
  owner: null,
  owned: 0,
  version: 1,
  limited: null,
  max_held: null,
  rated: null,
  rate: null,
  held: 0,
  ...changes,
})

const lanesOf = (...rows: readonly LaneRow[]) => {
  const lanes = new TenantLanes()
  lanes.put(rows)
  return lanes
}

describe('lanes within a batch', () => {
  it('a search ends at a lane that was not loaded, because its tasks may come first', () => {
    const task = queued({ tenant: 1, seq: 5, lane: 2, rank: 7 })
    const lanes = lanesOf(
      row({ lane: 1, type: 'a', mark: 3, tasks: 1 }),
      row({ lane: 2, type: 'b', mark: 7, tasks: 1 }),
    )
    const head = { tenant: 1, lane: 2, pool: false, limit: 10, tasks: [task] }
    const batch = new BatchLanes(lanes, { ...TENANT }, [head], 0)
    const search = (...accept_types: string[]) => batch.ready({ capabilities: [], accept_types }).next()
    expect(search('b')).toMatchObject({ done: false, value: { seq: 5 } })
    expect(search('a', 'b')).toEqual({ done: true, value: true })
  })

  it('a lane that the batch has filled keeps its number', () => {
    const lanes = lanesOf(row({ lane: 1, type: 'a' }), row({ lane: 2, type: 'b' }))
    const batch = new BatchLanes(lanes, { ...TENANT }, [], 0)
    const filled = batch.place('a', [], 0, ALICE)
    expect(filled.lane).toBe(1)
    batch.count(queued({ tenant: 1, seq: 5, ...filled }), 1)
    expect(batch.place('new', [], 0, ALICE).lane).toBe(2)
    expect(batch.place('newer', [], 0, ALICE).lane).toBeGreaterThan(LANES_KEPT)
  })

  it('the limit of lanes of an owner also applies to lanes that exist and are empty', () => {
    const own = Array.from({ length: MAX_LANES_PER_OWNER }, (_, i) =>
      row({ lane: i + 1, type: `type ${i}`, tasks: 1, owner: ALICE, owned: 1 }),
    )
    const empty = row({ lane: MAX_LANES_PER_OWNER + 1, type: 'empty' })
    const batch = new BatchLanes(lanesOf(...own, empty), { ...TENANT, lanes: empty.lane }, [], 0)
    expect(batch.place('type 0', [], 0, ALICE).lane).toBe(1)
    expect(() => batch.place('empty', [], 0, ALICE)).toThrow(/different combinations of type/)
    expect(batch.place('empty', [], 0, 'agent:bob').lane).toBe(empty.lane)
  })

  it('the limit of lanes of an owner counts the lanes of the same batch', () => {
    const batch = new BatchLanes(lanesOf(), { ...TENANT }, [], 0)
    for (let i = 0; i < MAX_LANES_PER_OWNER; i++) {
      batch.count(queued({ tenant: 1, seq: i, owner: ALICE, ...batch.place(`type ${i}`, [], 0, ALICE) }), 1)
    }
    expect(() => batch.place('one more', [], 0, ALICE)).toThrow(/different combinations of type/)
    expect(batch.place('one more', [], 0, 'agent:bob').lane).toBeGreaterThan(0)
  })
})
