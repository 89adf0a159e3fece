import type { ItemRef, Relationship } from '../core/command.ts'
import type { Obligation } from '../core/draft.ts'
import type { ChildCounts, ChildLink, Links, TaskLink, Unsettled } from '../core/flow.ts'
import type { InboxItem } from '../core/inbox.ts'
import type { LaneRow, Owner } from '../core/matching.ts'
import type { PrincipalKey } from '../core/principal.ts'
import type { Question } from '../core/question.ts'
import type { Receipt, ReceiptType } from '../core/receipt.ts'
import type { DoneTask, OpenTask, ProgressEntry, QueuedTask, Task, TaskSpec } from '../core/task.ts'
import type { Status } from '../core/transitions.ts'
import type { Tenant } from '../core/world.ts'
import { messageOf } from '../util/error-message.ts'
import type { AuditRows } from './audit.ts'
import type { Entries, Logs } from './entries.ts'
import type { Erasure } from './erasure.ts'
import type { FlowReads } from './flow.ts'
import type { HistoryRows } from './history.ts'
import type { LedgerLog } from './ledger-log.ts'
import type { OutboxRows } from './outbox.ts'
import type { Reads } from './reads.ts'
import type { Retention } from './retention.ts'
import type { UsageRows } from './usage.ts'

/** How long other processes notify a process of their changes after its last request. */
export const FOLLOWED_MS = 30_000

/**
 * The seam between the gate and a database. It is internal: there are two implementations, both in this
 * repository, and both pass test/store/conformance.ts.
 */
export interface Store {
  /**
   * Commands per batch: as many as one transaction should hold. They differ if the process can do nothing else while
   * it commits; then as many as it can spare the time for.
   */
  readonly batchSize: { readonly min: number; readonly max: number }
  /** Whether other processes may write to this database too. */
  readonly shared: boolean
  readonly reads: Reads
  readonly entries: Entries
  readonly logs: Logs
  readonly audit: AuditRows
  readonly erasure: Erasure
  readonly retention: Retention
  readonly flow: FlowReads
  readonly usage: UsageRows
  readonly history: HistoryRows
  readonly outbox: OutboxRows
  readonly ledgerLog: LedgerLog
  /** The tenant of that name, made if it is new: with this salt, if one is given. */
  tenant(name: string, salt?: string): Promise<TenantRef>
  /** Every tenant. */
  tenants(): Promise<TenantRef[]>
  /**
   * One transaction: locks the tenants, reads the clock, loads what is needed, lets `decide` say what to write,
   * writes it, and makes it durable. `decide` may ask for more instead, and is then called again with all of it.
   * Rejects with StoreError.
   */
  commit(need: Need, decide: (loaded: Loaded) => Changes | Need): Promise<Committed>
  /** Tasks whose wake time has come and ended tasks that are not settled, over all tenants, at most `limit` of each. */
  due(limit: number): Promise<TaskRef[]>
  /** Milliseconds until the next task of the tenant is due, negative if it is overdue; null if none is. */
  nextWake(tenant: number): Promise<number | null>
  /** Hints of what other processes committed. A hint may be lost. */
  listen(onHint: (hint: Hint) => void): void
  /** Once it resolves, hints carry all changes of other processes, for `FOLLOWED_MS`. */
  follow(): Promise<void>
  /** Random bytes that every process of this database shares; they sign cursors. */
  secret(): Promise<Buffer>
  /** Milliseconds since the epoch on the store's clock. */
  now(): Promise<number>
  ping(): Promise<void>
  close(): Promise<void>
}

export interface TenantRef {
  readonly tenant: number
  readonly name: string
  readonly salt: string
}

export interface TaskRef {
  readonly tenant: number
  readonly task_id: string
}

/** What a batch must see before it can decide. */
export interface Need {
  /** Every tenant of the batch, ascending, without repeats. */
  readonly tenants: readonly number[]
  readonly tasks: readonly TaskRef[]
  /** All questions of these tasks. */
  readonly questions: readonly TaskRef[]
  /** Idempotency keys that might have been used. */
  readonly keys: readonly KeyRef[]
  readonly owners: readonly { readonly tenant: number; readonly owner: string }[]
  /** First ready tasks of these lanes. */
  readonly heads: readonly HeadRef[]
  /** Lanes that changed after this version. */
  readonly lanes: readonly { readonly tenant: number; readonly after: number }[]
  /** Tasks whose wake time has come. */
  readonly due: readonly { readonly tenant: number; readonly limit: number }[]
  readonly receipts: readonly { readonly tenant: number; readonly seq: number }[]
  readonly children: readonly ChildRef[]
  readonly acknowledgements: readonly AcknowledgementRef[]
  readonly relationships: readonly { readonly tenant: number; readonly principal: PrincipalKey }[]
  /** Items of inboxes. */
  readonly items: readonly (ItemRef & { readonly tenant: number })[]
  /** The first links of these tasks, which have ended. */
  readonly links: readonly { readonly tenant: number; readonly seq: number }[]
}

/** Links of one task that a batch follows at most. */
export const MAX_LINKS = 200

export interface KeyRef {
  readonly tenant: number
  readonly owner: PrincipalKey
  readonly idempotency_key: string
}

export interface HeadRef {
  readonly tenant: number
  readonly lane: number
  /** Whether `lane` is a pool, to be looked up by the tasks' pool. */
  readonly pool: boolean
  readonly limit: number
}

