import { z } from 'zod'
import type { Store, TenantRef } from '../store/store.ts'

/** Longer than any attempt. Afterwards another process takes over, because this one must have died. */
const HOLD_MS = 30_000
const RENEW_MS = 10_000

const STATE = { kind: 'receiptgate', name: 'sender', due_at: null } as const

const stateShape = z.object({
  /** The process that sends. */
  holder: z.string(),
  held_until: z.number(),
  /** Anomalies that were reported and are not over. */
  reported: z.array(z.string()),
})

type State = z.output<typeof stateShape>
type TurnStore = Pick<Store, 'entries' | 'now' | 'shared'>

/** Decides which of several processes sends the receipts of a tenant, and stores what they have in common. */
export class SenderTurn {
  readonly #store: TurnStore
  readonly #tenant: TenantRef
  readonly #holder: string
  #state: State | undefined
  #version = 0

  constructor(store: TurnStore, tenant: TenantRef, holder: string) {
    this.#store = store
    this.#tenant = tenant
    this.#holder = holder
  }

  /** Whether this process may send now. */
  async take(): Promise<boolean> {
    const now = await this.#store.now()
    const isHeld = this.#state !== undefined && this.#state.held_until - now > RENEW_MS
    if (isHeld) return true
    await this.#load()
    const { holder, held_until, reported } = this.#state ?? { holder: '', held_until: 0, reported: [] }
    // A database that is not shared has no other server: the holder has ended.
    if (this.#store.shared && holder !== this.#holder && held_until > now) return this.#lose()
    return this.#write({ holder: this.#holder, held_until: now + HOLD_MS, reported })
  }

  /** Lets another process send at once. */
  async release(): Promise<void> {
    if (this.#state !== undefined) await this.#write({ ...this.#state, held_until: 0 })
    this.#state = undefined
  }

  /** Whether an anomaly was not reported since it last ended. From now on it counts as reported. */
  async begins(anomaly: string): Promise<boolean> {
    if (this.#state === undefined || this.#state.reported.includes(anomaly)) return false
    return this.#write({ ...this.#state, reported: [...this.#state.reported, anomaly] })
  }

  async ended(anomaly: string): Promise<void> {
    if (this.#state?.reported.includes(anomaly) !== true) return
    const reported = this.#state.reported.filter((name) => name !== anomaly)
    await this.#write({ ...this.#state, reported })
  }

  async #load(): Promise<void> {
    const entry = await this.#store.entries.get(this.#tenant.tenant, STATE.kind, STATE.name)
    this.#version = entry?.version ?? 0
    this.#state = entry === undefined ? undefined : stateShape.parse(JSON.parse(entry.value))
  }

  /** False if another process has taken over meanwhile. */
  async #write(state: State): Promise<boolean> {
    const entry = { ...STATE, tenant: this.#tenant.tenant, value: JSON.stringify(state) }
    const version = await this.#store.entries.put(entry, this.#version)
    if (version === undefined) return this.#lose()
    this.#state = state
    this.#version = version
    return true
  }

  #lose(): false {
    this.#state = undefined
    return false
  }
}
