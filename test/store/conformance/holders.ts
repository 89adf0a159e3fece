import { describe, expect, it } from 'vitest'
import { done, lease, leased, NOW, put, queued, running } from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

export function describeHolders(subject: Subject): void {
  describe('holders', () => {
    it('are those who hold leases, each with the number of them and the end of the first', async () => {
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
      expect(await store.reads.holders((await store.tenant('nobody')).tenant)).toEqual([])
    })
  })
}
