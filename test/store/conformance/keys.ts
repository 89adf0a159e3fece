import { describe, expect, it } from 'vitest'
import { BOB, look, put, spec, WEIRD_TEXTS } from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

export function describeKeys(subject: Subject): void {
  describe('idempotency keys', () => {
    it('an idempotency key belongs to one owner of one tenant', async () => {
      const { store, tenant } = subject
      const { tenant: other } = await store.tenant('other')
      const specs = [
        spec({ tenant, seq: 1, idempotency_key: 'k' }),
        spec({ tenant, seq: 2, idempotency_key: 'k', owner: BOB }),
        spec({ tenant, seq: 3, idempotency_key: 'K' }),
        spec({ tenant, seq: 4 }),
        spec({ tenant, seq: 5 }),
        spec({ tenant: other, seq: 1, idempotency_key: 'k' }),
      ]
      await put(store, [tenant, other], { specs })
      const find = async (at: number, owner: typeof BOB, idempotency_key: string) =>
        (await look(store, at, { keys: [{ tenant: at, owner, idempotency_key }] })).specs
      expect(await find(tenant, 'agent:alice', 'k')).toEqual([specs[0]])
      expect(await find(tenant, BOB, 'k')).toEqual([specs[1]])
      expect(await find(tenant, 'agent:alice', 'K')).toEqual([specs[2]])
      expect(await find(other, 'agent:alice', 'k')).toEqual([specs[5]])
      expect(await find(other, BOB, 'k')).toEqual([])
    })

    it('several idempotency keys are looked up together', async () => {
      const { store, tenant } = subject
      const specs = WEIRD_TEXTS.map((text, n) => spec({ tenant, seq: n + 1, idempotency_key: text }))
      await put(store, tenant, { specs })
      const keys = [...WEIRD_TEXTS, 'unused'].map((idempotency_key) => ({
        tenant,
        owner: 'agent:alice' as const,
        idempotency_key,
      }))
      const loaded = await look(store, tenant, { keys })
      expect(loaded.specs.sort((a, b) => a.seq - b.seq)).toEqual(specs)
    })

    it('an idempotency key cannot be used twice', async () => {
      const { store, tenant } = subject
      await put(store, tenant, { specs: [spec({ tenant, seq: 1, idempotency_key: 'k' })] })
      const again = put(store, tenant, { specs: [spec({ tenant, seq: 2, idempotency_key: 'k' })] })
      await expect(again).rejects.toMatchObject({ name: 'StoreError', reason: 'refused' })
    })
  })
}
