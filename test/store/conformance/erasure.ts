import { describe, expect, it } from 'vitest'
import { canonical } from '../../../src/core/json/json.ts'
import type { Receipt } from '../../../src/core/receipt.ts'
import {
  ALICE,
  BOB,
  done,
  NOW,
  outcome,
  progress,
  put,
  question,
  receipt,
  spec,
  uuid,
} from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

const SECRET = canonical({ secret: 'of Alice' })
const ERASED_AT = new Date(NOW).toISOString()

export function describeErasure(subject: Subject): void {
  describe('erasure', () => {
    const written = (seq: number, from: Receipt['from'], tenant = subject.tenant) =>
      receipt({ tenant, seq, from, body: SECRET })
    const ofAlice = ({ from }: Receipt) => from === ALICE
    const receipts = (tenant = subject.tenant) =>
      subject.store.reads.receipts(tenant, { by: 'all' }, 0, 'ascending', 100)

    it('bodies of selected receipts are erased, and nothing else of the ledger changes', async () => {
      const { store, tenant } = subject
      for (const seq of [1, 3, 5]) {
        await put(store, tenant, { receipts: [written(seq, ALICE), written(seq + 1, BOB)] })
      }
      const before = await receipts()
      const first = await store.erasure.receipts(tenant, 0, 2, ofAlice, NOW)
      expect(first).toMatchObject({ next: 3, erased: 2 })
      const last = await store.erasure.receipts(tenant, 3, 2, ofAlice, NOW)
      expect(last).toMatchObject({ next: null, erased: 1 })
      await subject.reopen()
      const after = await receipts()
      expect(after.filter(ofAlice).map(({ erased, body }) => [erased, JSON.parse(body).erased_at])).toEqual(
        Array(3).fill([true, ERASED_AT]),
      )
      expect(after.filter((one) => !ofAlice(one))).toEqual(before.filter((one) => !ofAlice(one)))
      const withoutBodies = (list: readonly Receipt[]) => list.map(({ body: _, erased: __, ...rest }) => rest)
      expect(withoutBodies(after)).toEqual(withoutBodies(before))
      const size = (list: readonly Receipt[]) => list.reduce((sum, { body }) => sum + body.length, 0)
      expect(first.bytes + last.bytes).toBe(size(before) - size(after))
    })

    it('erasing receipts again changes nothing', async () => {
      const { store, tenant } = subject
      await put(store, tenant, { receipts: [written(1, ALICE)] })
      await store.erasure.receipts(tenant, 0, 10, ofAlice, NOW)
      const once = await receipts()
      expect(await store.erasure.receipts(tenant, 0, 10, ofAlice, NOW + 1)).toEqual({
        next: null,
        erased: 0,
        bytes: 0,
      })
      expect(await receipts()).toEqual(once)
    })

    it('two erasures of one row at the same time both take effect', async () => {
      const { store, tenant } = subject
      await put(store, tenant, { receipts: [1, 2, 3, 4].map((seq) => written(seq, seq % 2 ? ALICE : BOB)) })
      const erase = (who: Receipt['from']) =>
        store.erasure.receipts(tenant, 0, 10, ({ from }) => from === who, NOW)
      await Promise.all([erase(ALICE), erase(BOB)])
      expect((await receipts()).every(({ erased }) => erased)).toBe(true)
    })

    it('receipts of another tenant are not erased', async () => {
      const { store, tenant } = subject
      const another = (await store.tenant('another')).tenant
      await put(store, tenant, { receipts: [written(1, ALICE)] })
      await put(store, another, { receipts: [written(1, ALICE, another)] })
      await store.erasure.receipts(tenant, 0, 10, ofAlice, NOW)
      expect(await receipts(another)).toEqual([written(1, ALICE, another)])
    })

    it('an erased task keeps its state and loses its contents', async () => {
      const { store, tenant } = subject
      const task = done({
        tenant,
        seq: 1,
        question_count: 2,
        progress_count: 1,
        outcome: outcome({ result: SECRET, artifacts: canonical([1]) }),
      })
      const asked = spec({ tenant, seq: 1, input: SECRET, labels: SECRET })
      const other = spec({ tenant, seq: 2, input: SECRET, labels: SECRET })
      const questions = [
        question({ tenant, seq: 1, request: SECRET, content_hash: 'x' }),
        question({ tenant, seq: 1, n: 2, kind: 'input', request: SECRET }),
      ]
      await put(store, tenant, {
        specs: [asked, other],
        finished: [task, done({ tenant, seq: 2, outcome: outcome({ result: SECRET }) })],
        progress: [progress(tenant, uuid(1), 1), progress(tenant, uuid(2), 1)],
        asked: questions,
      })
      const { logs, reads, erasure } = store
      const line = { at: NOW, lease_id: uuid(9), level: 'info', text: 'secret', context: SECRET } as const
      await logs.add([{ tenant, task_id: uuid(1), n: 1, total: 1, is_last: false, ...line }])
      const untouched = await reads.task(tenant, uuid(2))

      await erasure.task(task, asked, NOW)
      const found = await reads.task(tenant, uuid(1))
      expect(JSON.stringify(found)).not.toContain('of Alice')
      expect(found?.task).toEqual({
        ...task,
        outcome: {
          ...task.outcome,
          result: canonical({ erased_at: ERASED_AT }),
          artifacts: null,
          delivery_proof: null,
        },
      })
      expect(found?.spec).toMatchObject({ type: asked.type, labels: null, created_at: asked.created_at })
      expect(found?.progress).toBeNull()
      expect(found?.questions).toMatchObject([
        { request: canonical({ erased_at: ERASED_AT, title: 'Erased' }), content_hash: null },
        { request: canonical({ erased_at: ERASED_AT, message: 'Erased' }) },
      ])
      expect(await logs.list(tenant, uuid(1), 0, 10)).toEqual([])
      expect(await reads.task(tenant, uuid(2))).toEqual(untouched)
    })

    it('an erased error says that it was erased', async () => {
      const { store, tenant } = subject
      const failed = done({
        tenant,
        seq: 1,
        status: 'failed',
        outcome: outcome({ result: null, error: SECRET }),
      })
      const asked = spec({ tenant, seq: 1 })
      await put(store, tenant, { specs: [asked], finished: [failed] })
      await store.erasure.task(failed, asked, NOW)
      const found = await store.reads.task(tenant, uuid(1))
      expect(found?.task).toMatchObject({
        status: 'failed',
        outcome: { result: null, error: canonical({ erased_at: ERASED_AT, message: 'erased' }) },
      })
    })

    it('the relationship of a principal is removed', async () => {
      const { store, tenant } = subject
      const relationship = (principal: Receipt['from']) => ({
        tenant,
        principal,
        instance_id: null,
        first_seen_at: NOW,
        last_seen_at: NOW,
        sessions_count: 1,
        agent_version: null,
        client_capabilities: null,
        instances: null,
      })
      await put(store, tenant, { relationships: [relationship(ALICE), relationship(BOB)] })
      await store.erasure.relationship(tenant, ALICE)
      expect(await store.reads.relationship(tenant, ALICE)).toBeUndefined()
      expect(await store.reads.relationship(tenant, BOB)).toBeDefined()
    })
  })
}
