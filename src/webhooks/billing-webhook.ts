import { z } from 'zod'
import { isoTime } from '../core/time.ts'
import type { Store, TenantRef } from '../store/store.ts'
import type { UsageEvent } from '../store/usage.ts'
import { backoff } from '../util/backoff.ts'
import { messageOf } from '../util/error-message.ts'
import { Repeater } from '../util/repeater.ts'
import type { Message, Post } from './post.ts'

export interface BillingOptions {
  readonly store: Pick<Store, 'tenants' | 'usage' | 'entries'>
  readonly post: Post
  readonly log: BillingLog
  /** How often to check for events of other processes and for retries. */
  readonly intervalMs?: number
  readonly now?: () => number
}

interface BillingLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const INTERVAL_MS = 30_000

/** Longer than any attempt. Afterwards another process takes over, because this one must have died. */
const HOLD_MS = 60_000

/** How long a pending attempt may take when the process stops. */
const STOP_MS = 2_000

const FIRST_PAUSE_MS = 10_000
const MAX_PAUSE_MS = 3_600_000

/** The state of the deliveries of a tenant, as an entry of the store. */
const STATE = { kind: 'billing_webhook', name: 'state', due_at: null } as const

const stateShape = z.object({
  /** Failures since the last success. */
  failures: z.int(),
  /** The earliest time of the next attempt. A sender sets it before it sends, so that no other process does meanwhile. */
  next_try_at: z.number(),
})

type State = z.output<typeof stateShape> & { readonly version: number }

/**
 * Sends the usage events of every tenant, oldest first. Each event is sent until the receiver accepts it, also after a
 * restart, and may therefore arrive twice with the same id.
 */
export class BillingWebhook {
  readonly #options: BillingOptions
  readonly #now: () => number
  readonly #sweeps: Repeater

  constructor(options: BillingOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    const report = (error: unknown) => options.log.error({ error }, 'the check for billing webhooks failed')
    this.#sweeps = new Repeater(options.intervalMs ?? INTERVAL_MS, (signal) => this.sweep(signal), report)
  }

  /** Checks for events now, and then at intervals. */
  wake(): void {
    this.#sweeps.wake()
  }

  async stop(): Promise<void> {
    await this.#sweeps.stop(STOP_MS)
  }

  /** Sends all due events. It stops at the first failure, because all events have the same receiver. */
  async sweep(signal: AbortSignal): Promise<void> {
    for (const tenant of await this.#options.store.tenants()) {
      if ((await this.#sendAll(tenant, signal)) === 'failed') return
    }
  }

  async #sendAll(tenant: TenantRef, signal: AbortSignal): Promise<'done' | 'failed'> {
    const { usage } = this.#options.store
    let state: State | undefined
    while (!signal.aborted) {
      const [event] = await usage.unsent(tenant.tenant, 1)
      if (event === undefined) break
      state ??= await this.#due(tenant)
      if (state === undefined) return 'done'
      const held = await this.#change(tenant, { ...state, next_try_at: this.#now() + HOLD_MS })
      if (held === undefined) return 'done'
      try {
        await this.#options.post(messageFor(tenant, event), signal)
      } catch (error) {
        await this.#failed(tenant, event, held, error, signal)
        return 'failed'
      }
      await usage.sent(tenant.tenant, event.id)
      state = { ...held, failures: 0 }
    }
    if (state !== undefined) await this.#change(tenant, { ...state, next_try_at: 0 })
    return 'done'
  }

  async #failed(
    tenant: TenantRef,
    event: UsageEvent,
    held: State,
    error: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    if (signal.aborted) {
      await this.#change(tenant, { ...held, next_try_at: 0 })
      return
    }
    const failures = held.failures + 1
    const fields = { tenant: tenant.name, usage_event_id: event.id, failures, reason: messageOf(error) }
    this.#options.log.warn(fields, 'a billing webhook was not accepted; trying again')
    const next_try_at = this.#now() + backoff(failures, FIRST_PAUSE_MS, MAX_PAUSE_MS)
    await this.#change(tenant, { ...held, failures, next_try_at })
  }

  /** The state of a tenant; undefined if it is too early for an attempt, or another process makes one. */
  async #due({ tenant }: TenantRef): Promise<State | undefined> {
    const entry = await this.#options.store.entries.get(tenant, STATE.kind, STATE.name)
    if (entry === undefined) return { failures: 0, next_try_at: 0, version: 0 }
    const stored = stateShape.parse(JSON.parse(entry.value))
    return stored.next_try_at > this.#now() ? undefined : { ...stored, version: entry.version }
  }

  /** Undefined if another process has changed the state meanwhile. */
  async #change({ tenant }: TenantRef, { version, ...stored }: State): Promise<State | undefined> {
    const entry = { ...STATE, tenant, value: JSON.stringify(stored) }
    const written = await this.#options.store.entries.put(entry, version)
    return written === undefined ? undefined : { ...stored, version: written }
  }
}

/** The same for every attempt. */
function messageFor(tenant: TenantRef, event: UsageEvent): Message {
  const { id, from_at, to_at, instance, tasks, lease_ms, receipt_bytes, calls } = event
  const data = {
    usage_event_id: id,
    tenant_id: tenant.name,
    from: isoTime(from_at),
    to: isoTime(to_at),
    instance_id: instance,
    tasks,
    lease_ms,
    receipt_bytes,
    calls,
  }
  return { id, body: JSON.stringify({ type: 'usage.recorded', timestamp: isoTime(to_at), data }) }
}
