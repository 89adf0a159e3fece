import { describe, expect, it } from 'vitest'
import type { OpenTask } from '../../../src/core/task.ts'
import { type Changes, type Loaded, type Need, NO_NEED, StoreError } from '../../../src/store/store.ts'
import {
  ALICE,
  counters,
  done,
  item,
  lane,
  look,
  NO_CHANGES,
  NOW,
  outcome,
  put,
  queued,
  receipt,
  running,
  spec,
  uuid,
} from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

export function describeCommits(subject: Subject): void {
  /** A batch that touches every table. */
  const everything = (seq: number, task: OpenTask): Changes => {
    const { tenant } = subject
    return {
      ...NO_CHANGES,
      tenants: [counters(subject.ref, { seq, open_tasks: 1, lanes: 1 })],
      inserted: [task],
      finished: [done({ tenant, seq: seq + 500 })],
      specs: [spec({ tenant, seq, idempotency_key: `key ${seq}` })],
      receipts: [receipt({ tenant, seq, parents: [seq + 1] })],
      opened: [{ tenant, principal: ALICE, seq, task_id: uuid(seq) }],
      owners: [{ tenant, owner: ALICE, last_rank: seq, weight: 1 }],
      lanes: [lane(tenant, seq)],
      progress: [
        { tenant, task_id: uuid(seq), n: 1, at: 1, lease_id: uuid(9), progress: spec({ tenant, seq }).input },
      ],
      filed: [item(tenant, seq)],
      marked: [item(tenant, seq, { read_at: NOW })],
    }
  }

  const expectNothing = async (seq: number) => {
    const { store, tenant } = subject
    const { reads } = store
    expect(await reads.counters(subject.tenant)).toEqual(counters(subject.ref))
    expect(await reads.statuses(tenant, [uuid(seq), uuid(seq + 500)])).toEqual([])
    expect(await reads.scan(tenant, { by: 'all' }, 10_000, 10)).toEqual([])
    expect(await reads.receipts(tenant, { by: 'all' }, 0, 'ascending', 10)).toEqual([])
    expect(await reads.children(tenant, [seq + 1], ['task.assigned'])).toEqual([])
    expect(await reads.obligations(tenant, ALICE, 0, 10)).toEqual([])
    expect(await reads.progress(tenant, uuid(seq), 0, 10)).toEqual([])
    expect(await reads.items(tenant, [{ principal: ALICE, seq }])).toEqual([])
    const loaded = await look(store, tenant, {
      owners: [{ tenant, owner: ALICE }],
      lanes: [{ tenant, after: 0 }],
      keys: [{ tenant, owner: ALICE, idempotency_key: `key ${seq}` }],
    })
    expect([loaded.owners, loaded.lanes, loaded.specs]).toEqual([[], [], []])
  }

  const expectUsable = async () => {
    const { store, tenant } = subject
    const task = queued({ tenant, seq: 77 })
    await put(store, tenant, everything(77, task))
    expect((await look(store, tenant, { tasks: [{ tenant, task_id: uuid(77) }] })).tasks).toEqual([task])
    expect((await store.reads.counters(subject.tenant)).seq).toBe(77)
  }

  describe('commit', () => {
    it('a commit without changes changes nothing', async () => {
      const { store, tenant } = subject
      expect(await put(store, tenant, {})).toEqual({ specs: [], questions: [] })
      expect(await put(store, [], {})).toEqual({ specs: [], questions: [] })
      await put(store, tenant, { tenants: [counters(subject.ref)] })
      await expectNothing(1)
    })

    it('a commit returns the specs of granted tasks, both stored and new', async () => {
      const { store, tenant } = subject
      const { tenant: other } = await store.tenant('other')
      const mine = spec({ tenant, seq: 1, session_id: 's' })
      const theirs = spec({ tenant: other, seq: 1 })
      await put(store, [tenant, other], { specs: [mine, theirs, spec({ tenant, seq: 2 })] })
      const fresh = spec({ tenant, seq: 3 })
      const { specs } = await put(store, [tenant, other], {
        specs: [fresh],
        granted: [
          { tenant, seq: 3 },
          { tenant, seq: 1 },
          { tenant: other, seq: 1 },
        ],
      })
      expect(specs).toHaveLength(3)
      expect(specs).toEqual(expect.arrayContaining([fresh, mine, theirs]))
    })

    it('a commit can contain hundreds of tasks and thousands of receipts', async () => {
      const { store, tenant } = subject
      const tasks = Array.from({ length: 500 }, (_, n) => queued({ tenant, seq: n * 4 + 1, rank: n }))
      const receipts = Array.from({ length: 2_000 }, (_, n) =>
        receipt({ tenant, seq: n + 1, parents: n === 0 ? [] : [n], task_id: uuid(n - (n % 4) + 1) }),
      )
      await put(store, tenant, {
        tenants: [counters(subject.ref, { seq: 2_000, open_tasks: 500 })],
        inserted: tasks,
        specs: tasks.map(({ seq }) => spec({ tenant, seq, idempotency_key: `${seq}` })),
        receipts,
        opened: tasks.map(({ seq, task_id }) => ({ tenant, principal: ALICE, seq, task_id })),
        lanes: [lane(tenant, 2, { mark: 0 })],
      })
      const loaded = await look(store, tenant, {
        tasks: tasks.map(({ task_id }) => ({ tenant, task_id })),
        heads: [{ tenant, lane: 2, pool: false, limit: 1_000 }],
        keys: tasks.map(({ seq }) => ({ tenant, owner: ALICE, idempotency_key: `${seq}` })),
      })
      expect(loaded.tasks.sort((a, b) => a.seq - b.seq)).toEqual(tasks)
      expect(loaded.heads[0]?.tasks).toEqual(tasks)
      expect(loaded.specs).toHaveLength(500)
      expect(await store.reads.receipts(tenant, { by: 'all' }, 0, 'ascending', 5_000)).toEqual(receipts)
      expect(await store.reads.obligations(tenant, ALICE, 0, 5_000)).toHaveLength(500)

      const finished = tasks.map(({ seq, rank }) => done({ tenant, seq, rank }))
      await put(store, tenant, { finished })
      expect(
        await store.reads.scan(tenant, { by: 'status', status: 'succeeded' }, 10_000, 1_000),
      ).toHaveLength(500)
      expect(await store.reads.scan(tenant, { by: 'status', status: 'queued' }, 10_000, 1_000)).toEqual([])
    })

    it('concurrent commits each see the state that the previous one left', async () => {
      const { store, tenant } = subject
      const { tenant: other } = await store.tenant('other')
      const raise = (tenants: number[]) =>
        store.commit({ ...NO_NEED, tenants: tenants.sort((a, b) => a - b) }, (loaded) => ({
          ...NO_CHANGES,
          tenants: loaded.tenants.map((row) => ({ ...row, seq: row.seq + 1 })),
          receipts: loaded.tenants.map((row) => receipt({ tenant: row.tenant, seq: row.seq + 1 })),
        }))
      await Promise.all(
        Array.from({ length: 45 }, (_, n) =>
          raise(n % 3 === 0 ? [tenant] : n % 3 === 1 ? [other] : [tenant, other]),
        ),
      )
      expect((await store.reads.counters(subject.tenant)).seq).toBe(30)
      expect((await store.reads.counters(other)).seq).toBe(30)
      const receipts = await store.reads.receipts(tenant, { by: 'all' }, 0, 'ascending', 100)
      expect(receipts.map((one) => one.seq)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1))
    })
  })

  describe('decide callback', () => {
    it('decide can request more data and then sees all of it at one point in time', async () => {
      const { store, tenant } = subject
      const tasks = [queued({ tenant, seq: 1 }), queued({ tenant, seq: 2 })]
      const asked = spec({ tenant, seq: 2, idempotency_key: 'k' })
      const lanes = [lane(tenant, 1), lane(tenant, 2, { mark: 0, version: 2 })]
      await put(store, tenant, {
        tenants: [counters(subject.ref, { seq: 5, lanes: 2 })],
        inserted: tasks,
        specs: [asked],
        lanes,
      })
      const seen: Loaded[] = []
      const needs: Need[] = [
        { ...NO_NEED, tasks: [{ tenant, task_id: uuid(2) }], lanes: [{ tenant, after: 1 }] },
        {
          ...NO_NEED,
          tenants: [tenant],
          heads: [{ tenant, lane: 2, pool: false, limit: 5 }],
          keys: [{ tenant, owner: ALICE, idempotency_key: 'k' }],
        },
      ]
      const first: Need = { ...NO_NEED, tenants: [tenant], tasks: [{ tenant, task_id: uuid(1) }] }
      await store.commit(first, (loaded) => {
        seen.push(structuredClone(loaded))
        const more = needs[seen.length - 1]
        return more ?? { ...NO_CHANGES, updated: [running({ tenant, seq: 1 })] }
      })
      expect(seen).toHaveLength(3)
      expect(seen.map((loaded) => loaded.tasks)).toEqual([[tasks[0]], tasks, tasks])
      expect(seen.map((loaded) => loaded.lanes)).toEqual([[], [lanes[1]], [lanes[1]]])
      expect(seen.map((loaded) => loaded.heads.length)).toEqual([0, 0, 1])
      expect(seen[2]?.heads[0]?.tasks).toEqual(tasks)
      expect(seen[2]?.specs).toEqual([asked])
      expect(seen.map((loaded) => loaded.tenants)).toEqual(
        seen.map(() => [counters(subject.ref, { seq: 5, lanes: 2 })]),
      )
      expect(new Set(seen.map((loaded) => loaded.now)).size).toBe(1)
      expect(await store.reads.statuses(tenant, [uuid(1)])).toEqual([{ task_id: uuid(1), status: 'running' }])
    })

    it('a decide callback that requests data forever is aborted, and the store stays usable', async () => {
      const { store, tenant } = subject
      let rounds = 0
      const need = { ...NO_NEED, tenants: [tenant] }
      const endless = store.commit(need, () => {
        rounds++
        return need
      })
      await expect(endless).rejects.toThrow()
      expect(rounds).toBeLessThan(1_000)
      await expectUsable()
    })

    it('an error of decide is passed on without changes, and the store stays usable', async () => {
      const { store, tenant } = subject
      const error = new Error('from decide')
      let calls = 0
      const failing = store.commit({ ...NO_NEED, tenants: [tenant] }, () => {
        calls++
        if (calls === 1) return { ...NO_NEED, tasks: [{ tenant, task_id: uuid(1) }] }
        throw error
      })
      await expect(failing).rejects.toBe(error)
      await expectNothing(1)
      await expectUsable()
    })
  })

  describe('row that the database refuses', () => {
    const poison: [string, (tenant: number) => Partial<Changes>][] = [
      [
        'a running task that never started',
        (tenant) => ({ inserted: [running({ tenant, seq: 3, started_at: null })] }),
      ],
      [
        'a success with an error',
        (tenant) => ({
          finished: [done({ tenant, seq: 3, outcome: outcome({ error: spec({ tenant, seq: 3 }).input }) })],
        }),
      ],
      [
        'a task that exists',
        (tenant) => ({ inserted: [queued({ tenant, seq: 3 }), queued({ tenant, seq: 3 })] }),
      ],
      [
        'a receipt that exists',
        (tenant) => ({ receipts: [receipt({ tenant, seq: 3 }), receipt({ tenant, seq: 3 })] }),
      ],
    ]

    it.each(poison)('a refused row fails the whole batch and nothing else: %s', async (_, make) => {
      const { store, tenant } = subject
      const batch = everything(1, queued({ tenant, seq: 1 }))
      const rows = make(tenant)
      const error = await put(store, tenant, {
        ...batch,
        inserted: [...batch.inserted, ...(rows.inserted ?? [])],
        finished: [...batch.finished, ...(rows.finished ?? [])],
        receipts: [...batch.receipts, ...(rows.receipts ?? [])],
      }).then(
        () => undefined,
        (reason: unknown) => reason,
      )
      expect(error).toBeInstanceOf(StoreError)
      expect(error).toMatchObject({ reason: 'refused' })
      await expectNothing(1)
      await expectUsable()
    })
  })
}