/** The newest receipt of that type among those that name `parent`. */
export interface ChildRef {
  readonly tenant: number
  readonly parent: number
  readonly receipt_type: ReceiptType
}

export interface AcknowledgementRef {
  readonly tenant: number
  readonly seq: number
  readonly by: PrincipalKey
}

/** What was asked for, as far as it exists. Asking for more adds to the same object. */
export interface Loaded {
  /** Milliseconds since the epoch on the store's clock, read after the locks were taken. */
  now: number
  /** How many times `decide` has been called in this transaction, this time included. */
  looks: number
  tenants: Tenant[]
  tasks: Task[]
  questions: Question[]
  /** Specs found by idempotency key. */
  specs: TaskSpec[]
  owners: Owner[]
  heads: Head[]
  lanes: LaneRow[]
  due: OpenTask[]
  receipts: Receipt[]
  children: Receipt[]
  acknowledgements: (AcknowledgementRef & { readonly acknowledgement: number })[]
  relationships: Relationship[]
  items: InboxItem[]
  links: (Links & { readonly tenant: number; readonly seq: number })[]
}

/**
 * Tasks of a lane from its low-water mark on: no ready task has a lower rank, and without a mark there is none. The mark
 * spares a claim the walk over index entries of tasks that are gone.
 */
export interface Head extends HeadRef {
  /** In claim order: rank, then seq. */
  readonly tasks: readonly QueuedTask[]
}

/**
 * What a batch writes. Each row is in its final form and appears once. The commit has loaded the tasks and items of
 * inboxes that it changes.
 */
export interface Changes {
  readonly tenants: readonly Tenant[]
  readonly inserted: readonly OpenTask[]
  readonly updated: readonly OpenTask[]
  /** Moved out of the open tasks, if they were there. */
  readonly finished: readonly DoneTask[]
  /** Done tasks whose outcome gained its evidence. */
  readonly repaired: readonly DoneTask[]
  readonly specs: readonly TaskSpec[]
  readonly asked: readonly Question[]
  /** Questions that were open, with what was decided. */
  readonly decided: readonly Question[]
  readonly receipts: readonly Receipt[]
  readonly opened: readonly Obligation[]
  readonly closed: readonly Obligation[]
  readonly owners: readonly Owner[]
  /** Lanes that are new, or take over the number of another. */
  readonly lanes: readonly LaneRow[]
  /** Lanes of which only the state has changed. */
  readonly counted: readonly LaneRow[]
  readonly progress: readonly ProgressEntry[]
  readonly relationships: readonly Relationship[]
  /** New inbox items, without marks. */
  readonly filed: readonly InboxItem[]
  /** Items whose marks have changed, also of those just filed. */
  readonly marked: readonly InboxItem[]
  readonly linked: readonly TaskLink[]
  /** Links that need not be followed again. */
  readonly followed: readonly TaskLink[]
  readonly child_tasks: readonly ChildLink[]
  /** By how much the numbers of children change; one entry per parent. */
  readonly child_counts: readonly ChildCounts[]
  readonly unsettled: readonly Unsettled[]
  readonly settled: readonly Unsettled[]
  /** Tasks whose specs are needed after the commit, by their seq. */
  readonly granted: readonly { readonly tenant: number; readonly seq: number }[]
  /** Tasks whose questions the answers need. */
  readonly answered: readonly TaskRef[]
  readonly hints: readonly Hint[]
}

export interface Committed {
  readonly specs: readonly TaskSpec[]
  readonly questions: readonly Question[]
}

/** Something happened in a tenant: tasks became ready in lanes, came to rest, or changed at all. */
export interface Hint {
  readonly tenant: number
  readonly lanes: readonly number[]
  /** Those that have ended or wait for an answer. */
  readonly tasks: readonly string[]
  /** Every change of a status and every progress, in order. */
  readonly changes: readonly HintedChange[]
  /** When, on the store's clock. */
  readonly at: number
}

export interface HintedChange {
  readonly task_id: string
  readonly status: Status
  /** How many leases the task has had. */
  readonly fence: number
}

/**
 * Why a commit failed, or that its outcome is unknown. `unavailable`: nothing was written. `unknown`: the connection
 * broke during the commit. `refused`: the database rejected a statement, so some command of the batch is poison.
 */
export class StoreError extends Error {
  readonly reason: 'unavailable' | 'unknown' | 'refused'

  constructor(reason: StoreError['reason'], cause: unknown) {
    super(messageOf(cause), { cause })
    this.name = 'StoreError'
    this.reason = reason
  }
}

export const NO_NEED: Need = {
  tenants: [],
  tasks: [],
  questions: [],
  keys: [],
  owners: [],
  heads: [],
  lanes: [],
  due: [],
  receipts: [],
  children: [],
  acknowledgements: [],
  relationships: [],
  items: [],
  links: [],
}

export function isNeed(value: Changes | Need): value is Need {
  return 'heads' in value
}

export function emptyLoaded(now: number): Loaded {
  return {
    now,
    looks: 0,
    tenants: [],
    tasks: [],
    questions: [],
    specs: [],
    owners: [],
    heads: [],
    lanes: [],
    due: [],
    receipts: [],
    children: [],
    acknowledgements: [],
    relationships: [],
    items: [],
    links: [],
  }
}
