import { isTerminal } from '../core/transitions.ts'
import { EgressError } from '../egress/error.ts'
import type { Gate } from '../features/gate.ts'
import type { WebhookOutcome } from '../features/webhooks/attempts.ts'
import { DELIVERY_KIND, type Delivery, deliveryOf, SHOWN_MS } from '../features/webhooks/delivery.ts'
import type { Entry } from '../store/entries.ts'
import type { Store, TenantRef } from '../store/store.ts'
import { messageOf } from '../util/error-message.ts'
import { Repeater } from '../util/repeater.ts'
import type { Post } from './post.ts'
import { HOLD_MS, MAX_ATTEMPTS, pauseAfter, STOP_MS } from './retry-policy.ts'

export interface TaskWebhookOptions {
  readonly store: Pick<Store, 'entries' | 'reads' | 'now'>
  readonly tenant: TenantRef
  readonly gate: Pick<Gate, 'completedTasks' | 'onTask'>
  /** Sends messages to a URL that an agent has chosen. */
  postTo(url: string): Post
  readonly log: TaskWebhookLog
  /** Called with the outcome of each attempt. */
  onAttempt?(outcome: WebhookOutcome): void
}

interface TaskWebhookLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** How often to check for tasks that ended in other processes, and for retries. */
const INTERVAL_MS = 5_000
const PAGE = 500
/** A slow receiver delays at most the messages that are sent at the same time. */
const CONCURRENT = 8

const POSITION = { kind: 'task_webhook_position', name: 'ended', due_at: null } as const

/**
 * Sends a message about each ended task that has a webhook. The messages follow from the receipts of the ledger, so that
 * none is lost, and each is stored once under the id of its task. It is sent until its receiver accepts it, also after a
 * restart, and may therefore arrive twice with the same id.
 */
export class TaskWebhook {
  readonly #options: TaskWebhookOptions
  readonly #sweeps: Repeater
  #unsubscribe = () => {}

  constructor(options: TaskWebhookOptions) {
    this.#options = options
    const report = (error: unknown) => options.log.error({ error }, 'the check for task webhooks failed')
    this.#sweeps = new Repeater(INTERVAL_MS, (signal) => this.sweep(signal), report)
  }

  start(): void {
    const { gate, tenant } = this.#options
    this.#unsubscribe = gate.onTask((change) => {
      if (change.tenant === tenant.tenant && isTerminal(change.status)) this.#sweeps.wake()
    })
    this.#sweeps.wake()
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    await this.#sweeps.stop(STOP_MS)
  }

  /** Stores the messages of tasks that have ended, and sends all that are due. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { store, tenant } = this.#options
    await this.#enter(signal)
    while (!signal.aborted) {
      const due = await store.entries.due(tenant.tenant, DELIVERY_KIND, await store.now(), CONCURRENT)
      if (due.length === 0) return
      await Promise.all(due.map((entry) => this.#process(entry, signal)))
    }
  }

  /** At the first call, only tasks that end from then on are considered. */
  async #enter(signal: AbortSignal): Promise<void> {
    const { store, tenant: ref, gate } = this.#options
    const { tenant } = ref
    while (!signal.aborted) {
      const stored = await store.entries.get(tenant, POSITION.kind, POSITION.name)
      if (stored === undefined) {
        const { seq } = await store.reads.counters(tenant)
        await store.entries.put({ tenant, ...POSITION, value: String(seq) }, 0)
        continue
      }
      const from = Number(stored.value)
      const page = await store.reads.receiptLines(tenant, { by: 'all' }, from, 'ascending', PAGE)
      const last = page.at(-1)
      if (last === undefined) return
      const ended = page.flatMap(({ receipt_type, task_id }) =>
        receipt_type === 'task.result_ready' && task_id !== null ? [task_id] : [],
      )
      const completed = ended.length === 0 ? [] : await gate.completedTasks(ref.name, ended)
      const due_at = await store.now()
      await store.entries.insertNew(
        completed.map(({ task_id, ...message }) => ({
          tenant,
          kind: DELIVERY_KIND,
          name: task_id,
          due_at,
          value: JSON.stringify({ ...message, ...NEW }),
        })),
      )
      // Does nothing if another process has stored the same messages meanwhile.
      await store.entries.put({ tenant, ...POSITION, value: String(last.seq) }, stored.version)
      if (page.length < PAGE) return
    }
  }

  async #process(entry: Entry, signal: AbortSignal): Promise<void> {
    const { store, log, tenant, onAttempt } = this.#options
    const delivery = deliveryOf(entry)
    if (delivery.state !== 'pending') {
      await store.entries.remove(entry.tenant, DELIVERY_KIND, entry.name)
      return
    }
    const attempts = delivery.attempts + 1
    const held = await this.#put(entry, { ...delivery, attempts }, (await store.now()) + HOLD_MS)
    if (held === undefined) return
    const about = { tenant: tenant.name, task_id: entry.name, attempts }
    try {
      await this.#options.postTo(delivery.url)({ id: delivery.id, body: delivery.body }, signal)
      const now = await store.now()
      const delivered = { ...delivery, attempts, state: 'delivered', delivered_at: now, error: null } as const
      await this.#put(held, delivered, now + SHOWN_MS)
      onAttempt?.('delivered')
    } catch (failure) {
      const now = await store.now()
      if (signal.aborted) {
        await this.#put(held, delivery, now)
        return
      }
      const error = messageOf(failure)
      const reason = failure instanceof EgressError ? failure.reason : error
      if (attempts < MAX_ATTEMPTS && !isRefused(failure)) {
        log.warn({ ...about, reason }, 'a task webhook was not accepted; trying again')
        await this.#put(held, { ...delivery, attempts, error }, now + pauseAfter(attempts))
        onAttempt?.('retried')
      } else {
        log.error({ ...about, reason }, 'a task webhook is dropped')
        await this.#put(held, { ...delivery, attempts, state: 'failed', error }, now + SHOWN_MS)
        onAttempt?.('failed')
      }
    }
  }

  /** Undefined if another process has changed the delivery meanwhile. */
  async #put(entry: Entry, delivery: Delivery, due_at: number): Promise<Entry | undefined> {
    const draft = { ...entry, due_at, value: JSON.stringify(delivery) }
    const { tenant, kind, name, value } = draft
    const version = await this.#options.store.entries.put(
      { tenant, kind, name, value, due_at },
      entry.version,
    )
    return version === undefined ? undefined : { ...draft, version }
  }
}

const NEW = { state: 'pending', attempts: 0, delivered_at: null, error: null } as const

/** An address that the egress guard refuses is refused at every attempt. */
function isRefused(failure: unknown): boolean {
  return failure instanceof EgressError && !failure.retryable
}
