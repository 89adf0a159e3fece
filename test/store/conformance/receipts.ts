import { describe, expect, it } from 'vitest'
import { canonical } from '../../../src/core/json/json.ts'
import type { PrincipalKey } from '../../../src/core/principal.ts'
import type { Receipt } from '../../../src/core/receipt.ts'
import type { ReceiptPath } from '../../../src/store/reads.ts'
import {
  ALICE,
  BOB,
  done,
  leased,
  look,
  NOW,
  put,
  queued,
  receipt,
  uuid,
  WEIRD_TEXTS,
  WORKER,
} from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

export function describeReceipts(subject: Subject): void {
  const make = (seq: number, over: Partial<Receipt> = {}) => receipt({ tenant: subject.tenant, seq, ...over })
  const write = (...receipts: Receipt[]) => put(subject.store, subject.tenant, { receipts })

  describe('receipts', () => {
    it('receipts are returned as stored', async () => {
      const { store, tenant } = subject
      const bare = make(1)
      const full = make(2 ** 45, {
        receipt_type: 'task.completed',
        created_at: NOW + 5,
        from: WORKER,
        to: BOB,
        task_id: uuid(1),
        lease_id: uuid(2),
        schedule_id: 'nightly',
        parents: [1, 2 ** 44],
        body: canonical({ text: 'it\'s\n"all"\\ here, {really} 🦀' }),
        instance: 'asyncgate-2',
      })
      await write(bare, full)
      expect(await store.reads.receipt(tenant, 1)).toEqual(bare)
      expect(await store.reads.receipt(tenant, full.seq)).toEqual(full)
      expect(await store.reads.receipt(tenant, 3)).toBeUndefined()

      const need = { receipts: [1, 3, full.seq].map((seq) => ({ tenant, seq })) }
      const loaded = (await look(store, tenant, need)).receipts
      expect(loaded.sort((a, b) => a.seq - b.seq)).toEqual([bare, full])
    })

    it('receipts preserve every text exactly', async () => {
      const { store, tenant } = subject
      const receipts = WEIRD_TEXTS.map((text, n) =>
        make(n + 1, {
          from: `agent:${text}`,
          to: `human:${text}`,
          schedule_id: text,
          instance: text,
          body: canonical({ [text]: [text] }),
        }),
      )
      await write(...receipts)
      expect(await store.reads.receipts(tenant, { by: 'all' }, 0, 'ascending', 100)).toEqual(receipts)
      for (const one of receipts) {
        const found = await store.reads.receipts(tenant, { by: 'to', to: one.to }, 0, 'ascending', 100)
        expect(found).toEqual([one])
      }
    })

    it('receipts return their parents in ascending order', async () => {
      const { store, tenant } = subject
      await write(make(1), make(2), make(10), make(11, { parents: [10, 2, 1] }))
      expect((await store.reads.receipt(tenant, 11))?.parents).toEqual([1, 2, 10])
    })

    it('receipts belong to one tenant', async () => {
      const { store, tenant } = subject
      const { tenant: other } = await store.tenant('other')
      const theirs = receipt({ tenant: other, seq: 1, from: BOB, parents: [7] })
      await put(store, [tenant, other], { receipts: [make(1, { parents: [8] }), theirs] })
      expect(await store.reads.receipt(other, 1)).toEqual(theirs)
      expect((await store.reads.receipt(tenant, 1))?.parents).toEqual([8])
      expect(await store.reads.receipts(other, { by: 'all' }, 0, 'ascending', 10)).toEqual([theirs])
      expect(await store.reads.children(other, [8], ['task.assigned'])).toEqual([])
    })

    describe('pages of receipts', () => {
      const all = () =>
        Array.from({ length: 60 }, (_, n) =>
          make(n + 1, {
            to: n % 3 === 0 ? BOB : WORKER,
            task_id: n % 4 === 0 ? null : uuid(n % 4),
            parents: n === 0 ? [] : [n],
          }),
        )
      const paths: [string, ReceiptPath, (one: Receipt) => boolean][] = [
        ['all receipts', { by: 'all' }, () => true],
        ['by addressee', { by: 'to', to: BOB }, (one) => one.to === BOB],
        ['by task', { by: 'task', task_id: uuid(3) }, (one) => one.task_id === uuid(3)],
        ['of an unknown addressee', { by: 'to', to: 'human:absent' }, () => false],
        ['of an unknown task', { by: 'task', task_id: uuid(9) }, () => false],
      ]

      it.each(paths)('pages return every receipt once in both orders: %s', async (_, path, fits) => {
        const { store, tenant } = subject
        await write(...all())
        for (const order of ['ascending', 'descending'] as const) {
          const found: Receipt[] = []
          let from = order === 'ascending' ? 0 : 1_000
          for (;;) {
            const page = await store.reads.receipts(tenant, path, from, order, 7)
            found.push(...page)
            from = page.at(-1)?.seq ?? from
            if (page.length < 7) break
          }
          const expected = all().filter(fits)
          expect(found).toEqual(order === 'ascending' ? expected : expected.reverse())
        }
      })
    })
  })

  describe('children of a receipt', () => {
    it('children are the receipts of the given types that name the parent', async () => {
      const { store, tenant } = subject
      await write(
        make(1),
        make(2),
        make(3, { receipt_type: 'task.accepted', from: WORKER, parents: [1] }),
        make(4, { receipt_type: 'task.completed', from: WORKER, parents: [1, 2] }),
        make(5, { receipt_type: 'receipt.acknowledged', from: BOB, parents: [2] }),
        make(6, { receipt_type: 'task.completed', parents: [5] }),
      )
      const accepted = { parent: 1, seq: 3, receipt_type: 'task.accepted', from: WORKER }
      const completed = (parent: number) => ({
        parent,
        seq: 4,
        receipt_type: 'task.completed',
        from: WORKER,
      })
      const types = ['task.accepted', 'task.completed'] as const
      const found = await store.reads.children(tenant, [1, 2, 77], types)
      expect(found).toHaveLength(3)
      expect(found).toEqual(expect.arrayContaining([accepted, completed(1), completed(2)]))
      expect(await store.reads.children(tenant, [1], ['task.accepted'])).toEqual([accepted])
      expect(await store.reads.children(tenant, [1], ['task.failed'])).toEqual([])
      expect(await store.reads.children(tenant, [], types)).toEqual([])
    })
  })

  describe('receipts of a task', () => {
    const TASK = 1
    const about = (seq: number, over: Partial<Receipt> = {}) => make(seq, { task_id: uuid(TASK), ...over })
    const all = async (order: 'ascending' | 'descending') => {
      const from = order === 'ascending' ? 0 : 1_000
      const path = { by: 'task', task_id: uuid(TASK) } as const
      return subject.store.reads.receipts(subject.tenant, path, from, order, 100)
    }

    it('all receipts of a task are found, however many it has and whenever they were written', async () => {
      const { store, tenant } = subject
      const written = Array.from({ length: 60 }, (_, n) => about(n + 1, { parents: n === 0 ? [] : [1] }))
      await put(store, tenant, {
        inserted: [queued({ tenant, seq: TASK })],
        receipts: written.slice(0, 1),
      })
      for (let n = 1; n < 50; n += 7) {
        const receipts = written.slice(n, Math.min(n + 7, 50))
        await put(store, tenant, { updated: [leased({ tenant, seq: TASK, fence: n })], receipts })
      }
      await put(store, tenant, { finished: [done({ tenant, seq: TASK })], receipts: written.slice(50, 52) })
      await put(store, tenant, { receipts: written.slice(52, 58) })
      await put(store, tenant, { repaired: [done({ tenant, seq: TASK })], receipts: written.slice(58) })
      expect(await all('ascending')).toEqual(written)
      expect(await all('descending')).toEqual(written.toReversed())
      const children = await store.reads.children(tenant, [1], ['task.assigned'])
      expect(children.map(({ seq }) => seq)).toEqual(written.slice(1).map(({ seq }) => seq))
    })

    it('children are found within the task of their parent and in other tasks', async () => {
      const { store, tenant } = subject
      const types = ['task.accepted', 'task.completed', 'task.assigned', 'receipt.acknowledged'] as const
      await put(store, tenant, {
        inserted: [queued({ tenant, seq: TASK })],
        receipts: [about(1)],
      })
      await put(store, tenant, {
        updated: [leased({ tenant, seq: TASK })],
        receipts: [about(2, { receipt_type: 'task.accepted', from: WORKER, parents: [1] })],
      })
      await put(store, tenant, {
        inserted: [queued({ tenant, seq: 3 })],
        receipts: [make(3, { task_id: uuid(3), parents: [1, 2] })],
      })
      await put(store, tenant, {
        finished: [done({ tenant, seq: TASK })],
        receipts: [about(4, { receipt_type: 'task.completed', from: WORKER, parents: [1] })],
      })
      await put(store, tenant, {
        receipts: [about(5, { receipt_type: 'receipt.acknowledged', from: BOB, parents: [4] })],
      })
      const seqs = async (parent: number) =>
        (await store.reads.children(tenant, [parent], types)).map(({ seq }) => seq)
      expect(await seqs(1)).toEqual([2, 3, 4])
      expect(await seqs(2)).toEqual([3])
      expect(await seqs(4)).toEqual([5])
      const found = await look(store, tenant, {
        acknowledgements: [
          { tenant, seq: 4, by: BOB },
          { tenant, seq: 4, by: ALICE },
        ],
      })
      expect(found.acknowledgements).toEqual([{ tenant, seq: 4, by: BOB, acknowledgement: 5 }])
    })
  })

  describe('newest child', () => {
    it('the newest child is found by parent and type, with its body', async () => {
      const { store, tenant } = subject
      const newest = make(5, { receipt_type: 'system.anomaly', schedule_id: 's', parents: [1, 2] })
      const deleted = make(6, { receipt_type: 'schedule.deleted', parents: [1] })
      await write(
        make(1),
        make(2),
        make(3, { receipt_type: 'system.anomaly', parents: [1] }),
        make(4, { receipt_type: 'system.anomaly', parents: [2] }),
        newest,
        deleted,
      )
      const { tenant: other } = await store.tenant('other')
      const ask = (parent: number, receipt_type: Receipt['receipt_type'], of = tenant) => ({
        tenant: of,
        parent,
        receipt_type,
      })
      const found = async (...children: ReturnType<typeof ask>[]) =>
        (await look(store, tenant, { children })).children.sort((a, b) => a.seq - b.seq)
      expect(await found(ask(1, 'system.anomaly'), ask(1, 'schedule.deleted'))).toEqual([newest, deleted])
      expect(await found(ask(2, 'system.anomaly'))).toEqual([newest])
      expect(await found(ask(2, 'schedule.deleted'), ask(9, 'system.anomaly'))).toEqual([])
      expect(await found(ask(1, 'system.anomaly', other))).toEqual([])
    })
  })

  it('receipts are found by their seqs', async () => {
    const { store, tenant } = subject
    const { tenant: other } = await store.tenant('other')
    await write(make(1), make(2, { parents: [1] }), make(3))
    const found = await store.reads.receiptsAt(tenant, [3, 2, 77])
    expect(found.sort((a, b) => a.seq - b.seq)).toEqual([make(2, { parents: [1] }), make(3)])
    expect(await store.reads.receiptsAt(tenant, [])).toEqual([])
    expect(await store.reads.receiptsAt(other, [1])).toEqual([])
  })

  describe('acknowledgements', () => {
    it('an acknowledgement is found by its receipt and author', async () => {
      const { store, tenant } = subject
      await write(
        make(1, { to: BOB }),
        make(2, { to: BOB }),
        make(3, { receipt_type: 'task.accepted', from: BOB, parents: [1] }),
        make(4, { receipt_type: 'receipt.acknowledged', from: BOB, parents: [1] }),
        make(5, { receipt_type: 'receipt.acknowledged', from: ALICE, parents: [1] }),
      )
      const ask = (seq: number, by: PrincipalKey) => ({ tenant, seq, by })
      const asked = [ask(1, BOB), ask(1, ALICE), ask(1, WORKER), ask(2, BOB)]
      const { acknowledgements } = await look(store, tenant, { acknowledgements: asked })
      expect(acknowledgements).toHaveLength(2)
      expect(acknowledgements).toEqual(
        expect.arrayContaining([
          { tenant, seq: 1, by: BOB, acknowledgement: 4 },
          { tenant, seq: 1, by: ALICE, acknowledgement: 5 },
        ]),
      )
    })
  })

  describe('obligations', () => {
    const owed = (seq: number, principal: PrincipalKey = ALICE) => ({
      tenant: subject.tenant,
      principal,
      seq,
      task_id: uuid(seq),
    })
    const open = async (principal: PrincipalKey, after = 0, limit = 100) =>
      (await subject.store.reads.obligations(subject.tenant, principal, after, limit)).map((one) => one.seq)

    it('an obligation is open for each principal until it is closed', async () => {
      const { store, tenant } = subject
      const receipts = [make(1, { parents: [] }), make(2, { parents: [1] }), make(3)]
      await put(store, tenant, { receipts, opened: [owed(1), owed(2), owed(3), owed(2, BOB)] })
      expect(await store.reads.obligations(tenant, ALICE, 0, 100)).toEqual(receipts)
      expect(await open(BOB)).toEqual([2])
      await put(store, tenant, { closed: [owed(2)] })
      expect(await open(ALICE)).toEqual([1, 3])
      expect(await open(BOB)).toEqual([2])
      await put(store, tenant, { closed: [owed(1), owed(3), owed(2, BOB)] })
      expect(await open(ALICE)).toEqual([])
      expect(await open(BOB)).toEqual([])
    })

    it('pages return every obligation once, oldest first', async () => {
      const { store, tenant } = subject
      const numbers = Array.from({ length: 12 }, (_, n) => n + 1)
      await put(store, tenant, {
        receipts: numbers.map((seq) => make(seq)),
        opened: numbers.map((seq) => owed(seq)).reverse(),
      })
      expect(await open(ALICE, 0, 5)).toEqual([1, 2, 3, 4, 5])
      expect(await open(ALICE, 5, 5)).toEqual([6, 7, 8, 9, 10])
      expect(await open(ALICE, 10, 5)).toEqual([11, 12])
      expect(await open(ALICE, 12, 5)).toEqual([])
    })

    it('obligations belong to one tenant', async () => {
      const { store, tenant } = subject
      const { tenant: other } = await store.tenant('other')
      await put(store, [tenant, other], {
        receipts: [make(1), receipt({ tenant: other, seq: 1 })],
        opened: [owed(1), { ...owed(1), tenant: other }],
      })
      await put(store, other, { closed: [{ ...owed(1), tenant: other }] })
      expect(await open(ALICE)).toEqual([1])
      expect(await store.reads.obligations(other, ALICE, 0, 10)).toEqual([])
    })
  })

  describe('relationships', () => {
    it('a relationship is replaced by its latest state', async () => {
      const { store, tenant } = subject
      const first = {
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
      const later = {
        ...first,
        instance_id: 'laptop',
        last_seen_at: NOW + 50,
        sessions_count: 2,
        agent_version: '1.2',
        client_capabilities: canonical({ streaming: true }),
        instances: canonical([['laptop', NOW]]),
      }
      const bob = { ...first, principal: BOB, instance_id: 'x' }
      await put(store, tenant, { relationships: [first, bob] })
      expect(await store.reads.relationship(tenant, ALICE)).toEqual(first)
      await put(store, tenant, { relationships: [later] })
      expect(await store.reads.relationship(tenant, ALICE)).toEqual(later)
      expect(await store.reads.relationship(tenant, WORKER)).toBeUndefined()
      const need = { relationships: [ALICE, BOB, WORKER].map((principal) => ({ tenant, principal })) }
      const { relationships } = await look(store, tenant, need)
      expect(relationships).toHaveLength(2)
      expect(relationships).toEqual(expect.arrayContaining([later, bob]))
      const { tenant: other } = await store.tenant('other')
      expect(await store.reads.relationship(other, ALICE)).toBeUndefined()
    })
  })
}
