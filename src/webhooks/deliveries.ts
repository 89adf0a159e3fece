import { z } from 'zod'
import type { Question } from '../core/question.ts'
import type { Entry } from '../store/entries.ts'
import type { Store } from '../store/store.ts'

const KIND = 'approval_webhook'
const POSITION = { kind: 'approval_webhook_position', name: 'asked', due_at: null } as const
const PAGE = 200

const deliveryShape = z.object({
  /** The seq of the question. */
  seq: z.int(),
  task_id: z.string(),
  n: z.int(),
  /** The next event to send: an approval is requested, and later it is decided. */
  event: z.enum(['asked', 'decided']),
  attempts: z.int(),
  /** The earliest time of the next attempt. A sender sets it before it sends, so that no other process does meanwhile. */
  next_try_at: z.number(),
})

/** The state of the events of one approval. It exists while there are events left to send. */
export type Delivery = z.output<typeof deliveryShape>

export interface StoredDelivery {
  readonly delivery: Delivery
  readonly version: number
}

/**
 * The events to send, in entries of the store. Each approval is entered once by any process: seqs follow the order of commits,
 * so that everything up to the stored position is known.
 */
export class Deliveries {
  readonly #store: Store
  readonly #tenant: number

  constructor(store: Store, tenant: number) {
    this.#store = store
    this.#tenant = tenant
  }

  /** Enters the approvals since the last call. At the first call, it enters only open ones. */
  async enter(): Promise<void> {
    const { entries, reads } = this.#store
    const entry = await entries.get(this.#tenant, POSITION.kind, POSITION.name)
    if (entry === undefined) {
      // Read first: approvals that are requested from now on have a higher seq.
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

  /** The tasks of open approvals, by seq. */
  async open(): Promise<ReadonlyMap<number, string>> {
    const open = new Map<number, string>()
    for await (const { seq, task_id } of this.#questions('open', 0)) open.set(seq, task_id)
    return open
  }

  async *all(): AsyncGenerator<StoredDelivery> {
    for (let after = ''; ; ) {
      const page: Entry[] = await this.#store.entries.list(this.#tenant, KIND, after, PAGE)
      for (const { value, version } of page) {
        yield { delivery: deliveryShape.parse(JSON.parse(value)), version }
      }
      if (page.length < PAGE) return
      after = page.at(-1)?.name ?? after
    }
  }

  /** Updates a delivery; undefined if another process has changed it meanwhile. */
  async change(delivery: Delivery, version: number): Promise<StoredDelivery | undefined> {
    const written = await this.#put(delivery, version)
    return written === undefined ? undefined : { delivery, version: written }
  }

  async remove(delivery: Delivery): Promise<void> {
    await this.#store.entries.remove(this.#tenant, KIND, nameOf(delivery))
  }

  async #add({ seq, task_id, n }: Question): Promise<void> {
    await this.#put({ seq, task_id, n, event: 'asked', attempts: 0, next_try_at: 0 }, 0)
  }

  #put(delivery: Delivery, expected: number): Promise<number | undefined> {
    const draft = { tenant: this.#tenant, kind: KIND, name: nameOf(delivery), due_at: null }
    return this.#store.entries.put({ ...draft, value: JSON.stringify(delivery) }, expected)
  }

  /** Does nothing if another process has entered the same approvals meanwhile. */
  async #moveTo(seq: number, expected: number): Promise<void> {
    await this.#store.entries.put({ tenant: this.#tenant, ...POSITION, value: String(seq) }, expected)
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

/** Names sort in the order of the approvals. */
function nameOf({ seq }: Delivery): string {
  return String(seq).padStart(16, '0')
}
