import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { commitmentOf } from '../../../src/core/commitment.ts'
import { canonical } from '../../../src/core/json/json.ts'
import { RECEIPT_TYPES, type Receipt } from '../../../src/core/receipt.ts'
import { OpenSegment, segmentsOf } from '../../../src/store/layout/segments.ts'
import { seededRandom } from '../../../src/util/random.ts'
import { ALICE, BOB, NOW, receipt, uuid, WEIRD_TEXTS, WORKER } from '../../support/fixtures.ts'

const RANDOM = seededRandom(1)

const BODIES = [canonical({}), canonical({ n: 1 }), canonical({ text: 'a b\n=0 - 1' }), canonical({ '': [] })]

const principals = fc.constantFrom(ALICE, BOB, WORKER, ...WEIRD_TEXTS.map((text) => `human:${text}` as const))

const receipts = fc
  .array(
    fc.record({
      receipt_type: fc.constantFrom(...RECEIPT_TYPES),
      from: principals,
      to: principals,
      task_id: fc.constantFrom(null, uuid(1), uuid(2)),
      lease_id: fc.constantFrom(null, uuid(3)),
      schedule_id: fc.constantFrom(null, 'nightly', ...WEIRD_TEXTS),
      parents: fc.uniqueArray(fc.nat(1_000_000), { maxLength: 10 }),
      body: fc.constantFrom(...BODIES),
      gap: fc.constantFrom(0, 0, 0, 1),
      created_at: fc.constantFrom(NOW, NOW, NOW, NOW + 1),
      instance: fc.constantFrom('a', 'a', 'b'),
    }),
    { maxLength: 40 },
  )
  .map((drafts) => {
    let seq = 0
    return drafts.map(({ gap, parents, ...draft }): Receipt => {
      seq += 1 + gap
      return receipt({ tenant: 1, seq, parents: parents.sort((a, b) => a - b), ...draft })
    })
  })

describe('segments of the ledger', () => {
  it('segments return every receipt as it was written', () => {
    fc.assert(
      fc.property(receipts, fc.constantFrom(1, 200, 100_000), (written, maxLength) => {
        const segments = segmentsOf(written, maxLength, RANDOM).map((row) => new OpenSegment(row))
        expect(segments.flatMap((segment) => [...segment.after(0)])).toEqual(written)
        const backwards = segments
          .toReversed()
          .flatMap((segment) => [...segment.before(Number.MAX_SAFE_INTEGER)])
        expect(backwards).toEqual(written.toReversed())
        for (const one of written) {
          const segment = segments.find((each) => each.has(1, one.seq))
          expect(segment?.at(one.seq)).toEqual(one)
          expect(segments.some((each) => each.has(2, one.seq))).toBe(false)
        }
      }),
    )
  })

  it('receipts of one commit form one segment until it has the maximum length', () => {
    const written = Array.from({ length: 100 }, (_, n) =>
      receipt({ tenant: 1, seq: n + 1, task_id: uuid(n), body: canonical({ text: 'x'.repeat(100), n }) }),
    )
    expect(segmentsOf(written, 1_000_000, RANDOM)).toHaveLength(1)
    const segments = segmentsOf(written, 4_000, RANDOM)
    expect(segments.length).toBeGreaterThan(3)
    for (const { receipts: text } of segments) expect(text.length).toBeLessThan(4_400)
  })

  it('a body that is written again takes a few characters', () => {
    const make = (seq: number) => receipt({ tenant: 1, seq, body: canonical({ text: 'x'.repeat(1_000) }) })
    const [once] = segmentsOf([make(1)], 100_000, RANDOM)
    const [twice] = segmentsOf([make(1), make(2)], 100_000, RANDOM)
    expect((twice?.receipts.length ?? 0) - (once?.receipts.length ?? 0)).toBeLessThan(30)
  })

  it('a receipt that names what its segment does not have is an error', () => {
    const [row] = segmentsOf([receipt({ tenant: 1, seq: 1 })], 100, RANDOM)
    if (row === undefined) throw new Error('there is no segment')
    const broken = new OpenSegment({ ...row, receipts: row.receipts.replace(/^.*\n/, '[] 00\n') })
    expect(() => broken.at(1)).toThrow('which its segment does not have')
  })

  it('erased bodies leave commitments, and everything else stays as it was', () => {
    const selections = fc.array(fc.nat(40), { maxLength: 10 })
    fc.assert(
      fc.property(receipts, selections, selections, (written, first, second) => {
        for (const row of segmentsOf(written, 100_000, RANDOM)) {
          const original = new OpenSegment(row)
          let open = original
          for (const seqs of [first, second]) {
            const erased = open.without(({ seq }) => seqs.includes(seq), NOW)
            if (erased !== undefined) open = new OpenSegment(erased.segment)
          }
          for (const { body, ...one } of original.after(0)) {
            const salt = original.salt(one.seq) ?? ''
            if (first.includes(one.seq) || second.includes(one.seq)) {
              const left = { commitment: commitmentOf(salt, body), erased_at: new Date(NOW).toISOString() }
              expect(open.at(one.seq)).toEqual({ ...one, body: canonical(left), erased: true })
              expect(open.salt(one.seq)).toBeUndefined()
            } else {
              expect(open.at(one.seq)).toEqual({ ...one, body })
              expect(open.salt(one.seq)).toBe(salt)
            }
          }
        }
      }),
    )
  })

  it('an erased segment contains neither the body nor what its salt was derived from', () => {
    const secret = canonical({ text: 'a secret of Alice' })
    const written = [1, 2].map((seq) => receipt({ tenant: 1, seq, body: seq === 1 ? secret : canonical({}) }))
    const [row] = segmentsOf(written, 100_000, RANDOM)
    if (row === undefined) throw new Error('there is no segment')
    const salts = /\] (\w+)\n/.exec(row.receipts)?.[1] ?? ''
    const text = new OpenSegment(row).without(({ seq }) => seq === 1, NOW)?.segment.receipts
    expect(salts).toHaveLength(36)
    expect(text).not.toContain(salts)
    expect(text).not.toContain('secret of Alice')
  })

  it('erasing again changes nothing', () => {
    const [row] = segmentsOf([receipt({ tenant: 1, seq: 1 })], 100, RANDOM)
    if (row === undefined) throw new Error('there is no segment')
    const once = new OpenSegment(row).without(() => true, NOW)
    if (once === undefined) throw new Error('nothing was erased')
    expect(new OpenSegment(once.segment).without(() => true, NOW + 1)).toBeUndefined()
  })

  it('equal bodies have different commitments', () => {
    const [row] = segmentsOf(
      [1, 2].map((seq) => receipt({ tenant: 1, seq })),
      100_000,
      RANDOM,
    )
    if (row === undefined) throw new Error('there is no segment')
    const erased = new OpenSegment(row).without(() => true, NOW)
    if (erased === undefined) throw new Error('nothing was erased')
    const bodies = [...new OpenSegment(erased.segment).after(0)].map(({ body }) => body)
    expect(new Set(bodies).size).toBe(2)
  })
})
