import type { ItemRef, Relationship } from '../core/command.ts'
import type { InboxItem, InboxState } from '../core/inbox.ts'
import type { CanonicalJson } from '../core/json/json.ts'
import type { LaneRow } from '../core/matching.ts'
import type { PrincipalKey } from '../core/principal.ts'
import type { Question, QuestionKind } from '../core/question.ts'
import type { Receipt, ReceiptType } from '../core/receipt.ts'
import type { ProgressEntry, Task, TaskSpec } from '../core/task.ts'
import type { Status } from '../core/transitions.ts'
import type { Tenant } from '../core/world.ts'

/** Reads of what is committed. None of them changes anything, and each costs what it returns. */
export type Reads = LedgerReads & InboxReads & QuestionReads

export interface LedgerReads {
  task(tenant: number, taskId: string): Promise<TaskRecord | undefined>
  /** The task alone, without what was asked for. */
  state(tenant: number, taskId: string): Promise<Task | undefined>
  /** In no particular order; absent ones are left out. */
  tasks(tenant: number, taskIds: readonly string[]): Promise<TaskRecord[]>
  /** What became of these; absent ones are left out. */
  statuses(tenant: number, taskIds: readonly string[]): Promise<{ task_id: string; status: Status }[]>
  /** The narrow rows of these, in no particular order; absent ones are left out. */
  lines(tenant: number, taskIds: readonly string[]): Promise<TaskLine[]>
  /** The narrow rows of tasks, newest first, with seq below `before`. */
  scan(tenant: number, path: ScanPath, before: number, limit: number): Promise<TaskLine[]>
  /** The long texts of the tasks of these seqs, in no particular order; absent ones are left out. */
  texts(tenant: number, seqs: readonly number[]): Promise<TaskTexts[]>
  /** How many tasks have each status; it counts up to `limit` of each, in one consistent view. */
  statusCounts(tenant: number, limit: number): Promise<StatusCounts>
  /** Reports with a number above `after`, oldest first. */
  progress(tenant: number, taskId: string, after: number, limit: number): Promise<ProgressEntry[]>
  receipt(tenant: number, seq: number): Promise<Receipt | undefined>
  /** In no particular order; absent ones are left out. */
  receiptsAt(tenant: number, seqs: readonly number[]): Promise<Receipt[]>
  /** In the order of their seq, ascending from above `from` or descending from below it. */
  receipts(
    tenant: number,
    path: ReceiptPath,
    from: number,
    order: 'ascending' | 'descending',
    limit: number,
  ): Promise<Receipt[]>
  /** Their narrow rows, in the order of their seq, ascending from above `from` or descending from below it. */
  receiptLines(
    tenant: number,
    path: ReceiptPath,
    from: number,
    order: 'ascending' | 'descending',
    limit: number,
  ): Promise<ReceiptLine[]>
  /** The receipts that name one of these as a parent. */
  children(tenant: number, parents: readonly number[], types: readonly ReceiptType[]): Promise<Child[]>
  /** The receipts of obligations towards `principal`, still open, oldest first. */
  obligations(tenant: number, principal: PrincipalKey, after: number, limit: number): Promise<Receipt[]>
  /** Their narrow rows. */
  obligationLines(
    tenant: number,
    principal: PrincipalKey,
    after: number,
    limit: number,
  ): Promise<ReceiptLine[]>
  relationship(tenant: number, principal: PrincipalKey): Promise<Relationship | undefined>
  counters(tenant: number): Promise<Tenant>
  /** The lanes that changed after this version. */
  lanes(tenant: number, after: number): Promise<LaneRow[]>
  /** When the oldest of the tasks that stand first in their lanes was created; null if none is ready. */
  headOfLine(tenant: number): Promise<number | null>
  /** The task of this seq with its present lease, or the lease under which it ended. */
  taskLease(tenant: number, seq: number): Promise<TaskLease | undefined>
  /** Whether one of the newest `limit` receipts of the task names this lease. */
  hadLease(tenant: number, taskId: string, leaseId: string, limit: number): Promise<boolean>
  /** The leases of a worker that another process of it holds than `instanceId`. It looks at each lease. */
  leasesOf(
    tenant: number,
    holder: PrincipalKey,
    workerId: string,
    instanceId: string,
    limit: number,
  ): Promise<HeldLease[]>
  /** Who holds leases, in no particular order. It looks at each lease. */
  holders(tenant: number): Promise<Holder[]>
}

export type StatusCounts = Readonly<Record<Status, number>>

/** The lease fields are null if the task has no lease and did not end under one. */
export interface TaskLease {
  readonly task_id: string
  readonly status: Status
  readonly lease_id: string | null
  readonly holder: PrincipalKey | null
  readonly worker_id: string | null
}

