import type { CanonicalJson } from '../core/json/json.ts'
import type { LogLevel } from '../core/log.ts'

/**
 * Records beside the tasks: what operators register, and internal state of the server. Each is a JSON text with a kind
 * and a name. They change rarely, so each write is a separate transaction.
 */
export interface Entries {
  get(tenant: number, kind: string, name: string): Promise<Entry | undefined>
  /** The entries with these names that exist, in no particular order. */
  several(tenant: number, kind: string, names: readonly string[]): Promise<Entry[]>
  /** Entries with a name above `after`, ordered by the bytes of their names. */
  list(tenant: number, kind: string, after: string, limit: number): Promise<Entry[]>
  /** Entries whose due time is `now` or earlier, earliest first. */
  due(tenant: number, kind: string, now: number, limit: number): Promise<Entry[]>
  /**
   * Writes an entry and resolves with its new version. It is written only if it still has the expected version: 0 if
   * it must not exist, undefined for any. Otherwise nothing is written, and it resolves with undefined.
   */
  put(entry: EntryDraft, expected?: number): Promise<number | undefined>
  /**
   * Writes the entries that do not exist yet, in one transaction, and resolves with their names. All belong to one
   * tenant and kind.
   */
  insertNew(entries: readonly EntryDraft[]): Promise<ReadonlySet<string>>
  /** Removes the entries with the earliest due times, in one transaction. */
  removeFirstDue(tenant: number, kind: string, limit: number): Promise<void>
  /** The number of entries, counted up to `limit`. */
  count(tenant: number, kind: string, limit: number): Promise<number>
  /** Resolves with whether the entry existed. */
  remove(tenant: number, kind: string, name: string): Promise<boolean>
}

export interface EntryDraft {
  readonly tenant: number
  readonly kind: string
  readonly name: string
  readonly value: string
  /** When the entry has to be processed; null: never. */
  readonly due_at: number | null
}

export interface Entry extends EntryDraft {
  /** Number of the last write, counted from 1. */
  readonly version: number
}

/** What workers log about tasks. It is no part of the ledger, and is written without the lock of the tenant. */
export interface Logs {
  /** The newest line of a task. */
  last(tenant: number, taskId: string): Promise<LogLine | undefined>
  /** Lines of a task numbered above `after`, oldest first. */
  list(tenant: number, taskId: string, after: number, limit: number): Promise<LogLine[]>
  /**
   * Adds lines of one task, all or none. False if another call has used one of their numbers first. Rejects with
   * StoreError, and then they may have been added.
   */
  add(lines: readonly LogLine[]): Promise<boolean>
}

export interface LogLine {
  readonly tenant: number
  readonly task_id: string
  /** Counts the lines of a task from 1. */
  readonly n: number
  readonly at: number
  readonly lease_id: string
  readonly level: LogLevel
  readonly text: string
  readonly context: CanonicalJson | null
  /** Bytes of all lines of the task up to this one. */
  readonly total: number
  /** The log was full: nothing comes after this line. */
  readonly is_last: boolean
}
