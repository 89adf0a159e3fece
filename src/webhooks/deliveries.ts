import type { Question } from '../core/question.ts'
import type { Entry } from '../store/entries.ts'
import type { Store } from '../store/store.ts'
import { type Delivery, nameOf, newDelivery, readDelivery } from './delivery.ts'

const KIND = 'approval_webhook'
const POSITION = { kind: 'approval_webhook_position', name: 'asked' } as const
const PAGE = 200

export interface Kept {
  readonly delivery: Delivery
  readonly version: number
}

/**
 * What is left to be told, in entries of the store. Each approval is entered once, whichever process was there when it was
 * asked for: seqs are given out in the order of commits, so that everything up to the position is known.
 */
export class Deliveries {
  readonly #store: Store
  readonly #tenant: number

  constructor(store: Store, tenant: number) {
    this.#store = store
    this.#tenant = tenant
  }

  /** Enters the approvals that were asked for since the last time. Those of before the first time only if they are open. */
  async enter(): Promise<void> {
    const { entries, reads } = this.#store
    const entry = await entries.get(this.#tenant, POSITION.kind, POSITION.name)
    if (entry === undefined) {
      // Read first: what is asked for from now on is above it.
      const { seq } = await reads.counters(this.#tenant)
      for await (const question of this.#questions('open', 0)) await this.#add(question)
      await this.#moveTo(seq, 0)
      return
    }
    const position = Number(entry.value)
    let last = position
    for await (const question of this.#questions('all', position)) {
      await this.#add(question)
      last = question.seq
    }
    if (last !== position) await this.#moveTo(last, entry.version)
  }

  /** The approvals that nobody has decided on yet: their tasks, by seq. */
  async open(): Promise<ReadonlyMap<number, string>> {
    const open = new Map<number, string>()
    for await (const { seq, task_id } of this.#questions('open', 0)) open.set(seq, task_id)
    return open
  }

  async *all(): AsyncGenerator<Kept> {
    for (let after = ''; ; ) {
      const page: Entry[] = await this.#store.entries.list(this.#tenant, KIND, after, PAGE)
      for (const { value, version } of page) yield { delivery: readDelivery(value), version }
      if (page.length < PAGE) return
      after = page.at(-1)?.name ?? after
    }
  }

  /** Writes it down, if nobody else has meanwhile; resolves with it as it is kept then. */
  async change(delivery: Delivery, version: number): Promise<Kept | undefined> {
    const written = await this.#put(delivery, version)
    return written === undefined ? undefined : { delivery, version: written }
  }

  async remove(delivery: Delivery): Promise<void> {
    await this.#store.entries.remove(this.#tenant, KIND, nameOf(delivery))
  }

  async #add(question: Question): Promise<void> {
    await this.#put(newDelivery(question), 0)
  }

  #put(delivery: Delivery, expected: number): Promise<number | undefined> {
    const draft = { tenant: this.#tenant, kind: KIND, name: nameOf(delivery), due_at: null }
    return this.#store.entries.put({ ...draft, value: JSON.stringify(delivery) }, expected)
  }

  /** Another process may have been here at the same time, with the same approvals. */
  async #moveTo(seq: number, expected: number): Promise<void> {
    await this.#store.entries.put(
      { tenant: this.#tenant, ...POSITION, value: String(seq), due_at: null },
      expected,
    )
  }

  async *#questions(which: 'all' | 'open', above: number): AsyncGenerator<Question> {
    for (let from = above; ; ) {
      const page = await this.#store.reads.questions(this.#tenant, 'approval', which, from, 'ascending', PAGE)
      yield* page
      if (page.length < PAGE) return
      from = page.at(-1)?.seq ?? from
    }
  }
}
