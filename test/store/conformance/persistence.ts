import { describe, expect, it } from 'vitest'
import {
  ALICE,
  counters,
  done,
  item,
  lane,
  leased,
  look,
  NOW,
  put,
  queued,
  receipt,
  spec,
  uuid,
} from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

export function describePersistence(subject: Subject): void {
  describe('persistence', () => {
    it('all data survives closing and reopening', async () => {
      const { tenant } = subject
      const ref = await subject.store.tenant('test')
      const tasks = [queued({ tenant, seq: 1 }), leased({ tenant, seq: 2 }), done({ tenant, seq: 3 })]
      const [open, held, ended] = [
        queued({ tenant, seq: 1 }),
        leased({ tenant, seq: 2 }),
        done({ tenant, seq: 3 }),
      ]
      const specs = tasks.map(({ seq }) => spec({ tenant, seq }))
      const receipts = [receipt({ tenant, seq: 1 }), receipt({ tenant, seq: 2, parents: [1] })]
      const gpu = lane(tenant, 2, {
        capabilities: ['gpu'],
        priority: 3,
        mark: 1000,
        tasks: 2,
        owner: ALICE,
        owned: 1,
      })
      const owner = { tenant, owner: ALICE, last_rank: 2000, weight: 1 }
      const relationship = {
        tenant,
        principal: ALICE,
        instance_id: null,
        first_seen_at: NOW,
        last_seen_at: NOW,
        sessions_count: 1,
        agent_version: null,
        client_capabilities: null,
        instances: null,
      }
      const delivered = item(tenant, 1, { delivered_at: NOW, delivery_count: 1 })
      const counts = { seq: 3, clock: 2000, open_tasks: 2, active_leases: 1, lanes: 2, lanes_version: 1 }
      const row = counters(subject.ref, counts)
      await put(subject.store, tenant, {
        tenants: [row],
        inserted: [open, held],
        finished: [ended],
        specs,
        receipts,
        opened: [{ tenant, principal: ALICE, seq: 1, task_id: uuid(1) }],
        owners: [owner],
        lanes: [gpu],
        relationships: [relationship],
        filed: [item(tenant, 1)],
        marked: [delivered],
      })

      await subject.reopen()
      const { store } = subject
      expect(await store.tenant('test')).toEqual(ref)
      const loaded = await look(store, tenant, {
        tasks: tasks.map(({ task_id }) => ({ tenant, task_id })),
        heads: [{ tenant, lane: 2, pool: false, limit: 5 }],
        lanes: [{ tenant, after: 0 }],
        owners: [{ tenant, owner: ALICE }],
      })
      expect(loaded.tenants).toEqual([row])
      expect(loaded.tasks.sort((a, b) => a.seq - b.seq)).toEqual(tasks)
      expect(loaded.heads[0]).toMatchObject({ tasks: [open] })
      expect(loaded.lanes).toEqual([gpu])
      expect(loaded.owners).toEqual([owner])
      expect(await store.reads.receipts(tenant, { by: 'all' }, 0, 'ascending', 10)).toEqual(receipts)
      // The open tasks of Alice stand for what she is owed.
      expect(await store.reads.obligations(tenant, ALICE, 0, 10)).toEqual(receipts.slice(0, 2))
      expect(await store.reads.relationship(tenant, ALICE)).toEqual(relationship)
      expect(await store.reads.items(tenant, [{ principal: ALICE, seq: 1 }])).toEqual([delivered])
      const records = await store.reads.tasks(
        tenant,
        tasks.map((task) => task.task_id),
      )
      expect(records.map((record) => record.spec).sort((a, b) => a.seq - b.seq)).toEqual(specs)
    })

    it('a store can be closed twice', async () => {
      await subject.store.close()
      await expect(subject.store.close()).resolves.toBeUndefined()
    })
  })
}
