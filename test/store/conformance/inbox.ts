import { describe, expect, it } from 'vitest'
import { INBOX_TYPES, type InboxItem } from '../../../src/core/inbox.ts'
import { StoreError } from '../../../src/store/store.ts'
import { ALICE, BOB, item, look, NOW, put, receipt, uuid, WEIRD_TEXTS } from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

const NEWEST = Number.MAX_SAFE_INTEGER

export function describeInbox(subject: Subject): void {
  const make = (seq: number, over: Partial<InboxItem> = {}) => item(subject.tenant, seq, over)
  const file = (...filed: InboxItem[]) => put(subject.store, subject.tenant, { filed })
  const mark = (...marked: InboxItem[]) => put(subject.store, subject.tenant, { marked })
  const seqs = (items: readonly InboxItem[]) => items.map(({ seq }) => seq)

  describe('inboxes', () => {
    it('an item is stored with all its marks', async () => {
      const { store, tenant } = subject
      const bare = make(1)
      const full = make(2, {
        delivered_at: NOW + 1,
        delivery_count: 3,
        read_at: NOW + 2,
        fetched_at: NOW + 3,
        promoted_at: NOW + 4,
        archived_at: NOW + 5,
      })
      await file(bare, make(2))
      await mark(full)
      const refs = [1, 2, 3].map((seq) => ({ principal: ALICE, seq }))
      const found = await store.reads.items(tenant, refs)
      expect(found.sort((a, b) => a.seq - b.seq)).toEqual([bare, full])
      const loaded = await look(store, tenant, { items: refs.map((ref) => ({ tenant, ...ref })) })
      expect(loaded.items.sort((a, b) => a.seq - b.seq)).toEqual([bare, full])
      expect(await store.reads.items(tenant, [])).toEqual([])
      const { tenant: other } = await store.tenant('other')
      expect(await store.reads.items(other, refs)).toEqual([])
    })

    it('two inboxes can contain the same receipt', async () => {
      const { store, tenant } = subject
      await file(make(1), make(1, { principal: BOB }))
      await mark(make(1, { principal: BOB, read_at: NOW }))
      const read = async (principal: typeof ALICE) =>
        (await store.reads.items(tenant, [{ principal, seq: 1 }])).map((found) => found.read_at)
      expect([await read(ALICE), await read(BOB)]).toEqual([[null], [NOW]])
    })

    it('inboxes are distinguished by the exact principal', async () => {
      const { store, tenant } = subject
      const principals = WEIRD_TEXTS.map((text) => `agent:${text}` as const)
      await file(...principals.map((principal) => make(1, { principal })))
      for (const principal of principals) {
        expect(await store.reads.inbox(tenant, principal, 'all', 0, 'ascending', 9)).toEqual([
          make(1, { principal }),
        ])
      }
    })

    it('a mark on a missing item is refused, and nothing is written', async () => {
      const { store, tenant } = subject
      await file(make(1))
      const wrong = put(store, tenant, { marked: [make(1, { read_at: NOW }), make(9, { read_at: NOW })] })
      await expect(wrong).rejects.toBeInstanceOf(StoreError)
      expect(await store.reads.items(tenant, [{ principal: ALICE, seq: 1 }])).toEqual([make(1)])
    })

    it('an inbox is listed in pages in both orders', async () => {
      const { store, tenant } = subject
      await file(...[1, 2, 3, 4].map((seq) => make(seq)), make(3, { principal: BOB }))
      const { inbox } = store.reads
      expect(seqs(await inbox(tenant, ALICE, 'all', 0, 'ascending', 9))).toEqual([1, 2, 3, 4])
      expect(seqs(await inbox(tenant, ALICE, 'all', 1, 'ascending', 2))).toEqual([2, 3])
      expect(seqs(await inbox(tenant, ALICE, 'all', NEWEST, 'descending', 2))).toEqual([4, 3])
      expect(seqs(await inbox(tenant, ALICE, 'all', 3, 'descending', 9))).toEqual([2, 1])
      expect(seqs(await inbox(tenant, BOB, 'all', 0, 'ascending', 9))).toEqual([3])
      const { tenant: other } = await store.tenant('other')
      expect(await inbox(other, ALICE, 'all', 0, 'ascending', 9)).toEqual([])
    })

    it('unread items are those neither read nor archived', async () => {
      const { store, tenant } = subject
      await file(...[1, 2, 3, 4].map((seq) => make(seq)))
      await mark(
        make(2, { read_at: NOW }),
        make(3, { archived_at: NOW }),
        make(4, { delivered_at: NOW, delivery_count: 1 }),
      )
      expect(seqs(await store.reads.inbox(tenant, ALICE, 'unread', 0, 'ascending', 9))).toEqual([1, 4])
      expect(seqs(await store.reads.inbox(tenant, ALICE, 'unread', NEWEST, 'descending', 9))).toEqual([4, 1])
      await mark(make(1, { read_at: NOW }))
      expect(seqs(await store.reads.inbox(tenant, ALICE, 'unread', 0, 'ascending', 9))).toEqual([4])
    })

    it('an inbox with many unread items is listed in pages, also while some of them are read', async () => {
      const { store, tenant } = subject
      const all = Array.from({ length: 200 }, (_, n) => n + 1)
      for (const from of [0, 80, 160]) await file(...all.slice(from, from + 80).map((seq) => make(seq)))
      const read = all.filter((seq) => seq % 3 === 0 || (seq > 60 && seq < 140))
      await mark(...read.slice(0, 40).map((seq) => make(seq, { read_at: NOW })))
      await mark(...read.slice(40).map((seq) => make(seq, { read_at: NOW })))
      const unread = all.filter((seq) => !read.includes(seq))
      const pages = async (which: 'all' | 'unread', order: 'ascending' | 'descending') => {
        const found: number[] = []
        for (let from = order === 'ascending' ? 0 : NEWEST; ; from = found.at(-1) ?? from) {
          const page = seqs(await store.reads.inbox(tenant, ALICE, which, from, order, 7))
          found.push(...page)
          if (page.length < 7) return found
        }
      }
      expect(await pages('unread', 'ascending')).toEqual(unread)
      expect(await pages('unread', 'descending')).toEqual(unread.toReversed())
      expect(await pages('all', 'ascending')).toEqual(all)
      expect(await pages('all', 'descending')).toEqual(all.toReversed())
    })

    it('items are found by task, newest first', async () => {
      const { store, tenant } = subject
      const about = (seq: number, task: number, over = {}) =>
        receipt({ tenant, seq, to: ALICE, task_id: uuid(task), receipt_type: 'task.result_ready', ...over })
      await put(store, tenant, {
        receipts: [
          about(1, 1, { receipt_type: 'lease.expired' }),
          about(2, 1, { receipt_type: 'task.assigned' }),
          about(3, 1),
          about(4, 2, { to: BOB }),
        ],
        filed: [make(1), make(3), make(4, { principal: BOB }), make(4)],
      })
      const { itemsOfTasks } = store.reads
      const tasks = [uuid(1), uuid(2), uuid(3), 'no id']
      const of = async (principal: typeof ALICE | null, types = INBOX_TYPES, limit = 9) =>
        (await itemsOfTasks(tenant, principal, tasks, types, limit))
          .map((found) => [found.principal, found.seq, found.task_id])
          .sort((a, b) => Number(b[1]) - Number(a[1]))
      expect(await of(ALICE)).toEqual([
        [ALICE, 4, uuid(2)],
        [ALICE, 3, uuid(1)],
        [ALICE, 1, uuid(1)],
      ])
      expect(await of(BOB)).toEqual([[BOB, 4, uuid(2)]])
      expect(await of(null)).toEqual([
        [BOB, 4, uuid(2)],
        [ALICE, 3, uuid(1)],
        [ALICE, 1, uuid(1)],
      ])
      expect(await of(ALICE, INBOX_TYPES, 1)).toEqual([
        [ALICE, 4, uuid(2)],
        [ALICE, 3, uuid(1)],
      ])
      expect(await of(ALICE, ['lease.expired'])).toEqual([[ALICE, 1, uuid(1)]])
      expect(await itemsOfTasks(tenant, ALICE, [], INBOX_TYPES, 9)).toEqual([])
      const { tenant: other } = await store.tenant('other')
      expect(await itemsOfTasks(other, null, tasks, INBOX_TYPES, 9)).toEqual([])
    })

    it('items are counted by state', async () => {
      const { store, tenant } = subject
      const at = (seq: number) => ({ created_at: NOW + seq })
      await file(...Array.from({ length: 9 }, (_, n) => make(n + 1, at(n + 1))))
      const delivered = (seconds: number) => ({ delivered_at: NOW + seconds * 1000, delivery_count: 1 })
      const read = { read_at: NOW }
      await mark(
        make(2, { ...at(2), ...delivered(0), delivery_count: 2 }),
        make(3, { ...at(3), ...read }),
        make(4, { ...at(4), ...read, ...delivered(0), fetched_at: NOW + 1000 }),
        make(5, { ...at(5), ...read, ...delivered(0), fetched_at: NOW + 4000, promoted_at: NOW }),
        make(6, { ...at(6), ...read, promoted_at: NOW, archived_at: NOW }),
        make(7, { ...at(7), ...read, ...delivered(9), fetched_at: NOW, archived_at: NOW }),
        make(8, { ...at(8), archived_at: NOW }),
      )
      const { inboxCounts } = store.reads
      expect(await inboxCounts(tenant, ALICE, 0, 100)).toEqual({
        items: 9,
        unread: 2,
        delivered: 1,
        read: 1,
        fetched: 1,
        promoted: 2,
        archived: 2,
        fetched_not_promoted: 2,
        redelivered: 1,
        average_ms_to_fetch: 2500,
      })
      expect(await inboxCounts(tenant, ALICE, NOW + 8, 100)).toMatchObject({
        items: 2,
        archived: 1,
        unread: 1,
      })
      expect(await inboxCounts(tenant, ALICE, 0, 1)).toMatchObject({ items: 1, unread: 1 })
      const none = { items: 0, unread: 0, promoted: 0, average_ms_to_fetch: null }
      expect(await inboxCounts(tenant, BOB, 0, 100)).toMatchObject(none)
      const { tenant: other } = await store.tenant('other')
      expect(await inboxCounts(other, ALICE, 0, 100)).toMatchObject(none)
    })
  })
}
