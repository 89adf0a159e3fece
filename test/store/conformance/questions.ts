import { describe, expect, it } from 'vitest'
import { canonical } from '../../../src/core/json/json.ts'
import type { Question } from '../../../src/core/question.ts'
import {
  counters,
  done,
  look,
  NOW,
  parked,
  put,
  question,
  queued,
  spec,
  uuid,
  WEIRD_TEXTS,
} from '../../support/fixtures.ts'
import type { Subject } from '../conformance.ts'

const DECIDED = {
  state: 'approved',
  decided_by: 'human:root',
  decided_at: NOW + 5,
  decided_seq: 12,
  answer: canonical({ comment: 'yes' }),
} as const satisfies Partial<Question>

export function describeQuestions(subject: Subject): void {
  describe('questions', () => {
    const load = async (...seqs: number[]) => {
      const refs = seqs.map((seq) => ({ tenant: subject.tenant, task_id: uuid(seq) }))
      return (await look(subject.store, subject.tenant, { questions: refs })).questions
    }

    it.each<[string, Partial<Question>]>([
      ['open', {}],
      ['of a rule', { lease_id: null, asked_by: 'service:asyncgate', not_before: NOW + 9 }],
      ['with an expiry', { expires_at: NOW + 60_000 }],
      ['for input', { kind: 'input', request: canonical({ message: 'Which?', schema: { type: 'object' } }) }],
      ['decided', DECIDED],
      ['that expired', { ...DECIDED, state: 'expired', answer: null }],
      ['with weird texts', { request: canonical(WEIRD_TEXTS) }],
    ])('a question is returned as stored: %s', async (_, over) => {
      const { store, tenant } = subject
      const stored = question({ tenant, seq: 1, ...over })
      const rest = [question({ tenant, seq: 7, task_id: uuid(1), n: 2 }), question({ tenant, seq: 3 })]
      await put(store, tenant, { asked: [...rest, stored] })
      expect(await load(1)).toEqual([stored, rest[0]])
      expect(await load(3, 4)).toEqual([rest[1]])
    })

    it('only an open question can be decided, and only once', async () => {
      const { store, tenant } = subject
      const asked = question({ tenant, seq: 1 })
      await put(store, tenant, { asked: [asked, question({ tenant, seq: 2 })] })
      const decided = { ...asked, ...DECIDED }
      await put(store, tenant, { decided: [decided] })
      expect(await load(1)).toEqual([decided])
      expect(await load(2)).toMatchObject([{ state: 'open' }])
      const other = { ...asked, ...DECIDED, state: 'denied' } as const
      await expect(put(store, tenant, { decided: [other] })).rejects.toMatchObject({ reason: 'refused' })
      await expect(put(store, tenant, { decided: [{ ...other, n: 2 }] })).rejects.toMatchObject({
        reason: 'refused',
      })
      expect(await load(1)).toEqual([decided])
    })

    it('a question can be asked and decided in one commit', async () => {
      const { store, tenant } = subject
      const decided = question({ tenant, seq: 1, ...DECIDED })
      await put(store, tenant, { asked: [decided] })
      expect(await load(1)).toEqual([decided])
    })

    it.each<[string, Partial<Question>]>([
      ['an unknown kind', { kind: 'riddle' as Question['kind'] }],
      ['an unknown state', { state: 'pondered' as Question['state'] }],
      ['a decision without an author', { ...DECIDED, decided_by: null }],
      ['a decision without a time', { ...DECIDED, decided_at: null }],
      ['a decision without a receipt', { ...DECIDED, decided_seq: null }],
      ['an answer although it is open', { answer: canonical({}) }],
    ])('a question with %s is refused', async (_, over) => {
      const { store, tenant } = subject
      await expect(
        put(store, tenant, { asked: [question({ tenant, seq: 1, ...over })] }),
      ).rejects.toMatchObject({
        reason: 'refused',
      })
    })

    it('questions are returned with their own task only', async () => {
      const { store, tenant } = subject
      const { tenant: other } = await store.tenant('other')
      const asked = [
        question({ tenant, seq: 4, task_id: uuid(1), n: 1, ...DECIDED }),
        question({ tenant, seq: 5, task_id: uuid(1), n: 2, kind: 'input' }),
        question({ tenant, seq: 6, task_id: uuid(2), ...DECIDED }),
        question({ tenant: other, seq: 1, task_id: uuid(1) }),
      ]
      const [first, second, third] = asked
      const waiting = parked({ tenant, seq: 1, status: 'input_required', question_count: 2, expires_at: NOW })
      await put(store, [tenant, other], {
        inserted: [waiting, queued({ tenant, seq: 3 })],
        finished: [done({ tenant, seq: 2, question_count: 1 })],
        specs: [1, 2, 3].map((seq) => spec({ tenant, seq, policy: canonical({ action: 'ALLOW' }) })),
        asked,
      })
      const records = await store.reads.tasks(tenant, [uuid(1), uuid(2), uuid(3)])
      const byId = new Map(records.map((record) => [record.task.task_id, record]))
      expect(byId.get(uuid(1))).toMatchObject({ task: waiting, questions: [first, second] })
      expect(byId.get(uuid(2))).toMatchObject({ task: { question_count: 1 }, questions: [third] })
      expect(byId.get(uuid(3))).toMatchObject({ questions: [], spec: { policy: '{"action":"ALLOW"}' } })
    })

    it('a commit returns the requested questions, including those it decides', async () => {
      const { store, tenant } = subject
      const asked = question({ tenant, seq: 1 })
      await put(store, tenant, { asked: [asked, question({ tenant, seq: 2 })] })
      const committed = await put(store, tenant, {
        decided: [{ ...asked, ...DECIDED }],
        answered: [{ tenant, task_id: uuid(1) }],
      })
      expect(committed.questions).toEqual([{ ...asked, ...DECIDED }])
    })

    it('questions are listed by kind, all or open, in both orders', async () => {
      const { store, tenant } = subject
      const { tenant: other } = await store.tenant('other')
      const asked = Array.from({ length: 12 }, (_, i) => {
        const seq = i + 1
        const kind = seq % 3 === 0 ? 'input' : 'approval'
        return question({ tenant, seq, kind, ...(seq % 2 === 0 && DECIDED) })
      })
      await put(store, [tenant, other], { asked: [...asked, question({ tenant: other, seq: 1 })] })
      const seqs = async (...[kind, which, from, order, limit]: Listing) =>
        (await store.reads.questions(tenant, kind, which, from, order, limit)).map(({ seq }) => seq)
      expect(await seqs('approval', 'all', 0, 'ascending', 99)).toEqual([1, 2, 4, 5, 7, 8, 10, 11])
      expect(await seqs('approval', 'open', 0, 'ascending', 99)).toEqual([1, 5, 7, 11])
      expect(await seqs('approval', 'open', 5, 'ascending', 1)).toEqual([7])
      expect(await seqs('approval', 'all', 10, 'descending', 3)).toEqual([8, 7, 5])
      expect(await seqs('approval', 'open', 7, 'descending', 9)).toEqual([5, 1])
      expect(await seqs('input', 'all', 0, 'ascending', 99)).toEqual([3, 6, 9, 12])
      expect(await seqs('input', 'open', 99, 'descending', 99)).toEqual([9, 3])
      expect(await store.reads.openQuestions(tenant)).toEqual({ approval: 4, input: 2 })
      expect(await store.reads.openQuestions(other)).toEqual({ approval: 1, input: 0 })
    })

    it('a task is due when its question expires', async () => {
      const { store, tenant, ref } = subject
      await put(store, tenant, {
        tenants: [counters(ref, { open_tasks: 3 })],
        inserted: [
          parked({ tenant, seq: 1, expires_at: 1 }),
          parked({ tenant, seq: 2 }),
          parked({ tenant, seq: 3, expires_at: Date.UTC(2999, 0, 1) }),
        ],
      })
      expect(await store.due(10)).toEqual([{ tenant, task_id: uuid(1) }])
    })

    it('a task cannot be parked without a question', async () => {
      const { store, tenant } = subject
      const inserted = [parked({ tenant, seq: 1, question_count: 0 })]
      await expect(put(store, tenant, { inserted })).rejects.toMatchObject({ reason: 'refused' })
    })
  })
}

type Listing = [
  kind: 'approval' | 'input',
  which: 'all' | 'open',
  from: number,
  order: 'ascending' | 'descending',
  limit: number,
]
