import { isoTime } from '../core/time.ts'
import type { Store, TenantRef } from '../store/store.ts'
import type { UsageEvent } from '../store/usage.ts'
import { messageOf } from '../util/error-message.ts'
import { Repeater } from '../util/repeater.ts'
import type { Message, Post } from './post.ts'
import { type SenderState, SenderStates } from './sender-state.ts'

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

/** How long a pending attempt may take when the process stops. */
const STOP_MS = 2_000

/**
 * Sends the usage events of every tenant, oldest first. Each event is sent until the receiver accepts it, also after a
 * restart, and may therefore arrive twice with the same id.
 */
export class BillingWebhook {
  readonly #options: BillingOptions
  readonly #states: SenderStates
  readonly #sweeps: Repeater

  constructor(options: BillingOptions) {
    this.#options = options
    this.#states = new SenderStates(options.store, 'billing_webhook', options.now ?? Date.now)
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
    let state: SenderState | undefined
    while (!signal.aborted) {
      const [event] = await usage.unsent(tenant.tenant, 1)
      if (event === undefined) break
      state ??= await this.#states.due(tenant.tenant)
      const held = state && (await this.#states.hold(tenant.tenant, state))
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
    if (state !== undefined) await this.#states.release(tenant.tenant, state)
    return 'done'
  }

  async #failed(
    tenant: TenantRef,
    event: UsageEvent,
    held: SenderState,
    error: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    if (signal.aborted) return this.#states.release(tenant.tenant, held)
    const failures = held.failures + 1
    const fields = { tenant: tenant.name, usage_event_id: event.id, failures, reason: messageOf(error) }
    this.#options.log.warn(fields, 'a billing webhook was not accepted; trying again')
    await this.#states.failed(tenant.tenant, held)
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
