import type { Relationship } from '../core/command.ts'
import type { CanonicalJson } from '../core/json.ts'
import type { PrincipalKey } from '../core/principal.ts'
import type { Receipt, ReceiptType } from '../core/receipt.ts'
import type { ProgressEntry, Task, TaskSpec } from '../core/task.ts'
import type { Status } from '../core/transitions.ts'
import type { Tenant } from '../core/world.ts'

/** Reads of what is committed. None of them changes anything, and each costs what it returns. */
export interface Reads {
  task(tenant: number, taskId: string): Promise<TaskRecord | undefined>
  /** In no particular order; absent ones are left out. */
  tasks(tenant: number, taskIds: readonly string[]): Promise<TaskRecord[]>
  /** What became of these; absent ones are left out. */
  statuses(tenant: number, taskIds: readonly string[]): Promise<{ task_id: string; status: Status }[]>
  /** The narrow rows of tasks, newest first, with seq below `before`. */
  scan(tenant: number, path: ScanPath, before: number, limit: number): Promise<TaskLine[]>
  /** Oldest first. */
  progress(tenant: number, taskId: string, limit: number): Promise<ProgressEntry[]>
  receipt(tenant: number, seq: number): Promise<Receipt | undefined>
  /** In the order of their seq, ascending from above `from` or descending from below it. */
  receipts(
    tenant: number,
    path: ReceiptPath,
    from: number,
    order: 'ascending' | 'descending',
    limit: number,
  ): Promise<Receipt[]>
  /** The receipts that name one of these as a parent. */
  children(tenant: number, parents: readonly number[], types: readonly ReceiptType[]): Promise<Child[]>
  deliveries(tenant: number, seqs: readonly number[]): Promise<Delivery[]>
  /** The receipts that oblige somebody towards `principal`, still open, oldest first. */
  obligations(tenant: number, principal: PrincipalKey, after: number, limit: number): Promise<Receipt[]>
  relationship(tenant: number, principal: PrincipalKey): Promise<Relationship | undefined>
  counters(tenant: number): Promise<Tenant>
  /** When the oldest of the tasks that stand first in their lanes was created; null if none is ready. */
  headOfLine(tenant: number): Promise<number | null>
}

export interface TaskRecord {
  readonly task: Task
  readonly spec: TaskSpec
  /** The latest. */
  readonly progress: ProgressEntry | null
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
  readonly type: string
  readonly session_id: string | null
  readonly labels: CanonicalJson | null
}

export type ReceiptPath =
  | { readonly by: 'all' }
  | { readonly by: 'to'; readonly to: PrincipalKey }
  | { readonly by: 'task'; readonly task_id: string }

export interface Child {
  readonly parent: number
  readonly seq: number
  readonly receipt_type: ReceiptType
  readonly from: PrincipalKey
}

export interface Delivery {
  readonly seq: number
  readonly delivered_at: number
}
