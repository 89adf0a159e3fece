import { createHmac } from 'node:crypto'
import { erasedBody, storedCommitment } from '../../core/commitment.ts'
import type { CanonicalJson } from '../../core/json/json.ts'
import type { CommittedReceipt } from '../../core/merkle/leaf.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { Receipt, ReceiptType } from '../../core/receipt.ts'
import type { Random } from '../../util/random.ts'

/**
 * A row of `ledger`: receipts of a tenant with consecutive seqs that one commit wrote. One row instead of one per
 * receipt, since rows and index entries are what a commit costs.
 *
 * The text has a line for the names that occur, a JSON array, and the salts; and a line for each receipt: the places of
 * its type, sender, addressee, task, lease and schedule in that array, its parents, and its body. RFC 8785 texts contain
 * no line breaks. A body that the segment has already is replaced by a reference to its line: those of a batch are often
 * equal.
 *
 * Every receipt has a secret salt. It is derived from one random text of its segment, until the body of a receipt of the
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

const NONE = '-'
const SAME = '='
/** Begins a body that stands for an erased one. */
const ERASED = '~'
/** Begins a list of salts; one text without it is what the salts are derived from. */
const LISTED = ','

const SALT_BYTES = 18

/** The segments for receipts in the order of their seqs. A segment ends when its text has `maxLength` characters. */
export function segmentsOf(receipts: readonly Receipt[], maxLength: number, random: Random): Segment[] {
  const segments: Segment[] = []
  let start = 0
  while (start < receipts.length) {
    const writer = new SegmentWriter()
    let end = start
    do writer.add(receipts[end++] as Receipt)
    while (end < receipts.length && writer.length < maxLength && continues(receipts[end - 1], receipts[end]))
    const { tenant, seq, created_at, instance } = receipts[start] as Receipt
    segments.push({ tenant, first: seq, created_at, instance, receipts: writer.text(random.hex(SALT_BYTES)) })
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
    after.instance === before.instance
  )
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
  readonly #lines: readonly string[]
  readonly #names: readonly string[]
  readonly #salts: string

  constructor(segment: Segment) {
    const lines = segment.receipts.split('\n')
    const [head = ''] = lines
    const end = head.lastIndexOf(']') + 1
    this.#segment = segment
    this.#lines = lines
    this.#names = JSON.parse(head.slice(0, end))
    this.#salts = head.slice(end + 1)
    this.first = segment.first
    this.last = segment.first + lines.length - 2
  }

  has(tenant: number, seq: number): boolean {
    return this.#segment.tenant === tenant && this.first <= seq && seq <= this.last
  }

  /** The receipt of a seq from `first` to `last`. */
  at(seq: number): Receipt {
    const { tenant, created_at, instance } = this.#segment
    const line = this.#lines[1 + seq - this.first] ?? ''
    const [type, from, to, task, lease, schedule, parents = NONE] = line.split(' ', FIELDS)
    const body = this.#body(seq)
    const isErased = body.startsWith(ERASED)
    const receipt: Receipt = {
      tenant,
      seq,
      // Each place was written by `segmentsOf`, so the names are of these types.
      receipt_type: this.#name(type) as ReceiptType,
      created_at,
      from: this.#name(from) as PrincipalKey,
      to: this.#name(to) as PrincipalKey,
      task_id: this.#nameOf(task),
      lease_id: this.#nameOf(lease),
      schedule_id: this.#nameOf(schedule),
      parents: parents === NONE ? [] : parents.split(',').map(Number),
      body: (isErased ? body.slice(1) : body) as CanonicalJson,
      instance,
    }
    return isErased ? { ...receipt, erased: true } : receipt
  }

  /** The secret salt of a receipt; undefined if its body is erased. */
  salt(seq: number): string | undefined {
    if (!this.#salts.startsWith(LISTED)) return saltOf(this.#salts, seq)
    const salt = this.#salts.split(LISTED)[1 + seq - this.first]
    return salt === NONE ? undefined : salt
  }

  /** The receipt of a seq with the commitment to its body; undefined if the segment does not have it. */
  committed(seq: number): CommittedReceipt | undefined {
    return this.has(this.#segment.tenant, seq) ? this.#commit(this.at(seq)) : undefined
  }

  /** Receipts above seq `from` in ascending order, each with the commitment to its body. */
  *committedAfter(from: number): Generator<CommittedReceipt> {
    for (const receipt of this.after(from)) yield this.#commit(receipt)
  }

  #commit(receipt: Receipt): CommittedReceipt {
    const salt = this.salt(receipt.seq)
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
        writer.add(receipt, this.#body(receipt.seq))
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
        writer.add(this.at(seq), this.#body(seq))
      }
      segments.push({ ...this.#segment, first, receipts: writer.text(salts) })
    }
    return segments
  }

  #body(seq: number): string {
    const body = bodyOf(this.#lines[1 + seq - this.first])
    return body.startsWith(SAME) ? bodyOf(this.#lines[1 + Number(body.slice(1))]) : body
  }

  /** Those from above `from` in ascending order. */
  *after(from: number): Generator<Receipt> {
    for (let seq = Math.max(this.first, from + 1); seq <= this.last; seq++) yield this.at(seq)
  }

  /** Those from below `from` in descending order. */
  *before(from: number): Generator<Receipt> {
    for (let seq = Math.min(this.last, from - 1); seq >= this.first; seq--) yield this.at(seq)
  }

  #nameOf(place: string | undefined): string | null {
    return place === NONE ? null : this.#name(place)
  }

  #name(place: string | undefined): string {
    const name = this.#names[Number(place)]
    if (name === undefined)
      throw new Error(`a receipt after ${this.first} names ${place}, which its segment does not have`)
    return name
  }
}

interface Erased {
  readonly segment: Segment
  /** How many bodies were erased. */
  readonly count: number
  /** By how much all bodies became shorter. */
  readonly bytes: number
}

function saltOf(salts: string, seq: number): string {
  return createHmac('sha256', salts)
    .update(String(seq))
    .digest('hex')
    .slice(0, 2 * SALT_BYTES)
}

/** How many fields stand before the body. */
const FIELDS = 7

function bodyOf(line = ''): string {
  let start = 0
  for (let field = 0; field < FIELDS; field++) start = line.indexOf(' ', start) + 1
  return line.slice(start)
}
