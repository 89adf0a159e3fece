import type { CanonicalJson } from '../../core/json/json.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { Receipt, ReceiptType } from '../../core/receipt.ts'

/**
 * A row of `ledger`: receipts of a tenant with consecutive seqs that one commit wrote. One row instead of one per
 * receipt, since rows and index entries are what a commit costs.
 *
 * The text has a line for the names that occur, a JSON array, and a line for each receipt: the places of its type,
 * sender, addressee, task, lease and schedule in that array, its parents, and its body. RFC 8785 texts contain no line
 * breaks. A body that the segment has already is replaced by a reference to its line: those of a batch are often equal.
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

/** The segments for receipts in the order of their seqs. A segment ends when its text has `maxLength` characters. */
export function segmentsOf(receipts: readonly Receipt[], maxLength: number): Segment[] {
  const segments: Segment[] = []
  let start = 0
  while (start < receipts.length) {
    const writer = new SegmentWriter()
    let end = start
    do writer.add(receipts[end++] as Receipt)
    while (end < receipts.length && writer.length < maxLength && continues(receipts[end - 1], receipts[end]))
    const { tenant, seq, created_at, instance } = receipts[start] as Receipt
    segments.push({ tenant, first: seq, created_at, instance, receipts: writer.text() })
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

  add(receipt: Receipt): void {
    const { receipt_type, from, to, task_id, lease_id, schedule_id, parents, body } = receipt
    const before = this.#lines.length
    this.#lines += `\n${this.#place(receipt_type)} ${this.#place(from)} ${this.#place(to)} ${this.#placeOf(task_id)} ${this.#placeOf(lease_id)} ${this.#placeOf(schedule_id)} ${listOf(parents)} ${this.#body(body)}`
    this.length += this.#lines.length - before
    this.#count++
  }

  text(): string {
    return JSON.stringify([...this.#places.keys()]) + this.#lines
  }

  #body(body: CanonicalJson): string {
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

  constructor(segment: Segment) {
    const lines = segment.receipts.split('\n')
    this.#segment = segment
    this.#lines = lines
    this.#names = JSON.parse(lines[0] ?? '[]')
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
    const body = bodyOf(line)
    return {
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
      body: body.startsWith(SAME) ? bodyOf(this.#lines[1 + Number(body.slice(1))]) : body,
      instance,
    }
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

/** How many fields stand before the body. */
const FIELDS = 7

function bodyOf(line = ''): CanonicalJson {
  let start = 0
  for (let field = 0; field < FIELDS; field++) start = line.indexOf(' ', start) + 1
  return line.slice(start) as CanonicalJson
}
