import { Fault } from '../core/errors.ts'
import { APPROVAL_WEBHOOK, type Caller } from '../core/principal.ts'
import { isoTime } from '../core/time.ts'
import type { Gate } from '../features/gate.ts'
import type { ApprovalView } from '../features/questions/approvals.ts'
import type { Store, TenantRef } from '../store/store.ts'
import { messageOf } from '../util/error-message.ts'
import { Repeater } from '../util/repeater.ts'
import { visibleJson } from '../util/untrusted-text.ts'
import { Deliveries, type Kept } from './deliveries.ts'
import { type Delivery, following, MAX_ATTEMPTS, pauseAfter } from './delivery.ts'
import type { Message, Post } from './post.ts'

export interface WebhookOptions {
  readonly store: Store
  readonly tenant: TenantRef
  readonly gate: Gate
  readonly post: Post
  readonly log: WebhookLog
  /** How often to look for what other processes have done, and what is to be tried again. */
  readonly intervalMs?: number
  readonly now?: () => number
}

export interface WebhookLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const INTERVAL_MS = 5_000

/** Longer than one try can take: another process takes over when this one has died in the middle. */
const HOLD_MS = 60_000

/** A try that is under way when the process stops may end for so long. */
const PATIENCE_MS = 2_000

/**
 * Tells a receiver of every approval that is asked for, and of what was decided. Each word is sent until it is taken, over
 * restarts too, and so may come twice; its id says which it is. After MAX_ATTEMPTS it is given up, with a line in the log.
 */
export class ApprovalWebhook {
  readonly #options: WebhookOptions
  readonly #deliveries: Deliveries
  readonly #now: () => number
  readonly #sweeps: Repeater
  /** Tasks that wait for a decision as far as this process knows. */
  readonly #waiting = new Set<string>()
  #unlisten = () => {}

  constructor(options: WebhookOptions) {
    this.#options = options
    this.#deliveries = new Deliveries(options.store, options.tenant.tenant)
    this.#now = options.now ?? Date.now
    const report = (error: unknown) => options.log.error({ error }, 'the approval webhook could not look')
    this.#sweeps = new Repeater(options.intervalMs ?? INTERVAL_MS, (signal) => this.sweep(signal), report)
  }

  start(): void {
    this.#unlisten = this.#options.gate.onTask(({ task_id, status }) => {
      const isWaiting = status === 'pending_approval'
      if (isWaiting) this.#waiting.add(task_id)
      if (isWaiting || this.#waiting.delete(task_id)) this.#sweeps.wake()
    })
    this.#sweeps.wake()
  }

  /** How many tasks this process watches for a decision. */
  get watched(): number {
    return this.#waiting.size
  }

  async stop(): Promise<void> {
    this.#unlisten()
    await this.#sweeps.stop(PATIENCE_MS)
  }

  /** Tells what there is to tell now, until the receiver does not take something: all of it goes to the same place. */
  async sweep(signal: AbortSignal): Promise<void> {
    await this.#deliveries.enter()
    const known = [...this.#waiting]
    const open = await this.#deliveries.open()
    // Other processes decide, too, and nobody tells this one.
    const waiting = new Set(open.values())
    for (const taskId of known) if (!waiting.has(taskId)) this.#waiting.delete(taskId)
    for await (const kept of this.#deliveries.all()) {
      for (let next: Kept | undefined = kept; next !== undefined; ) {
        if (signal.aborted) return
        const { delivery } = next
        const isTooEarly = delivery.event === 'decided' && open.has(delivery.seq)
        if (isTooEarly || delivery.next_try_at > this.#now()) break
        const outcome = await this.#tell(next, signal)
        if (outcome === 'not taken') return
        next = outcome
      }
    }
  }

  /** What is left to tell afterwards, if this process is the one to tell it. */
  async #tell({ delivery, version }: Kept, signal: AbortSignal): Promise<Kept | 'not taken' | undefined> {
    const approval = await this.#approvalOf(delivery)
    if (approval === undefined) {
      await this.#deliveries.remove(delivery)
      return undefined
    }
    // It was asked for after we looked which are open.
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
        this.#log('warn', held.delivery, error, 'an approval webhook was not taken; trying again')
        const next_try_at = this.#now() + pauseAfter(attempts)
        await this.#deliveries.change({ ...held.delivery, next_try_at }, held.version)
      } else {
        this.#log('error', held.delivery, error, 'an approval webhook is given up')
        await this.#goOn(held)
      }
      return 'not taken'
    }
    return this.#goOn(held)
  }

  async #goOn({ delivery, version }: Kept): Promise<Kept | undefined> {
    const next = following(delivery)
    if (next !== undefined) return this.#deliveries.change(next, version)
    await this.#deliveries.remove(delivery)
    return undefined
  }

  /** Undefined if there is no such approval any more, as in a database that was restored to an earlier time. */
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
    return {
      tenant: this.#options.tenant.name,
      principal: APPROVAL_WEBHOOK,
      role: 'admin',
    }
  }

  #log(level: keyof WebhookLog, delivery: Delivery, error: unknown, text: string): void {
    const { task_id, n, event, attempts } = delivery
    const reason = messageOf(error)
    this.#options.log[level]({ task_id, n, event, attempts, reason }, text)
  }
}

const GONE: ReadonlySet<string> = new Set(['TASK_NOT_FOUND', 'QUESTION_NOT_FOUND'])
