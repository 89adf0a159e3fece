import { describe, expect, it } from 'vitest'
import { WEIRD_TEXTS } from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

export function describeEntries(subject: Subject): void {
  describe('entries', () => {
    const draft = (name: string, value = '{}', due_at: number | null = null) => ({
      tenant: subject.tenant,
      kind: 'colour',
      name,
      value,
      due_at,
    })
    const names = async (after = '', limit = 10) => {
      const entries = await subject.store.entries.list(subject.tenant, 'colour', after, limit)
      return entries.map((entry) => entry.name)
    }

    it('an entry is returned as written, with its version', async () => {
      const { entries } = subject.store
      expect(await entries.get(subject.tenant, 'colour', 'red')).toBeUndefined()
      expect(await entries.put(draft('red', '{"warm":true}', 7))).toBe(1)
      expect(await entries.put(draft('red', '{"warm":false}'))).toBe(2)
      const found = await entries.get(subject.tenant, 'colour', 'red')
      expect(found).toEqual({ ...draft('red', '{"warm":false}'), version: 2 })
    })

    it('an entry is written only over the expected version', async () => {
      const { entries } = subject.store
      expect(await entries.put(draft('red', '1'), 1)).toBeUndefined()
      expect(await entries.put(draft('red', '1'), 0)).toBe(1)
      expect(await entries.put(draft('red', '2'), 0)).toBeUndefined()
      expect(await entries.put(draft('red', '2'), 1)).toBe(2)
      expect(await entries.put(draft('red', '3'), 1)).toBeUndefined()
      expect(await entries.get(subject.tenant, 'colour', 'red')).toMatchObject({ value: '2', version: 2 })
    })

    it('one of many writers that expect the same version succeeds', async () => {
      const { entries } = subject.store
      await entries.put(draft('red'))
      const wins = await Promise.all(
        Array.from({ length: 20 }, (_, i) => entries.put(draft('red', `${i}`), 1)),
      )
      expect(wins.filter((version) => version !== undefined)).toEqual([2])
    })

    it('insertNew writes only new entries, and count is limited', async () => {
      const { entries } = subject.store
      await entries.put(draft('b', '1', 5))
      const drafts = ['a', 'b', 'c', 'ä'].map((name, n) => draft(name, '2', 10 - n))
      expect(await entries.insertNew(drafts)).toEqual(new Set(['a', 'c', 'ä']))
      expect(await entries.insertNew([])).toEqual(new Set())
      expect(await entries.get(subject.tenant, 'colour', 'b')).toMatchObject({ value: '1', version: 1 })
      expect(await entries.count(subject.tenant, 'colour', 10)).toBe(4)
      expect(await entries.count(subject.tenant, 'colour', 3)).toBe(3)
      await entries.removeFirstDue(subject.tenant, 'colour', 2)
      expect(await names()).toEqual(['a', 'c'])
    })

    it('entries are listed by name in pages', async () => {
      const { entries } = subject.store
      for (const name of ['b', 'a', 'B', 'ä', 'c']) await entries.put(draft(name))
      expect(await names()).toEqual(['B', 'a', 'b', 'c', 'ä'])
      expect(await names('a', 2)).toEqual(['b', 'c'])
    })

    it('several entries are found by their names', async () => {
      const { store } = subject
      const other = await store.tenant('other')
      for (const name of ['red', 'green', ...WEIRD_TEXTS]) await store.entries.put(draft(name))
      await store.entries.put({ ...draft('blue'), kind: 'mood' })
      await store.entries.put({ ...draft('blue'), tenant: other.tenant })
      const found = await store.entries.several(subject.tenant, 'colour', [
        ...['red', 'blue', 'red', 'none'],
        ...WEIRD_TEXTS,
      ])
      expect(found.map((entry) => entry.name).sort()).toEqual(['red', ...WEIRD_TEXTS].sort())
      expect(found).toContainEqual({ ...draft('red'), version: 1 })
      expect(await store.entries.several(subject.tenant, 'colour', [])).toEqual([])
    })

    it('entries are due at their time, earliest first', async () => {
      const { entries } = subject.store
      await entries.put(draft('late', '{}', 300))
      await entries.put(draft('never'))
      await entries.put(draft('second', '{}', 200))
      await entries.put(draft('first', '{}', 100))
      const due = await entries.due(subject.tenant, 'colour', 200, 10)
      expect(due.map((entry) => entry.name)).toEqual(['first', 'second'])
      expect(await entries.due(subject.tenant, 'colour', 1_000, 1)).toHaveLength(1)
    })

    it('a removed entry is not found', async () => {
      const { entries } = subject.store
      await entries.put(draft('red'))
      expect(await entries.remove(subject.tenant, 'colour', 'red')).toBe(true)
      expect(await entries.remove(subject.tenant, 'colour', 'red')).toBe(false)
      expect(await names()).toEqual([])
    })

    it('an entry belongs to one tenant and kind', async () => {
      const { store } = subject
      const other = await store.tenant('other')
      await store.entries.put(draft('red'))
      expect(await store.entries.list(other.tenant, 'colour', '', 10)).toEqual([])
      expect(await store.entries.get(subject.tenant, 'shape', 'red')).toBeUndefined()
      expect(await store.entries.remove(other.tenant, 'colour', 'red')).toBe(false)
      expect(await names()).toEqual(['red'])
    })

    it('entries store any text, also across a restart', async () => {
      for (const text of WEIRD_TEXTS) await subject.store.entries.put(draft(text, JSON.stringify(text)))
      await subject.reopen()
      for (const text of WEIRD_TEXTS) {
        const found = await subject.store.entries.get(subject.tenant, 'colour', text)
        expect(found).toEqual({ ...draft(text, JSON.stringify(text)), version: 1 })
      }
    })
  })
}
