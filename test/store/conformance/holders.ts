import { describe, expect, it } from 'vitest'
import {
  done,
  lease,
  leased,
  NOW,
  put,
  queued,
  receipt,
  running,
  spec,
  uuid,
} from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

export function describeHolders(subject: Subject): void {
  describe('lease holders', () => {
    it('holders have the number of their leases and the earliest expiry', async () => {
      const { store, tenant } = subject
      const { tenant: other } = await store.tenant('other')
      const of = (worker_id: string, expires_at: number) => lease({ worker_id, expires_at })
      await put(store, [tenant, other], {
        inserted: [
          queued({ tenant, seq: 1 }),
          leased({ tenant, seq: 2, lease: of('w1', NOW + 30) }),
          leased({ tenant, seq: 3, lease: of('w1', NOW + 20) }),
          running({ tenant, seq: 4, lease: of('w1', NOW + 40) }),
          running({ tenant, seq: 5, lease: of('w2', NOW + 10) }),
          leased({ tenant: other, seq: 1, lease: of('w3', NOW + 10) }),
        ],
        finished: [done({ tenant, seq: 6 })],
      })
      const holders = await store.reads.holders(tenant)
      expect(holders.sort((a, b) => (a.worker_id < b.worker_id ? -1 : 1))).toEqual([
        { worker_id: 'w1', leased: 2, running: 1, next_expires_at: NOW + 20 },
        { worker_id: 'w2', leased: 0, running: 1, next_expires_at: NOW + 10 },
      ])
      expect(await store.reads.holders((await store.tenant('empty')).tenant)).toEqual([])
    })
  })

  describe('lease of a task', () => {
    it('taskLease returns the current or last lease, and none for a queued task', async () => {
      const { store, tenant } = subject
      const held = lease({ lease_id: uuid(1), holder: 'service:s', worker_id: 's' })
      await put(store, tenant, {
        specs: [1, 2, 3].map((seq) => spec({ tenant, seq })),
        inserted: [queued({ tenant, seq: 1 }), leased({ tenant, seq: 2, lease: held })],
        finished: [done({ tenant, seq: 3 })],
      })
      const none = { lease_id: null, holder: null, worker_id: null }
      expect(await store.reads.taskLease(tenant, 1)).toEqual({ task_id: uuid(1), status: 'queued', ...none })
      const service = { lease_id: uuid(1), holder: 'service:s', worker_id: 's' }
      expect(await store.reads.taskLease(tenant, 2)).toEqual({
        task_id: uuid(2),
        status: 'leased',
        ...service,
      })
      const ended = { lease_id: lease().lease_id, holder: 'worker:w1', worker_id: 'w1' }
      expect(await store.reads.taskLease(tenant, 3)).toEqual({
        task_id: uuid(3),
        status: 'succeeded',
        ...ended,
      })
      expect(await store.reads.taskLease(tenant, 4)).toBeUndefined()
      expect(await store.reads.taskLease((await store.tenant('other')).tenant, 2)).toBeUndefined()
    })

    it('hadLease searches the newest receipts of the task', async () => {
      const { store, tenant } = subject
      const task_id = uuid(1)
      await put(store, tenant, {
        receipts: [
          receipt({ tenant, seq: 1, task_id, lease_id: uuid(11) }),
          receipt({ tenant, seq: 2, task_id, lease_id: uuid(12) }),
          receipt({ tenant, seq: 3, task_id: uuid(2), lease_id: uuid(13) }),
        ],
      })
      const had = (leaseId: string, limit: number) => store.reads.hadLease(tenant, task_id, leaseId, limit)
      expect(await had(uuid(11), 2)).toBe(true)
      expect(await had(uuid(11), 1)).toBe(false)
      expect(await had(uuid(12), 1)).toBe(true)
      expect(await had(uuid(13), 10)).toBe(false)
      expect(await had('x', 10)).toBe(false)
    })
  })
}
