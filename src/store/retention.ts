import type { Receipt } from '../core/receipt.ts'
import type { DoneTask } from '../core/task.ts'
import type { TerminalStatus } from '../core/transitions.ts'
import type { Segment } from './layout/segments.ts'

/** What is removed from the tables when its time has come, and what is archived in files instead. */
export interface Retention {
  /** Ended tasks whose retention has to be applied, the earliest first. */
  due(tenant: number, now: number, limit: number): Promise<EndedTask[]>
  /** How many of these have to be cleared and how many to be archived, counted up to `limit`. */
  dueCounts(tenant: number, now: number, limit: number): Promise<DueCounts>
  /** Ended tasks of one status above seq `after`, oldest first. */
  ended(tenant: number, status: TerminalStatus, after: number, limit: number): Promise<EndedTask[]>
  /** Sets when the retention of ended tasks has to be applied next. */
  schedule(tenant: number, times: readonly ScheduledTask[]): Promise<void>
  /** Notes that the contents of a task were removed, and when its retention has to be applied next. */
  cleared(task: EndedTask, now: number, next: number | null): Promise<void>
  /** Everything that the receipts of these tasks consist of. */
  collect(tenant: number, tasks: readonly EndedTask[]): Promise<Collected>
  /**
   * Among the next `limit` rows of the ledger that begin after seq `after` and are not younger than `before`, the
   * receipts about no task, or about one that exists no more, unless they record an open obligation.
   */
  strays(tenant: number, after: number, before: number, limit: number): Promise<Strays>
  /**
   * Removes tasks with all their receipts from the tables in one transaction, which also notes the file that contains
   * them. False if something has changed since they were collected, or an obligation is open: then nothing is removed.
   */
  archive(tenant: number, collected: Collected, file: string, now: number): Promise<boolean>
  /** The files whose receipts include this seq: one, or none. */
  archiveWith(tenant: number, seq: number): Promise<ArchiveFile | undefined>
  /** Files with seqs on either side of `from`, in the order of the first seqs above it or of the last seqs below it. */
  archives(
    tenant: number,
    from: number,
    order: 'ascending' | 'descending',
    limit: number,
  ): Promise<ArchiveFile[]>
  /** Files by name. */
  archiveFiles(tenant: number, after: string, limit: number): Promise<ArchiveFile[]>
  archiveTotals(tenant: number): Promise<ArchiveTotals>
  /** Whether the tables name this file. */
  isArchive(tenant: number, file: string): Promise<boolean>
  /** Notes that the receipts of one file are in another one. False if the tables do not name the first one. */
  replaceArchive(tenant: number, file: string, by: string): Promise<boolean>
}

export interface EndedTask {
  readonly task: DoneTask
  /** The seqs of its receipts that its row names. */
  readonly receipts: readonly number[]
  /** The row, to detect changes. */
  readonly state: string
  readonly expires_at: number | null
  /** When its contents were removed; null if they were not. */
  readonly cleared_at: number | null
}

export interface ScheduledTask extends Pick<EndedTask, 'task'> {
  /** Null: never. */
  readonly at: number | null
}

export interface DueCounts {
  readonly clear: number
  readonly archive: number
}

/** A receipt with its salt, which is undefined if its body is erased. */
export interface SaltedReceipt {
  readonly receipt: Receipt
  readonly salt: string | undefined
}

export interface Collected {
  readonly tasks: readonly EndedTask[]
  /** In the order of their seqs. */
  readonly receipts: readonly SaltedReceipt[]
  /** The rows of the ledger that contain them. */
  readonly segments: readonly Segment[]
}

export interface Strays extends Collected {
  /** Continue after this seq; null if there are no more rows. */
  readonly next: number | null
}

/** A run of consecutive seqs. */
export interface Run {
  readonly first: number
  readonly last: number
}

export interface ArchiveFile extends Run {
  readonly tenant: number
  readonly file: string
  /** Ascending. */
  readonly runs: readonly Run[]
  readonly tasks: number
  readonly receipts: number
  readonly created_at: number
}

export interface ArchiveTotals {
  readonly files: number
  readonly tasks: number
  readonly receipts: number
}
