import { Fault } from '../core/errors.ts'
import { APPROVAL_WEBHOOK, type Caller } from '../core/principal.ts'
import { isoTime } from '../core/time.ts'
import type { Gate } from '../features/gate.ts'
import type { ApprovalView } from '../features/questions/approvals.ts'
import type { Store, TenantRef } from '../store/store.ts'
import { messageOf } from '../util/error-message.ts'
import { Repeater } from '../util/repeater.ts'
import { visibleJson } from '../util/untrusted-text.ts'
import { Deliveries, type Delivery, type StoredDelivery } from './deliveries.ts'
import type { Message, Post } from './post.ts'
import { HOLD_MS, MAX_ATTEMPTS, pauseAfter, STOP_MS } from './retry-policy.ts'

export interface WebhookOptions {
  readonly store: Store
  readonly tenant: TenantRef
  readonly gate: Gate
  readonly post: Post
  readonly log: WebhookLog
  /** How often to check for changes by other processes and for retries. */
  readonly intervalMs?: number
  readonly now?: () => number
}

interface WebhookLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const INTERVAL_MS = 5_000

/**
 * Sends an event for every requested approval and for every decision. Each event is sent until the receiver accepts it, also
 * after a restart, and may therefore arrive twice with the same id. After MAX_ATTEMPTS it is dropped and logged.
 */
export class ApprovalWebhook {
  readonly #options: WebhookOptions
  readonly #deliveries: Deliveries
  readonly #now: () => number
  readonly #sweeps: Repeater
  /** Tasks that wait for a decision, as far as this process knows. */
  readonly #waiting = new Set<string>()
  #unsubscribe = () => {}

  constructor(options: WebhookOptions) {
    this.#options = options
    this.#deliveries = new Deliveries(options.store, options.tenant.tenant)
    this.#now = options.now ?? Date.now
    const report = (error: unknown) => options.log.error({ error }, 'the check for approval webhooks failed')
    this.#sweeps = new Repeater(options.intervalMs ?? INTERVAL_MS, (signal) => this.sweep(signal), report)
  }

  start(): void {
    this.#unsubscribe = this.#options.gate.onTask(({ tenant, task_id, status }) => {
      if (tenant !== this.#options.tenant.tenant) return
      const isWaiting = status === 'pending_approval'
      if (isWaiting) this.#waiting.add(task_id)
      if (isWaiting || this.#waiting.delete(task_id)) this.#sweeps.wake()
    })
    this.#sweeps.wake()
  }

  /** The number of tasks that wait for a decision, as far as this process knows. */
  get watched(): number {
    return this.#waiting.size
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    await this.#sweeps.stop(STOP_MS)
  }

  /** Sends all due events. It stops at the first failure, because all events have the same receiver. */
  async sweep(signal: AbortSignal): Promise<void> {
    await this.#deliveries.enter()
    const known = [...this.#waiting]
    const open = await this.#deliveries.open()
    // Decisions through other processes are not announced to this one.
    const waiting = new Set(open.values())
    for (const taskId of known) if (!waiting.has(taskId)) this.#waiting.delete(taskId)
    for await (const stored of this.#deliveries.all()) {
      for (let next: StoredDelivery | undefined = stored; next !== undefined; ) {
        if (signal.aborted) return
        const { delivery } = next
        const isTooEarly = delivery.event === 'decided' && open.has(delivery.seq)
        if (isTooEarly || delivery.next_try_at > this.#now()) break
        const outcome = await this.#send(next, signal)
        if (outcome === 'failed') return
        next = outcome
      }
    }
  }

  /** Resolves with the next event of the approval, if this process may send it. */
  async #send(
    { delivery, version }: StoredDelivery,
    signal: AbortSignal,
  ): Promise<StoredDelivery | 'failed' | undefined> {
    const approval = await this.#approvalOf(delivery)
    if (approval === undefined) {
      await this.#deliveries.remove(delivery)
      return undefined
    }
    // It was requested after the open approvals were read.
    if (delivery.event === 'decided' && approval.state === 'open') return undefined
    const attempts = delivery.attempts + 1
    const held = await this.#deliveries.change(
      { ...delivery, attempts, next_try_at: this.#now() + HOLD_MS },
      version,
    )
    if (held === undefined) return undefined
    try {
      await this.#options.post(this.#messageOf(delivery, approval), signal)
    } catch (error) {
      if (signal.aborted) await this.#deliveries.change(delivery, held.version)
      else if (attempts < MAX_ATTEMPTS) {
        this.#log('warn', held.delivery, error, 'an approval webhook was not accepted; trying again')
        const next_try_at = this.#now() + pauseAfter(attempts)
        await this.#deliveries.change({ ...held.delivery, next_try_at }, held.version)
      } else {
        this.#log('error', held.delivery, error, 'an approval webhook is dropped')
        await this.#advance(held)
      }
      return 'failed'
    }
    return this.#advance(held)
  }

  /** Moves on to the next event of the approval. */
  async #advance({ delivery, version }: StoredDelivery): Promise<StoredDelivery | undefined> {
    if (delivery.event === 'asked') {
      return this.#deliveries.change({ ...delivery, event: 'decided', attempts: 0, next_try_at: 0 }, version)
    }
    await this.#deliveries.remove(delivery)
    return undefined
  }

  /** Undefined if the approval no longer exists, as after the restore of a backup. */
  async #approvalOf({ task_id, n }: Delivery): Promise<ApprovalView | undefined> {
    try {
      return await this.#options.gate.getApproval(this.#observer, { task_id, n })
    } catch (error) {
      if (error instanceof Fault && GONE.has(error.code)) return undefined
      throw error
    }
  }

  #messageOf({ task_id, n, event }: Delivery, { answer, ...approval }: ApprovalView): Message {
    const path = `/v1/approvals/${task_id}`
    const data = {
      ...approval,
      ...(event === 'decided' && { answer }),
      links: { show: `${path}?n=${n}`, approve: `${path}/approve`, deny: `${path}/deny` },
    }
    const body = visibleJson({ type: `approval.${event}`, timestamp: isoTime(this.#now()), data }, 0)
    return { id: `${task_id}.${n}.${event}`, body }
  }

  get #observer(): Caller {
    return { tenant: this.#options.tenant.name, principal: APPROVAL_WEBHOOK, role: 'admin' }
  }

  #log(level: keyof WebhookLog, delivery: Delivery, error: unknown, text: string): void {
    const { task_id, n, event, attempts } = delivery
    const reason = messageOf(error)
    this.#options.log[level]({ tenant: this.#options.tenant.name, task_id, n, event, attempts, reason }, text)
  }
}

const GONE: ReadonlySet<string> = new Set(['TASK_NOT_FOUND', 'QUESTION_NOT_FOUND'])
