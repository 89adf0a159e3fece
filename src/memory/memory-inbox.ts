import { isoTime } from '../core/time.ts'
import type { ResultNotice } from '../features/inbox/result-notice.ts'
import type { Store, TenantRef } from '../store/store.ts'
import { messageOf } from '../util/error-message.ts'
import { Repeater } from '../util/repeater.ts'
import { type SenderState, SenderStates } from '../webhooks/sender-state.ts'

export interface MemoryInboxOptions {
  readonly store: Pick<Store, 'entries' | 'reads'>
  readonly tenant: TenantRef
  /** The notice of a task.result_ready receipt; undefined if its task does not exist any more. */
  notice(seq: number): Promise<ResultNotice | undefined>
  /** Sends a receipt. Resolves with the status of the response. */
  post(receipt: object, signal: AbortSignal): Promise<number>
  readonly log: MemoryInboxLog
  /** The address of this server, for the agents that read the receipt; null if it is not known. */
  readonly publicUrl: string | null
  readonly now?: () => number
}

interface MemoryInboxLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** How often to check for receipts of other processes and for retries. */
const INTERVAL_MS = 10_000
/** How long a pending attempt may take when the process stops. */
const STOP_MS = 2_000
const PAGE = 500

/** The service has a receipt with this dedupe_key already. */
const CONFLICT = 409
/** Statuses that a correct receipt can get: the service, or its operator, has to do something first. */
const TEMPORARY: ReadonlySet<number> = new Set([401, 403, 408, 425, 429])

/**
 * Posts a receipt to the inbox of a memory service for each task that has ended since this was configured. Each is sent
 * until the service accepts it, also after a restart, and may therefore arrive twice with the same dedupe_key.
 */
export class MemoryInbox {
  readonly #options: MemoryInboxOptions
  readonly #states: SenderStates
  readonly #sweeps: Repeater

  constructor(options: MemoryInboxOptions) {
    this.#options = options
    this.#states = new SenderStates(options.store, 'memory_inbox', options.now ?? Date.now)
    const report = (error: unknown) => options.log.error({ error }, 'posting inbox receipts failed')
    this.#sweeps = new Repeater(INTERVAL_MS, (signal) => this.sweep(signal), report)
  }

  /** Stores where to begin, if that has not happened before: tasks that end from now on are posted. */
  async begin(): Promise<void> {
    const { store, tenant } = this.#options
    const state = await this.#states.due(tenant.tenant)
    if (state?.version !== 0) return
    const { seq } = await store.reads.counters(tenant.tenant)
    await this.#states.release(tenant.tenant, { ...state, position: seq })
  }

  /** Sends what is due now, and then at intervals. */
  wake(): void {
    this.#sweeps.wake()
  }

  async stop(): Promise<void> {
    await this.#sweeps.stop(STOP_MS)
  }

  /** Sends all receipts that are due, in order, unless another process does. It stops at the first failure. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { store, tenant } = this.#options
    let state = await this.#states.due(tenant.tenant)
    if (state === undefined) return
    const start = state.position
    while (!signal.aborted) {
      const from: number = state.position
      const page = await store.reads.receiptLines(tenant.tenant, { by: 'all' }, from, 'ascending', PAGE)
      for (const { seq, receipt_type } of page) {
        if (receipt_type !== 'task.result_ready') continue
        const sent: SenderState | undefined = await this.#send(seq, { ...state, position: seq - 1 }, signal)
        if (sent === undefined) return
        state = sent
      }
      state = { ...state, position: page.at(-1)?.seq ?? from }
      if (page.length < PAGE) break
    }
    if (state.position !== start) await this.#states.release(tenant.tenant, state)
  }

  /** The state after the receipt was accepted; undefined if it was not, or if another process sends. */
  async #send(seq: number, state: SenderState, signal: AbortSignal): Promise<SenderState | undefined> {
    const { tenant, notice, post, log } = this.#options
    const held = await this.#states.hold(tenant.tenant, state)
    if (held === undefined) return undefined
    const sent = { ...held, failures: 0, position: seq }
    const result = await notice(seq)
    if (result === undefined) return sent
    try {
      const status = await post(this.#receiptOf(result), signal)
      const isAccepted = (status >= 200 && status < 300) || status === CONFLICT
      if (!isAccepted && (status >= 500 || status < 400 || TEMPORARY.has(status)))
        throw new Error(`it responded with ${status}`)
      if (!isAccepted)
        log.error({ task_id: result.task_id, status }, 'the memory service refused an inbox receipt')
      return sent
    } catch (error) {
      if (signal.aborted) await this.#states.release(tenant.tenant, held)
      else {
        const failures = held.failures + 1
        const fields = { task_id: result.task_id, failures, reason: messageOf(error) }
        log.warn(fields, 'an inbox receipt was not accepted; trying again')
        await this.#states.failed(tenant.tenant, held)
      }
      return undefined
    }
  }

  #receiptOf(notice: ResultNotice): object {
    const status = statusOf(notice)
    const { task_id, type, result_channel, result_pointer, completed_at } = notice
    return {
      recipient_ai: notice.principal_ai,
      source_system: 'asyncgate',
      dedupe_key: `asyncgate:task_${status}:${task_id}:${notice.attempt}`,
      title: `${type}: ${status.replace('_', ' ')}`,
      summary: notice.summary,
      metadata: {
        task_id,
        task_type: type,
        status,
        result_channel,
        result_pointer,
        created_at: isoTime(completed_at),
        asyncgate_url: this.#options.publicUrl,
      },
    }
  }
}

/** The status in the terms of memory services. */
function statusOf({ status, dead_letter }: ResultNotice): string {
  if (dead_letter) return 'dead_letter'
  return status === 'succeeded' ? 'complete' : status
}
