import { describe, expect, it } from 'vitest'
import { counters, look, put, WEIRD_TEXTS } from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

export function describeTenants(subject: Subject): void {
  describe('tenants', () => {
    it('a name always gives the same tenant', async () => {
      const { store } = subject
      const first = await store.tenant('acme')
      expect(first).toMatchObject({
        name: 'acme',
        salt: expect.stringMatching(/^[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      })
      expect(await store.tenant('acme')).toEqual(first)
    })

    it('concurrent calls for a new name create one tenant', async () => {
      const { store } = subject
      const refs = await Promise.all(Array.from({ length: 50 }, () => store.tenant('rush')))
      expect(refs).toEqual(refs.map(() => refs[0]))
      const other = await store.tenant('other')
      expect(other.tenant).not.toBe(refs[0]?.tenant)
    })

    it('similar names are different tenants with different salts', async () => {
      const { store } = subject
      const names = [...new Set(['acme', 'Acme', ' acme', 'acme\n', ...WEIRD_TEXTS])]
      const refs = await Promise.all(names.map((name) => store.tenant(name)))
      expect(refs.map((ref) => ref.name)).toEqual(names)
      expect(new Set(refs.map((ref) => ref.tenant)).size).toBe(names.length)
      expect(new Set(refs.map((ref) => ref.salt)).size).toBe(names.length)
    })

    it('a new tenant counts from zero', async () => {
      const { store, tenant } = subject
      expect(await store.reads.counters(subject.tenant)).toEqual(counters(subject.ref))
      expect((await look(store, tenant)).tenants).toEqual([counters(subject.ref)])
    })

    it('counters are those of the last commit, per tenant', async () => {
      const { store, tenant } = subject
      const otherRef = await store.tenant('other')
      const other = otherRef.tenant
      const large = {
        seq: 2 ** 45,
        clock: 2 ** 50,
        open_tasks: 3,
        active_leases: 2,
        ended_tasks: 2 ** 40,
        receipt_bytes: 2 ** 45,
        lanes: 4,
        lanes_version: 2 ** 45,
      }
      const mine = counters(subject.ref, large)
      const theirs = counters(otherRef, { seq: 7 })
      await put(store, [tenant, other], { tenants: [mine, theirs] })
      expect(await store.reads.counters(subject.tenant)).toEqual(mine)
      expect(await store.reads.counters(other)).toEqual(theirs)
      const { tenants } = await look(store, [tenant, other])
      expect(tenants).toHaveLength(2)
      expect(tenants).toEqual(expect.arrayContaining([mine, theirs]))
    })

    it('a tenant that does not exist is not loaded', async () => {
      const { store, tenant } = subject
      expect((await look(store, [tenant, 999_999])).tenants).toEqual([counters(subject.ref)])
    })

    it('the secret has 32 bytes and survives a restart', async () => {
      const secret = await subject.store.secret()
      expect(secret).toHaveLength(32)
      await subject.reopen()
      expect((await subject.store.secret()).equals(secret)).toBe(true)
    })

    it('ping succeeds', async () => {
      await expect(subject.store.ping()).resolves.toBeUndefined()
    })
  })
}
