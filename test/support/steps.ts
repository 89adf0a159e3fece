import { setTimeout as delay } from 'node:timers/promises'
import { Fault } from '../../src/core/errors.ts'
import type { Caller } from '../../src/core/principal.ts'
import type { Gate } from '../../src/features/gate.ts'
import type { OfferView } from '../../src/features/leases/shape.ts'
import type { ReceiptView } from '../../src/features/receipts/get-receipt.ts'
import type { Store } from '../../src/store/store.ts'
import { admin, agent, type ManualClock, worker } from './gates.ts'

type Fields = Readonly<Record<string, unknown>>

export const ARTIFACTS = [{ url: 'https://results.example/1.json' }]

/** Creates a task, of type `job` by default. */
export function ask(gate: Gate, input: Fields = {}, by: Caller = agent()) {
  return gate.createTask(by, { type: 'job', ...input })
}

/** Creates this many tasks and returns their ids, in order. */
export async function askMany(gate: Gate, count: number, input: Fields = {}, by: Caller = agent()) {
  const ids: string[] = []
  while (ids.length < count) {
    const tasks = Array.from({ length: Math.min(1000, count - ids.length) }, () => ({
      type: 'job',
      ...input,
    }))
    const { results } = await gate.createTasks(by, { tasks })
    ids.push(...results.map((result) => ('task_id' in result ? result.task_id : fail(result))))
  }
  return ids
}

/** The tasks that one claim returns. */
export async function claim(gate: Gate, input: Fields = {}, by: Caller = worker()) {
  const { tasks } = await gate.leaseNext(by, { worker_id: by.principal.id, ...input })
  return tasks
}

/** The only task that a claim returns. */
export async function lease(gate: Gate, input: Fields = {}, by: Caller = worker()) {
  return only(await claim(gate, input, by))
}

/** Creates a task and leases it to worker w1. */
export async function hold(gate: Gate, input: Fields = {}, claimed: Fields = {}) {
  await ask(gate, input)
  return lease(gate, claimed)
}

/** The fields that every call of a lease holder needs. */
export function held(offer: Pick<OfferView, 'task_id' | 'lease_id'>, worker_id = 'w1') {
  return { worker_id, task_id: offer.task_id, lease_id: offer.lease_id }
}

/** Completes a task with evidence. */
export function finish(gate: Gate, offer: OfferView, input: Fields = {}) {
  return gate.complete(worker(), { ...held(offer), result: { n: 1 }, artifacts: ARTIFACTS, ...input })
}

export function failTask(gate: Gate, offer: OfferView, input: Fields = {}) {
  return gate.fail(worker(), { ...held(offer), error: { message: 'no luck' }, ...input })
}

/** Lets leases of the default duration expire, sweeps, and waits until the jitter is over. */
export async function expire(gate: Gate, clock: ManualClock) {
  clock.advance(120)
  await gate.sweep()
  clock.advance(5)
}

/** The task as an admin sees it. */
export function look(gate: Gate, { task_id }: { readonly task_id: string }) {
  return gate.getTask(admin(), { task_id })
}

export async function statusOf(gate: Gate, task: { readonly task_id: string }) {
  return (await look(gate, task)).status
}

/** All receipts of a task, regardless of their addressee, oldest first. */
export async function receiptsOf(gate: Gate, { task_id }: { readonly task_id: string }) {
  const receipts: ReceiptView[] = []
  for (let since: string | null | undefined; since !== null; ) {
    const page = await gate.listReceipts(admin(), {
      task_id,
      limit: 200,
      ...(since !== undefined && { since_receipt_id: since }),
    })
    receipts.push(...page.receipts)
    since = page.next_cursor
  }
  return receipts
}

export async function receiptTypes(gate: Gate, task: { readonly task_id: string }) {
  return (await receiptsOf(gate, task)).map((receipt) => receipt.receipt_type)
}

/** The kinds of the anomalies of a task. */
export async function anomalies(gate: Gate, task: { readonly task_id: string }) {
  const receipts = await receiptsOf(gate, task)
  return receipts
    .filter((receipt) => receipt.receipt_type === 'system.anomaly')
    .map((receipt) => (receipt.body as { kind: string }).kind)
}

/** The tasks of the open obligations to a principal. */
export async function openTasks(gate: Gate, by: Caller = agent()) {
  const { open_obligations } = await gate.listOpenObligations(by)
  return open_obligations.map((receipt) => receipt.task_id)
}

/** The body of the error with which a call is refused. */
export async function refusal(call: Promise<unknown>) {
  const answer = await call.then(
    (value) => ({ value }),
    (error: unknown) => {
      if (error instanceof Fault) return error
      throw error
    },
  )
  if (answer instanceof Fault) return answer.toJSON()
  throw new Error(`the call was not refused: ${JSON.stringify(answer.value)}`)
}

/** The refusals of concurrent calls. */
export function refusals(calls: readonly Promise<unknown>[]) {
  return Promise.all(calls.map(refusal))
}

export function only<T>(items: readonly T[]): T {
  const [item, ...others] = items
  if (item === undefined || others.length > 0) throw new Error(`expected one item, got ${items.length}`)
  return item
}

/** Item n of the list; throws if there is none. */
export function at<T>(items: readonly T[], n: number): T {
  const item = items.at(n)
  if (item === undefined) throw new Error(`no item ${n} among ${items.length}`)
  return item
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

/** Rejects if the promise is not settled within a generous time. */
export async function soon<T>(promise: Promise<T>, seconds = 10): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing happened within ${seconds} s`)), seconds * 1000)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** The store with some of its members replaced. */
export function override(store: Store, members: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(name in members ? members : target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

interface EntryListeners {
  readonly reads?: (kind: string) => void
  readonly writes?: (kind: string) => void
}

/** Has the listeners called with the kind of the entries of each read and write. */
export function notingEntries({ reads, writes }: EntryListeners): (store: Store) => Store {
  return (store) => {
    const { entries } = store
    const noted: Store['entries'] = {
      ...entries,
      list(...args) {
        reads?.(args[1])
        return entries.list(...args)
      },
      several(...args) {
        reads?.(args[1])
        return entries.several(...args)
      },
      put(entry, expected) {
        writes?.(entry.kind)
        return entries.put(entry, expected)
      },
    }
    return override(store, { entries: noted })
  }
}

/** Detects whether hints from other processes arrive. */
export class HintProbe {
  #heard = false

  readonly wrap = (store: Store) =>
    override(store, {
      listen: (onHint) =>
        store.listen((hint) => {
          this.#heard = true
          onHint(hint)
        }),
    })

  /** A listener takes a moment to connect, so tasks are created until a hint arrives. */
  async open(elsewhere: Gate): Promise<void> {
    while (!this.#heard) {
      await ask(elsewhere, {}, agent('noise', 'noise'))
      await delay(10)
    }
  }
}

/** A barrier that calls pass while it is open, and wait at while it is shut. */
export class Barrier {
  #opened = Promise.resolve()
  #open = () => {}
  #waiting = 0
  #arrived: (() => void)[] = []

  shut(): void {
    this.#opened = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  open(): void {
    this.#open()
  }

  async pass(): Promise<void> {
    this.#waiting++
    for (const arrived of this.#arrived.splice(0)) arrived()
    await this.#opened
    this.#waiting--
  }

  /** Resolves when a call waits here. */
  async arrival(): Promise<void> {
    if (this.#waiting === 0) await new Promise<void>((resolve) => this.#arrived.push(resolve))
  }
}

function fail(result: unknown): never {
  throw new Error(`refused: ${JSON.stringify(result)}`)
}