export interface HeldLease {
  readonly task_id: string
  readonly lease_id: string
  readonly lane: number
}

/** The leases of one worker. */
export interface Holder {
  readonly worker_id: string
  readonly leased: number
  readonly running: number
  /** When the first of them lapses. */
  readonly next_expires_at: number
}

export interface TaskRecord {
  readonly task: Task
  readonly spec: TaskSpec
  /** The latest. */
  readonly progress: ProgressEntry | null
  /** In the order in which they were asked. */
  readonly questions: readonly Question[]
}

/** Which index a scan walks. Further conditions are the caller's. */
export type ScanPath =
  | { readonly by: 'all' }
  | { readonly by: 'owner'; readonly owner: PrincipalKey }
  | { readonly by: 'session'; readonly session_id: string }
  | { readonly by: 'status'; readonly status: Status }

export interface TaskLine {
  readonly seq: number
  readonly task_id: string
  readonly status: Status
  readonly owner: PrincipalKey
  readonly principal_ai: string
  readonly type: string
  readonly session_id: string | null
  readonly labels: CanonicalJson | null
  /** The worker that holds the task or ended it; null if there is none. */
  readonly worker_id: string | null
  /** About how long the texts of the whole task are. */
  readonly bytes: number
}

/** What was asked for, and the error with which the task ended. */
export interface TaskTexts {
  readonly seq: number
  readonly input: CanonicalJson
  readonly error: CanonicalJson | null
}

/** About how long the texts of a question are. It is an estimate: most are far shorter, few are longer. */
export const QUESTION_BYTES = 16 * 1024

export type ReceiptPath =
  | { readonly by: 'all' }
  | { readonly by: 'to'; readonly to: PrincipalKey }
  | { readonly by: 'task'; readonly task_id: string }

/** A receipt without its body. */
export interface ReceiptLine {
  readonly seq: number
  readonly receipt_type: ReceiptType
  readonly to: PrincipalKey
  readonly task_id: string | null
  readonly lease_id: string | null
  /** How long the body is. */
  readonly bytes: number
}

export interface Child {
  readonly parent: number
  readonly seq: number
  readonly receipt_type: ReceiptType
  readonly from: PrincipalKey
}

/** A question without its texts. */
export type QuestionLine = Pick<Question, 'task_id' | 'n' | 'seq' | 'state'>

export interface QuestionReads {
  /** Narrow rows of those of a kind, as `questions` orders them. */
  questionLines(
    tenant: number,
    kind: QuestionKind,
    which: 'all' | 'open',
    from: number,
    order: 'ascending' | 'descending',
    limit: number,
  ): Promise<QuestionLine[]>
  /** Those of a kind, all or the open ones, ascending from above seq `from` or descending from below it. */
  questions(
    tenant: number,
    kind: QuestionKind,
    which: 'all' | 'open',
    from: number,
    order: 'ascending' | 'descending',
    limit: number,
  ): Promise<Question[]>
  /** How many are open, of each kind. It looks at each of them. */
  openQuestions(tenant: number): Promise<Record<QuestionKind, number>>
}

export interface InboxReads {
  /** In no particular order; absent ones are left out. */
  items(tenant: number, refs: readonly ItemRef[]): Promise<InboxItem[]>
  /** The items of a principal, all or those unread, ascending from above seq `from` or descending from below it. */
  inbox(
    tenant: number,
    principal: PrincipalKey,
    which: 'all' | 'unread',
    from: number,
    order: 'ascending' | 'descending',
    limit: number,
  ): Promise<InboxItem[]>
  /**
   * The items about these tasks, the newest `limit` of each, whose receipts are of these types: those of a principal,
   * or of whom each receipt is addressed to.
   */
  itemsOfTasks(
    tenant: number,
    principal: PrincipalKey | null,
    taskIds: readonly string[],
    types: readonly ReceiptType[],
    limit: number,
  ): Promise<TaskItem[]>
  /** Counts over those of the newest `limit` items of a principal that came at `since` or later. */
  inboxCounts(tenant: number, principal: PrincipalKey, since: number, limit: number): Promise<InboxCounts>
}

export type TaskItem = InboxItem & { readonly task_id: string }

/** How many items are in each state, and more about them. */
export type InboxCounts = Readonly<Record<InboxState, number>> & {
  readonly items: number
  readonly fetched_not_promoted: number
  readonly redelivered: number
  /** From the first delivery to the fetch, of those that were delivered first; null if there are none. */
  readonly average_ms_to_fetch: number | null
}
