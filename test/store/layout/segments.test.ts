import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonical } from '../../../src/core/json/json.ts'
import { RECEIPT_TYPES, type Receipt } from '../../../src/core/receipt.ts'
import { OpenSegment, segmentsOf } from '../../../src/store/layout/segments.ts'
import { ALICE, BOB, NOW, receipt, uuid, WEIRD_TEXTS, WORKER } from '../../support/fixtures.ts'

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
        const segments = segmentsOf(written, maxLength).map((row) => new OpenSegment(row))
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
    expect(segmentsOf(written, 1_000_000)).toHaveLength(1)
    const segments = segmentsOf(written, 4_000)
    expect(segments.length).toBeGreaterThan(3)
    for (const { receipts: text } of segments) expect(text.length).toBeLessThan(4_400)
  })

  it('a body that is written again takes a few characters', () => {
    const make = (seq: number) => receipt({ tenant: 1, seq, body: canonical({ text: 'x'.repeat(1_000) }) })
    const [once] = segmentsOf([make(1)], 100_000)
    const [twice] = segmentsOf([make(1), make(2)], 100_000)
    expect((twice?.receipts.length ?? 0) - (once?.receipts.length ?? 0)).toBeLessThan(30)
  })

  it('a receipt that names what its segment does not have is an error', () => {
    const [row] = segmentsOf([receipt({ tenant: 1, seq: 1 })], 100)
    if (row === undefined) throw new Error('there is no segment')
    const broken = new OpenSegment({ ...row, receipts: row.receipts.replace(/^.*\n/, '[]\n') })
    expect(() => broken.at(1)).toThrow('which its segment does not have')
  })
})
