import { describe, expect, it } from 'vitest'
import { uuid } from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

const NOW = 1_000
const row = (seq: number, task: number, members: object = {}) => ({
  seq,
  task_id: uuid(task),
  rendered: null,
  state: 'pending',
  tries: 0,
  next_try_at: 0,
  reason: null,
  ...members,
})

export function describeOutbox(subject: Subject): void {
  describe('receipt outbox', () => {
    const added = (seq: number, task: number) => ({ seq, task_id: uuid(task) })
    const due = (now = NOW, limit = 10) => subject.store.outbox.due(subject.tenant, now, limit)
    const fill = () =>
      subject.store.outbox.advance(subject.tenant, 0, 9, [added(2, 1), added(5, 1), added(7, 2)])

    it('receipts are added once, also by two servers and after a restart', async () => {
      const { tenant } = subject
      expect(await subject.store.outbox.cursor(tenant)).toBe(0)
      expect((await Promise.all([fill(), fill()])).sort()).toEqual([false, true])
      expect(await fill()).toBe(false)
      await subject.reopen()
      expect(await subject.store.outbox.cursor(tenant)).toBe(9)
      expect(await subject.store.outbox.advance(tenant, 9, 12, [])).toBe(true)
      expect(await subject.store.outbox.counts(tenant, 10)).toEqual({ pending: 3, set_aside: 0 })
      expect(await subject.store.outbox.counts(tenant, 2)).toEqual({ pending: 2, set_aside: 0 })
    })

    it('only the first receipt of each task is due', async () => {
      const { outbox } = subject.store
      await fill()
      expect(await due()).toEqual([row(2, 1), row(7, 2)])
      await outbox.remove(subject.tenant, 2)
      expect(await due()).toEqual([row(5, 1), row(7, 2)])
      expect(await due(NOW, 1)).toEqual([row(5, 1)])
      expect(await outbox.ofTask(subject.tenant, uuid(1))).toEqual([row(5, 1)])
    })

    it('a postponed receipt is due at its time, and holds back its task only', async () => {
      const { outbox } = subject.store
      await fill()
      const later = { state: 'pending', tries: 1, next_try_at: NOW + 1, reason: null } as const
      await outbox.update(subject.tenant, 2, later)
      expect(await due()).toEqual([row(7, 2)])
      expect(await due(NOW + 1)).toEqual([row(2, 1, later), row(7, 2)])
    })

    it('a receipt that was set aside holds back its task until it is queued again', async () => {
      const { outbox } = subject.store
      const { tenant } = subject
      await fill()
      await outbox.render(tenant, 2, 'text', null)
      const aside = { state: 'set_aside', tries: 3, next_try_at: 0, reason: 'refused' } as const
      await outbox.update(tenant, 2, aside)
      expect(await due()).toEqual([row(7, 2)])
      expect(await outbox.setAside(tenant, 0, 10)).toEqual([row(2, 1, { ...aside, rendered: 'text' })])
      expect(await outbox.setAside(tenant, 2, 10)).toEqual([])
      expect(await outbox.counts(tenant, 10)).toEqual({ pending: 2, set_aside: 1 })
      expect(await outbox.requeue(tenant, false)).toBe(1)
      expect(await due()).toEqual([row(2, 1, { rendered: 'text' }), row(7, 2)])
      await outbox.update(tenant, 2, aside)
      expect(await outbox.requeue(tenant, true)).toBe(1)
      expect(await due()).toEqual([row(2, 1), row(7, 2)])
    })

    it('a text is stored only in place of the expected one', async () => {
      const { outbox } = subject.store
      const { tenant } = subject
      await fill()
      expect(await outbox.render(tenant, 2, 'first', null)).toBe(true)
      expect(await outbox.render(tenant, 2, 'second', null)).toBe(false)
      expect(await outbox.render(tenant, 2, 'shorter', 'first')).toBe(true)
      expect(await outbox.render(tenant, 3, 'absent', null)).toBe(false)
      expect((await due())[0]?.rendered).toBe('shorter')
    })

    it('tenants have separate outboxes', async () => {
      await fill()
      const { tenant: other } = await subject.store.tenant('other')
      expect(await subject.store.outbox.due(other, NOW, 10)).toEqual([])
      expect(await subject.store.outbox.cursor(other)).toBe(0)
      expect(await subject.store.outbox.requeue(other, true)).toBe(0)
    })
  })
}
