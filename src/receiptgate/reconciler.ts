import { z } from 'zod'
import type { LedgerAnomaly } from '../features/receipts/ledger-anomaly.ts'
import type { Reconciled, RemoteCompletion } from '../features/receipts/reconcile.ts'
import type { Store, TenantRef } from '../store/store.ts'
import { cleanLine } from '../util/untrusted-text.ts'
import type { Target } from './canonical.ts'
import type { Delivery, ReceiptGateClient, RemoteReceipt } from './client.ts'
import { type Claimed, completionOf } from './remote-completion.ts'

export interface ReconcilerOptions {
  readonly store: Pick<Store, 'reads' | 'entries' | 'now'>
  readonly tenant: TenantRef
  readonly client: Pick<ReceiptGateClient, 'listReceipts'>
  readonly target: Target
  readonly intervalMs: number
  /** Ends a task as its worker has recorded it. */
  reconcile(completion: RemoteCompletion): Promise<Reconciled>
  report(anomaly: LedgerAnomaly): Promise<unknown>
}

/** What the sender decides about requests. */
export interface RequestControl {
  /** Whether this process may make another request now. */
  permits(): Promise<boolean>
  observed(delivery: Delivery): Promise<void>
}

/** Requests of one pass. ReceiptGate accepts 120 requests per minute from one address by default, receipts included. */
const MAX_REQUESTS = 20
/** Tasks that one pass reads from the database. */
const MAX_TASKS = 500
const PAGE = 50
/** Ignored receipts that are remembered, so that each is reported once. */
const MAX_IGNORED = 500
const MAX_SHOWN = 200

/** A task that waits for an answer is not ended, and one that was never claimed has no worker. */
const STATUSES = ['leased', 'running', 'queued'] as const

const STATE = { kind: 'receiptgate', name: 'reconciler', due_at: null } as const

const stateShape = z.object({
  next_at: z.number(),
  /** Where the next pass continues: the status, and the seq below which tasks are read. */
  status: z
    .int()
    .min(0)
    .max(STATUSES.length - 1),
  before: z.number(),
  ignored: z.array(z.string()),
})
type State = z.output<typeof stateShape>

const START = Number.MAX_SAFE_INTEGER
const FIRST: State = { next_at: 0, status: 0, before: START, ignored: [] }

/**
 * Finds tasks that their workers have ended in the shared ledger instead of here. It asks for the receipts of open tasks
 * that were claimed, some of them in each pass, and continues there in the next one.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions

  constructor(options: ReconcilerOptions) {
    this.#options = options
  }

  /** Runs a pass if one is due. Only the process that sends receipts calls it. */
  async run(control: RequestControl, signal: AbortSignal): Promise<void> {
    const { store, tenant, intervalMs } = this.#options
    const entry = await store.entries.get(tenant.tenant, STATE.kind, STATE.name)
    const before = entry === undefined ? FIRST : stateShape.parse(JSON.parse(entry.value))
    const now = await store.now()
    if (now < before.next_at) return
    const after = await this.#pass({ ...before, next_at: now + intervalMs }, control, signal)
    const value = JSON.stringify(after)
    await store.entries.put({ ...STATE, tenant: tenant.tenant, value }, entry?.version ?? 0)
  }

  async #pass(start: State, control: RequestControl, signal: AbortSignal): Promise<State> {
    const { store, tenant } = this.#options
    let state = start
    let [requests, read, wraps] = [0, 0, 0]
    while (requests < MAX_REQUESTS && read < MAX_TASKS && wraps <= STATUSES.length) {
      const status = STATUSES[state.status] ?? STATUSES[0]
      const lines = await store.reads.scan(tenant.tenant, { by: 'status', status }, state.before, PAGE)
      for (const { seq, task_id } of lines) {
        if (requests >= MAX_REQUESTS) return state
        read += 1
        const claimed = await this.#claimed(task_id)
        if (claimed !== undefined) {
          if (signal.aborted || !(await control.permits())) return state
          requests += 1
          const ignored = await this.#reconcile(claimed, state.ignored, control)
          if (ignored === undefined) return state
          state = { ...state, ignored }
        }
        state = { ...state, before: seq }
      }
      if (lines.length === PAGE) continue
      wraps += 1
      state = { ...state, status: (state.status + 1) % STATUSES.length, before: START }
    }
    return state
  }

  async #claimed(taskId: string): Promise<Claimed | undefined> {
    const { store, tenant } = this.#options
    const task = await store.reads.state(tenant.tenant, taskId)
    if (task === undefined || task.fence === 0) return undefined
    const claims = await store.reads.children(tenant.tenant, [task.seq], ['task.accepted'])
    return { tenant, task, workers: claims.map(({ from }) => from) }
  }

  /** The receipts that are ignored from now on; undefined if ReceiptGate does not respond. */
  async #reconcile(
    claimed: Claimed,
    ignored: readonly string[],
    control: RequestControl,
  ): Promise<string[] | undefined> {
    const { client, target, reconcile } = this.#options
    const answer = await client.listReceipts(claimed.task.task_id)
    await control.observed(answer.kind === 'found' ? { kind: 'accepted' } : answer)
    if (answer.kind !== 'found') return undefined
    const remembered = [...ignored]
    let isReported = false
    for (const receipt of answer.receipts) {
      const name = receipt.receipt_id.slice(0, MAX_SHOWN)
      if (remembered.includes(name)) continue
      const completion = completionOf(receipt, claimed, target)
      if (completion === undefined) continue
      const outcome =
        'mismatch' in completion ? { refused: completion.mismatch } : await reconcile(completion)
      if (typeof outcome === 'string') break
      remembered.push(name)
      // One anomaly per task and pass is enough, however many receipts a stranger writes.
      if (!isReported) await this.#ignore(receipt, claimed, outcome.refused)
      isReported = true
    }
    return remembered.slice(-MAX_IGNORED)
  }

  /** The texts of the receipt come from a stranger. */
  async #ignore({ receipt_id }: RemoteReceipt, { task }: Claimed, reason: string): Promise<void> {
    const shown = cleanLine(receipt_id, MAX_SHOWN)
    const details = { receipt_id: shown, task_id: task.task_id, reason }
    await this.#options.report({ kind: 'receipt_completion_ignored', details })
  }
}
