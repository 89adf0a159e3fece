import { erasedBody, storedCommitment } from '../../core/commitment.ts'
import type { CanonicalJson } from '../../core/json/json.ts'
import type { CommittedReceipt } from '../../core/merkle/leaf.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { Receipt, ReceiptType } from '../../core/receipt.ts'
import type { Random } from '../../util/random.ts'
import { ERASED, LISTED, NONE, SALT_BYTES, SAME, SegmentText } from './segment-text.ts'

/**
 * A row of `ledger`: receipts of a tenant with consecutive seqs that one commit wrote. One row instead of one per
 * receipt, since rows and index entries are what a commit costs.
 *
 * The text has a line for the names that occur, a JSON array, and the salts; and a line for each receipt: the places of
 * its type, sender, addressee, task, lease and schedule in that array, its parents, and its body. RFC 8785 texts contain
 * no line breaks. A body that the segment has already is replaced by a reference to its line: those of a batch are often
 * equal.
 *
 * Every receipt has a secret salt. The salts are derived from one random text of their segment, until the body of a receipt of the
 * segment is erased: then the others keep their salts in a list, and the random text is gone with that of the erased one.
 */
export interface Segment {
  readonly tenant: number
  /** The seq of the first receipt. */
  readonly first: number
  readonly created_at: number
  readonly instance: string
  readonly receipts: string
}

/** The segments for receipts in the order of their seqs. A segment ends when its text has `maxLength` characters. */
export function segmentsOf(receipts: readonly Receipt[], maxLength: number, random: Random): Segment[] {
  const segments: Segment[] = []
  let start = 0
  while (start < receipts.length) {
    const writer = new SegmentWriter()
    let end = start
    do {
      const receipt = receipts[end++] as Receipt
      writer.add(receipt, receipt.erased ? ERASED + receipt.body : receipt.body)
    } while (
      end < receipts.length &&
      writer.length < maxLength &&
      continues(receipts[end - 1], receipts[end])
    )
    const { tenant, seq, created_at, instance } = receipts[start] as Receipt
    const salts = isRestored(receipts[start]) ? saltsOf(receipts.slice(start, end)) : random.hex(SALT_BYTES)
    segments.push({ tenant, first: seq, created_at, instance, receipts: writer.text(salts) })
    start = end
  }
  return segments
}

function continues(before: Receipt | undefined, after: Receipt | undefined): boolean {
  return (
    before !== undefined &&
    after !== undefined &&
    after.seq === before.seq + 1 &&
    after.tenant === before.tenant &&
    after.created_at === before.created_at &&
    after.instance === before.instance &&
    isRestored(after) === isRestored(before)
  )
}

/** Whether the receipt comes from another database, with its salt or with what was left of it by an erasure. */
function isRestored(receipt: Receipt | undefined): boolean {
  return receipt?.salt !== undefined || receipt?.erased === true
}

function saltsOf(receipts: readonly Receipt[]): string {
  return receipts.map(({ salt = NONE }) => LISTED + salt).join('')
}

class SegmentWriter {
  /** Number of characters, up to a few. */
  length = 0
  readonly #places = new Map<string, number>()
  readonly #bodies = new Map<string, number>()
  #count = 0
  #lines = ''

  add(receipt: Receipt, body: string = receipt.body): void {
    const { receipt_type, from, to, task_id, lease_id, schedule_id, parents } = receipt
    const before = this.#lines.length
    this.#lines += `\n${this.#place(receipt_type)} ${this.#place(from)} ${this.#place(to)} ${this.#placeOf(task_id)} ${this.#placeOf(lease_id)} ${this.#placeOf(schedule_id)} ${listOf(parents)} ${this.#body(body)}`
    this.length += this.#lines.length - before
    this.#count++
  }

  text(salts: string): string {
    return `${JSON.stringify([...this.#places.keys()])} ${salts}${this.#lines}`
  }

  #body(body: string): string {
    const line = this.#bodies.get(body)
    if (line !== undefined) return SAME + line
    this.#bodies.set(body, this.#count)
    return body
  }

  #placeOf(name: string | null): number | string {
    return name === null ? NONE : this.#place(name)
  }

  #place(name: string): number {
    const known = this.#places.get(name)
    if (known !== undefined) return known
    const place = this.#places.size
    this.#places.set(name, place)
    this.length += name.length + 3
    return place
  }
}

