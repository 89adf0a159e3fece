import { isoTime } from '../core/time.ts'
import { AUDIT_EVENTS, isAuditEvent } from '../features/audit/port.ts'
import { messageOf } from '../util/error-message.ts'
import { Repeater } from '../util/repeater.ts'
import { visibleJson } from '../util/untrusted-text.ts'
import type { Alert, AlertQueue, AlertState } from './alert-queue.ts'
import type { Message, Post } from './post.ts'
import { HOLD_MS, MAX_ATTEMPTS, pauseAfter, STOP_MS } from './retry-policy.ts'

export interface AlertOptions {
  readonly queue: AlertQueue
  readonly post: Post
  readonly log: AlertLog
  /** How often to check for retries and for alerts whose pause has ended. */
  readonly intervalMs?: number
  readonly now?: () => number
}

interface AlertLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const INTERVAL_MS = 5_000

/** At most one alert of an event and tenant is sent in this time. */
export const QUIET_MS = 300_000

/**
 * Reports critical events of the audit log to the operator. The first event of a tenant is sent at once; what follows
 * within QUIET_MS is sent as one alert afterwards, so that no caller can flood the receiver. Each alert is sent until the
 * receiver accepts it, also after a restart, and may therefore arrive twice with the same id.
 */
export class AlertWebhook {
  readonly #options: AlertOptions
  readonly #now: () => number
  readonly #sweeps: Repeater

  constructor(options: AlertOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    const report = (error: unknown) => options.log.error({ error }, 'the check for security alerts failed')
    this.#sweeps = new Repeater(options.intervalMs ?? INTERVAL_MS, (signal) => this.sweep(signal), report)
  }

  start(): void {
    this.#options.queue.onAdded = () => this.#sweeps.wake()
    this.#sweeps.wake()
  }

  async stop(): Promise<void> {
    await this.#sweeps.stop(STOP_MS)
  }

  /** Sends all due alerts. It stops at the first failure, because all alerts have the same receiver. */
  async sweep(signal: AbortSignal): Promise<void> {
    for (const { name } of await this.#options.queue.due()) {
      if (signal.aborted || (await this.#send(name, signal)) === 'failed') return
    }
  }

  async #send(name: string, signal: AbortSignal): Promise<'done' | 'failed'> {
    const held = await this.#hold(name)
    if (held === undefined) return 'done'
    const { alert, state } = held
    try {
      await this.#options.post(messageFor(state, alert), signal)
    } catch (error) {
      if (signal.aborted)
        await this.#finish(name, alert, (known) => ({ ...known, attempts: known.attempts - 1 }))
      else await this.#failed(name, alert, state, error)
      return 'failed'
    }
    await this.#sent(name, alert)
    return 'done'
  }

  /** Makes this process the one that sends. Undefined if there is nothing to send, or another process does. */
  async #hold(name: string): Promise<{ alert: Alert; state: AlertState } | undefined> {
    const { queue } = this.#options
    let held: { alert: Alert; state: AlertState } | undefined
    await queue.update(name, (known, due_at) => {
      held = undefined
      const isDue = due_at !== null && due_at <= this.#now()
      const alert = known?.sending ?? known?.gathered
      if (known === undefined || !isDue || !alert) return undefined
      const gathered = known.sending === null ? null : known.gathered
      const state = { ...known, sending: alert, gathered, attempts: known.attempts + 1 }
      held = { alert, state }
      return { state, due_at: this.#now() + HOLD_MS }
    })
    return held
  }

  /** Changes the state after an attempt, unless another process has taken over. */
  async #finish(
    name: string,
    { id }: Alert,
    change: (known: AlertState) => AlertState,
    due_at?: number,
  ): Promise<void> {
    await this.#options.queue.update(name, (known) => {
      if (known?.sending?.id !== id) return undefined
      const state = change(known)
      const isIdle = state.sending === null && state.gathered === null
      const next = state.sending === null ? state.quiet_until : (due_at ?? this.#now())
      return { state, due_at: isIdle ? null : next }
    })
  }

  #sent(name: string, alert: Alert): Promise<void> {
    const quiet_until = this.#now() + QUIET_MS
    return this.#finish(name, alert, (known) => ({ ...known, sending: null, attempts: 0, quiet_until }))
  }

  async #failed(
    name: string,
    alert: Alert,
    { tenant, event, attempts }: AlertState,
    error: unknown,
  ): Promise<void> {
    const fields = { tenant, event, count: alert.count, attempts, reason: messageOf(error) }
    if (attempts >= MAX_ATTEMPTS) {
      this.#options.log.error(fields, 'a security alert is dropped')
      return this.#sent(name, alert)
    }
    this.#options.log.warn(fields, 'a security alert was not accepted; trying again')
    const due_at = this.#now() + pauseAfter(attempts)
    await this.#finish(name, alert, (known) => known, due_at)
  }
}

/** The same for every attempt. */
function messageFor({ tenant, event }: AlertState, { id, count, first_at, last_at, first }: Alert): Message {
  const data = {
    alert_id: id,
    tenant_id: tenant,
    event,
    ...(isAuditEvent(event) && { meaning: AUDIT_EVENTS[event].meaning }),
    severity: 'critical',
    count,
    first_at: isoTime(first_at),
    last_at: isoTime(last_at),
    first,
  }
  return { id, body: visibleJson({ type: 'security.alert', timestamp: isoTime(last_at), data }, 0) }
}
