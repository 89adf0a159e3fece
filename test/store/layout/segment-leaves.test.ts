import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { receiptId } from '../../../src/core/ids.ts'
import { canonical } from '../../../src/core/json/json.ts'
import type { CommittedReceipt } from '../../../src/core/merkle/leaf.ts'
import { leafText } from '../../../src/core/merkle/leaf.ts'
import { leafHash } from '../../../src/core/merkle/tree.ts'
import { type PrincipalKey, parsePrincipalKey } from '../../../src/core/principal.ts'
import { RECEIPT_TYPES, type Receipt } from '../../../src/core/receipt.ts'
import { isoTime } from '../../../src/core/time.ts'
import { runsOf } from '../../../src/store/layout/segment-leaves.ts'
import { OpenSegment, type Segment, segmentsOf } from '../../../src/store/layout/segments.ts'
import { seededRandom } from '../../../src/util/random.ts'
import { ALICE, NOW, receipt, uuid, WEIRD_TEXTS, WORKER } from '../../support/fixtures.ts'
import { at } from '../../support/steps.ts'

const RANDOM = seededRandom(1)
const principals = fc.constantFrom(ALICE, WORKER, ...WEIRD_TEXTS.map((text): PrincipalKey => `human:${text}`))
const tenants = fc.constantFrom('default', 'a "quoted" tenant', ...WEIRD_TEXTS)
const salt = '8123-0123456789ab'

const receipts = fc
  .array(
    fc.record({
      receipt_type: fc.constantFrom(...RECEIPT_TYPES),
      from: principals,
      to: principals,
      task_id: fc.constantFrom(null, uuid(1), uuid(2)),
      lease_id: fc.constantFrom(null, uuid(3)),
      schedule_id: fc.constantFrom(null, 'nightly', ...WEIRD_TEXTS),
      parents: fc.uniqueArray(fc.integer({ min: 1, max: 1_000_000 }), { maxLength: 4 }),
      body: fc
        .constantFrom({}, { n: 1 }, { text: 'a b =0 - 1' }, ...WEIRD_TEXTS)
        .map((body) => canonical(body)),
    }),
    { minLength: 1, maxLength: 30 },
  )
  .map((drafts) =>
    drafts.map(
      ({ parents, ...draft }, i): Receipt =>
        receipt({ tenant: 1, seq: 40 + i, parents: parents.sort((a, b) => a - b), ...draft }),
    ),
  )

/** The leaf as the documentation defines it. */
function documentedLeaf(tenant: string, { receipt: logged, commitment }: CommittedReceipt): string {
  return canonical({
    asyncgate_instance: logged.instance,
    body_commitment: commitment,
    created_at: isoTime(logged.created_at),
    from: parsePrincipalKey(logged.from),
    lease_id: logged.lease_id,
    parents: logged.parents.map((parent) => receiptId(salt, parent)),
    receipt_id: receiptId(salt, logged.seq),
    receipt_type: logged.receipt_type,
    schedule_id: logged.schedule_id,
    seq: logged.seq,
    task_id: logged.task_id,
    tenant_id: tenant,
    to: parsePrincipalKey(logged.to),
  })
}

function hashesOf(segments: readonly Segment[], name: string, after = 0): string {
  return runsOf(segments, { name, salt }, after)
    .map(({ hashes }) => hashes.toString('hex'))
    .join('')
}

describe('the leaves of a segment', () => {
  it('are the RFC 8785 texts of its receipts, before and after an erasure', () => {
    fc.assert(
      fc.property(
        receipts,
        tenants,
        fc.constantFrom(1, 100_000),
        fc.nat(30),
        (written, name, length, after) => {
          const segments = segmentsOf(written, length, RANDOM)
          const open = segments.map((segment) => new OpenSegment(segment))
          const committed = written.map(({ seq }) => {
            const found = open.find((each) => each.has(1, seq))?.committed(seq)
            if (found === undefined) throw new Error(`there is no receipt ${seq}`)
            return found
          })
          const texts = committed.map((each) => documentedLeaf(name, each))
          expect(committed.map((each) => leafText({ name, salt }, each))).toEqual(texts)
          const expected = texts.map((text) => leafHash(text).toString('hex'))
          expect(hashesOf(segments, name)).toBe(expected.join(''))
          expect(hashesOf(segments, name, 39 + after)).toBe(expected.slice(after).join(''))
          const erased = open.map((each, i) => each.without(() => true, NOW)?.segment ?? at(segments, i))
          expect(hashesOf(erased, name)).toBe(expected.join(''))
        },
      ),
    )
  })

  it('change with every byte of its text, or the text is refused', () => {
    const written = [1, 2, 3].map((seq) =>
      receipt({ tenant: 1, seq, parents: seq === 3 ? [1, 2] : [], body: canonical({ text: `b${seq % 2}` }) }),
    )
    const [whole] = segmentsOf(written, 100_000, RANDOM)
    if (whole === undefined) throw new Error('there is no segment')
    const erased = new OpenSegment(whole).without(({ seq }) => seq === 2, NOW)?.segment ?? whole
    for (const segment of [whole, erased]) {
      const before = hashesOf([segment], 'default')
      const text = segment.receipts
      const unnoticed: string[] = []
      for (let i = 0; i < text.length; i++) {
        for (const bit of [1, 2, 4, 8, 16, 32, 64]) {
          const changed = text.slice(0, i) + String.fromCharCode(text.charCodeAt(i) ^ bit) + text.slice(i + 1)
          try {
            if (hashesOf([{ ...segment, receipts: changed }], 'default') === before) unnoticed.push(changed)
          } catch {
            // Refused.
          }
        }
      }
      // Of an erased body only the commitment is logged: the time of the erasure and the names of members are not.
      const logged = unnoticed.filter(
        (changed) => changed.replace(/~[^\n]*/, '') !== text.replace(/~[^\n]*/, ''),
      )
      expect(logged).toEqual([])
    }
  })
})