/** Parents are a set: they are kept in ascending order and once each. */
function listOf(parents: readonly number[]): string {
  if (parents.length === 0) return NONE
  if (parents.length === 1) return String(parents[0])
  return [...new Set(parents)].sort((a, b) => a - b).join()
}

/** A segment whose receipts can be read one by one. */
export class OpenSegment {
  readonly first: number
  readonly last: number
  readonly #segment: Segment
  readonly #text: SegmentText

  constructor(segment: Segment) {
    this.#segment = segment
    this.#text = new SegmentText(segment.receipts)
    this.first = segment.first
    this.last = segment.first + this.#text.count - 1
  }

  has(tenant: number, seq: number): boolean {
    return this.#segment.tenant === tenant && this.first <= seq && seq <= this.last
  }

  /** The receipt of a seq from `first` to `last`. */
  at(seq: number): Receipt {
    const { tenant, created_at, instance } = this.#segment
    const text = this.#text
    text.select(seq - this.first)
    const isErased = text.isErased()
    const receipt: Receipt = {
      tenant,
      seq,
      // Each place was written by `segmentsOf`, so the names are of these types.
      receipt_type: text.name(text.type) as ReceiptType,
      created_at,
      from: text.name(text.from) as PrincipalKey,
      to: text.name(text.to) as PrincipalKey,
      task_id: text.nameOrNull(text.task),
      lease_id: text.nameOrNull(text.lease),
      schedule_id: text.nameOrNull(text.schedule),
      parents: text.parents(),
      body: text.body() as CanonicalJson,
      instance,
    }
    return isErased ? { ...receipt, erased: true } : receipt
  }

  /** The secret salt of a receipt; undefined if its body is erased. */
  salt(seq: number): string | undefined {
    return this.#text.salt(seq - this.first)
  }

  /** The receipt of a seq with the commitment to its body; undefined if the segment does not have it. */
  committed(seq: number): CommittedReceipt | undefined {
    if (!this.has(this.#segment.tenant, seq)) return undefined
    const [receipt, salt] = [this.at(seq), this.salt(seq)]
    return { receipt, commitment: storedCommitment(salt, receipt.body), salt }
  }

  /**
   * The segment without the bodies of the receipts that `isSelected` accepts; undefined if it has none of them. What
   * stays of a body is a commitment to it.
   */
  without(isSelected: (receipt: Receipt) => boolean, now: number): Erased | undefined {
    const writer = new SegmentWriter()
    let salts = ''
    let [count, bytes] = [0, 0]
    for (const receipt of this.after(this.first - 1)) {
      const salt = this.salt(receipt.seq)
      if (salt === undefined || !isSelected(receipt)) {
        salts += LISTED + (salt ?? NONE)
        writer.add(receipt, this.#text.storedBody(receipt.seq - this.first))
        continue
      }
      const body = erasedBody(salt, receipt.body, now)
      count++
      bytes += Buffer.byteLength(receipt.body) - Buffer.byteLength(body)
      salts += LISTED + NONE
      writer.add(receipt, ERASED + body)
    }
    if (count === 0) return undefined
    return { segment: { ...this.#segment, receipts: writer.text(salts) }, count, bytes }
  }

  /**
   * What is left without the receipts of these seqs: a segment for each run of consecutive receipts. Each has its own
   * list of salts, so that no segment contains what the salts of another one are derived from.
   */
  except(seqs: ReadonlySet<number>): Segment[] {
    const segments: Segment[] = []
    for (let seq = this.first; seq <= this.last; seq++) {
      if (seqs.has(seq)) continue
      const first = seq
      const writer = new SegmentWriter()
      let salts = ''
      for (; seq <= this.last && !seqs.has(seq); seq++) {
        salts += LISTED + (this.salt(seq) ?? NONE)
        writer.add(this.at(seq), this.#text.storedBody(seq - this.first))
      }
      segments.push({ ...this.#segment, first, receipts: writer.text(salts) })
    }
    return segments
  }

  /** Those from above `from` in ascending order. */
  *after(from: number): Generator<Receipt> {
    for (let seq = Math.max(this.first, from + 1); seq <= this.last; seq++) yield this.at(seq)
  }

  /** Those from below `from` in descending order. */
  *before(from: number): Generator<Receipt> {
    for (let seq = Math.min(this.last, from - 1); seq >= this.first; seq--) yield this.at(seq)
  }
}

interface Erased {
  readonly segment: Segment
  /** How many bodies were erased. */
  readonly count: number
  /** By how much all bodies became shorter. */
  readonly bytes: number
}
