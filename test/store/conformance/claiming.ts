import { describe, expect, it } from 'vitest'
import type { LaneRow } from '../../../src/core/matching.ts'
import type { QueuedTask } from '../../../src/core/task.ts'
import type { Head } from '../../../src/store/store.ts'
import {
  ALICE,
  counters,
  lane as laneRow,
  lease,
  leased,
  look,
  NOW,
  put,
  queued,
  running,
  uuid,
  WEIRD_TEXTS,
} from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

export function describeClaiming(subject: Subject): void {
  const lane = (number: number, over: Partial<LaneRow> = {}): LaneRow =>
    laneRow(subject.tenant, number, { mark: 0, ...over })
  const head = async (number: number, { pool = false, limit = 100 } = {}): Promise<Head | undefined> => {
    const { store, tenant } = subject
    return (await look(store, tenant, { heads: [{ tenant, lane: number, pool, limit }] })).heads[0]
  }
  const seqs = (found: Head | undefined) => found?.tasks.map((task) => task.seq)
  const ready = (seq: number, over: Partial<QueuedTask> = {}) =>
    queued({ tenant: subject.tenant, seq, ...over })

  describe('heads of lanes', () => {
    it('heads of a lane are ordered by rank, then by age', async () => {
      const { store, tenant } = subject
      const inserted = [
        ready(4, { rank: 10 }),
        ready(1, { rank: 20 }),
        ready(2, { rank: 9 }),
        ready(11, { rank: 10 }),
        ready(3, { rank: 100 }),
      ]
      await put(store, tenant, { inserted, lanes: [lane(2)] })
      const found = await head(2)
      expect(found).toEqual({
        tenant,
        lane: 2,
        pool: false,
        limit: 100,
        tasks: [inserted[2], inserted[0], inserted[3], inserted[1], inserted[4]],
      })
      expect(seqs(await head(2, { limit: 3 }))).toEqual([2, 4, 11])
    })

    it('heads belong to one lane of one tenant', async () => {
      const { store, tenant } = subject
      const { tenant: other } = await store.tenant('other')
      await put(store, [tenant, other], {
        inserted: [ready(1), ready(2, { lane: 3 }), queued({ tenant: other, seq: 3 })],
        lanes: [lane(2), lane(3), laneRow(other, 2, { mark: 0 })],
      })
      expect(seqs(await head(2))).toEqual([1])
      expect(seqs(await head(3))).toEqual([2])
      const several = await look(store, [tenant, other], {
        heads: [
          { tenant, lane: 3, pool: false, limit: 1 },
          { tenant: other, lane: 2, pool: false, limit: 1 },
          { tenant, lane: 2, pool: false, limit: 1 },
        ],
      })
      const found = several.heads.map((one) => [one.tenant, one.lane, seqs(one)])
      expect(found).toHaveLength(3)
      expect(found).toEqual(
        expect.arrayContaining([
          [tenant, 2, [1]],
          [tenant, 3, [2]],
          [other, 2, [3]],
        ]),
      )
    })

    it('a pool contains the tasks of all its lanes', async () => {
      const { store, tenant } = subject
      await put(store, tenant, {
        inserted: [
          ready(1, { lane: 3, pool: 1, rank: 30 }),
          ready(2, { lane: 4, pool: 1, rank: 10 }),
          ready(3, { lane: 5, pool: 2, rank: 20 }),
        ],
        lanes: [lane(1, { type: null }), lane(2, { type: null, capabilities: ['gpu'] })],
      })
      expect(seqs(await head(1, { pool: true }))).toEqual([2, 1])
      expect(seqs(await head(2, { pool: true }))).toEqual([3])
      expect(seqs(await head(1, { pool: false }))).toEqual([])
    })

    it('heads do not include delayed or held tasks', async () => {
      const { store, tenant } = subject
      await put(store, tenant, {
        inserted: [
          ready(1, { next_eligible_at: NOW - 1_000 }),
          leased({ tenant, seq: 2 }),
          running({ tenant, seq: 3 }),
          ready(4),
        ],
        lanes: [lane(1, { type: null }), lane(2)],
      })
      expect(seqs(await head(2))).toEqual([4])
      expect(seqs(await head(1, { pool: true }))).toEqual([4])
      await put(store, tenant, { updated: [leased({ tenant, seq: 4 }), ready(2), ready(1)] })
      expect(seqs(await head(2))).toEqual([1, 2])
    })

    it('heads begin at the low-water mark of the lane', async () => {
      const { store, tenant } = subject
      const inserted = [ready(1, { rank: 10 }), ready(2, { rank: 20 }), ready(3, { rank: 30 })]
      await put(store, tenant, { inserted, lanes: [lane(2, { mark: 20 })] })
      expect(seqs(await head(2))).toEqual([2, 3])
    })

    it('a lane without a low-water mark has no heads', async () => {
      const { store, tenant } = subject
      await put(store, tenant, { inserted: [ready(1)], lanes: [lane(2, { mark: null })] })
      expect(await head(2)).toMatchObject({ lane: 2, tasks: [] })
    })

    it('a lane that does not exist has no heads', async () => {
      expect(await head(7)).toMatchObject({ lane: 7, tasks: [] })
    })
  })

  describe('lanes', () => {
    const changedAfter = async (after: number) => {
      const { store, tenant } = subject
      const { lanes } = await look(store, tenant, { lanes: [{ tenant, after }] })
      expect(await store.reads.lanes(tenant, after)).toEqual(lanes)
      return lanes
    }

    it('lanes are returned as stored, in order, per tenant', async () => {
      const { store, tenant } = subject
      const { tenant: other } = await store.tenant('other')
      const lanes = [
        lane(1, { type: null, capabilities: ['a', 'b'], priority: -5, mark: null }),
        lane(2, {
          capabilities: [...WEIRD_TEXTS],
          mark: 2 ** 50,
          tasks: 7,
          owner: ALICE,
          owned: 3,
          limited: '["a",null]',
          max_held: 2,
          held: 1,
        }),
        ...WEIRD_TEXTS.map((type, n) => lane(n + 3, { type, priority: 100 })),
      ]
      await put(store, [tenant, other], { lanes: [...lanes, laneRow(other, 1)] })
      expect(await changedAfter(0)).toEqual(lanes)
    })

    it('lanes are found by the version in which they changed', async () => {
      const { store, tenant } = subject
      await put(store, tenant, { lanes: [lane(1), lane(2), lane(3)] })
      const counted = lane(1, { mark: 5, tasks: 1, owner: ALICE, owned: 1, version: 2, max_held: 3, held: 2 })
      const emptied = lane(3, { mark: null, version: 2 ** 45 })
      await put(store, tenant, { counted: [counted] })
      await put(store, tenant, { counted: [emptied] })
      expect(await changedAfter(0)).toEqual([counted, lane(2), emptied])
      expect(await changedAfter(1)).toEqual([counted, emptied])
      expect(await changedAfter(2)).toEqual([emptied])
      expect(await changedAfter(2 ** 45)).toEqual([])
    })

    it('a lane can reuse the number of another', async () => {
      const { store, tenant } = subject
      await put(store, tenant, { lanes: [lane(1, { capabilities: ['gpu'], tasks: 3 }), lane(2)] })
      const renamed = lane(1, { type: 'new', priority: 7, tasks: 1, owner: ALICE, owned: 1, version: 2 })
      await put(store, tenant, { lanes: [renamed] })
      expect(await changedAfter(0)).toEqual([renamed, lane(2)])
    })

    it('a change of a lane that does not exist is refused', async () => {
      const { store, tenant } = subject
      await expect(put(store, tenant, { counted: [lane(9)] })).rejects.toThrow()
    })
  })

  describe('owners', () => {
    it('owners keep their last rank and weight, per tenant', async () => {
      const { store, tenant } = subject
      const { tenant: other } = await store.tenant('other')
      const alice = { tenant, owner: ALICE, last_rank: 2 ** 50, weight: 1 / 3 }
      const namesake = { tenant: other, owner: ALICE, last_rank: 1, weight: 1 }
      const everyone = { tenant, owner: '*', last_rank: 5, weight: 2 }
      await put(store, [tenant, other], { owners: [alice, namesake, everyone] })
      const need = { owners: [ALICE, '*', 'agent:absent'].map((owner) => ({ tenant, owner })) }
      const loaded = await look(store, tenant, need)
      expect(loaded.owners).toHaveLength(2)
      expect(loaded.owners).toEqual(expect.arrayContaining([alice, everyone]))

      const later = { ...alice, last_rank: 2 ** 50 + 1, weight: 0.1 }
      await put(store, tenant, { owners: [later] })
      expect((await look(store, tenant, { owners: [{ tenant, owner: ALICE }] })).owners).toEqual([later])
    })
  })

  describe('due tasks', () => {
    const at = (seq: number, time: number, tenant = subject.tenant) =>
      queued({ tenant, seq, next_eligible_at: time })

    it('delayed and held tasks are due at their time, inclusively', async () => {
      await subject.reopen({ now: () => NOW })
      const { store, tenant } = subject
      const lapsed = leased({ tenant, seq: 3, lease: lease({ expires_at: NOW - 5 }) })
      const inserted = [
        at(1, NOW),
        at(2, NOW + 1),
        lapsed,
        running({ tenant, seq: 4, lease: lease({ expires_at: NOW + 1 }) }),
        ready(5),
      ]
      await put(store, tenant, { inserted, tenants: [counters(subject.ref, { open_tasks: 5 })] })
      const { due } = await look(store, tenant, { due: [{ tenant, limit: 10 }] })
      expect(due).toHaveLength(2)
      expect(due).toEqual(expect.arrayContaining([at(1, NOW), lapsed]))
      expect(await store.due(10)).toEqual(
        expect.arrayContaining([
          { tenant, task_id: uuid(1) },
          { tenant, task_id: uuid(3) },
        ]),
      )
    })

    it('due tasks are returned longest due first, up to the limit of each tenant', async () => {
      await subject.reopen({ now: () => NOW })
      const { store, tenant } = subject
      const otherRef = await store.tenant('other')
      const other = otherRef.tenant
      const { tenant: idle } = await store.tenant('idle')
      await put(store, [tenant, other, idle], {
        tenants: [counters(subject.ref, { open_tasks: 3 }), counters(otherRef, { open_tasks: 2 })],
        inserted: [
          at(1, NOW - 1),
          at(2, NOW - 3),
          at(3, NOW - 2),
          at(1, NOW - 9, other),
          at(2, NOW + 9, other),
        ],
      })
      const { due } = await look(store, [tenant, other], { due: [{ tenant, limit: 2 }] })
      expect(due).toEqual([at(2, NOW - 3), at(3, NOW - 2)])

      const refs = await store.due(2)
      expect(refs).toHaveLength(3)
      expect(refs.filter((ref) => ref.tenant === tenant).map((ref) => ref.task_id)).toEqual([
        uuid(2),
        uuid(3),
      ])
      expect(refs.filter((ref) => ref.tenant === other).map((ref) => ref.task_id)).toEqual([uuid(1)])
    })
  })
}
