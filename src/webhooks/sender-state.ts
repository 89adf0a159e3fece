import { z } from 'zod'
import type { Store } from '../store/store.ts'
import { backoff } from '../util/backoff.ts'

/** Longer than any attempt. Afterwards another process takes over, because this one must have died. */
const HOLD_MS = 60_000

const FIRST_PAUSE_MS = 10_000
const MAX_PAUSE_MS = 3_600_000

const stateShape = z.object({
  /** Failures since the last success. */
  failures: z.int(),
  /** The earliest time of the next attempt. A sender sets it before it sends, so that no other process does meanwhile. */
  next_try_at: z.number(),
  /** The seq up to which everything is sent, for senders that follow the ledger. */
  position: z.int().default(0),
})

/** The state of a sender for one tenant. */
export type SenderState = z.output<typeof stateShape> & { readonly version: number }

const NEW: SenderState = { failures: 0, next_try_at: 0, position: 0, version: 0 }

/** The state of a sender of messages for each tenant, as entries of the store: one process sends at a time. */
export class SenderStates {
  readonly #store: Pick<Store, 'entries'>
  readonly #kind: string
  readonly #now: () => number

  constructor(store: Pick<Store, 'entries'>, kind: string, now: () => number) {
    this.#store = store
    this.#kind = kind
    this.#now = now
  }

  /** Undefined if it is too early for an attempt, or another process makes one. */
  async due(tenant: number): Promise<SenderState | undefined> {
    const entry = await this.#store.entries.get(tenant, this.#kind, 'state')
    if (entry === undefined) return NEW
    const stored = stateShape.parse(JSON.parse(entry.value))
    return stored.next_try_at > this.#now() ? undefined : { ...stored, version: entry.version }
  }

  /** Makes this process the one that sends. Undefined if another process was faster. */
  hold(tenant: number, state: SenderState): Promise<SenderState | undefined> {
    return this.#put(tenant, { ...state, next_try_at: this.#now() + HOLD_MS })
  }

  /** Lets any process send at once. */
  async release(tenant: number, state: SenderState): Promise<void> {
    await this.#put(tenant, { ...state, next_try_at: 0 })
  }

  /** Records a failed attempt. The pause before the next one grows. */
  async failed(tenant: number, state: SenderState): Promise<void> {
    const failures = state.failures + 1
    const next_try_at = this.#now() + backoff(failures, FIRST_PAUSE_MS, MAX_PAUSE_MS)
    await this.#put(tenant, { ...state, failures, next_try_at })
  }

  /** Undefined if another process has changed the state meanwhile. */
  async #put(tenant: number, { version, ...stored }: SenderState): Promise<SenderState | undefined> {
    const entry = { tenant, kind: this.#kind, name: 'state', due_at: null, value: JSON.stringify(stored) }
    const written = await this.#store.entries.put(entry, version)
    return written === undefined ? undefined : { ...stored, version: written }
  }
}
