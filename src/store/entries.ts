import type { CanonicalJson } from '../core/json/json.ts'
import type { LogLevel } from '../core/log.ts'

/**
 * Records beside the tasks: what operators register, and what the server keeps for itself. Each is a JSON text under a
 * kind and a name. They change rarely, so a write is a transaction of its own.
 */
export interface Entries {
  get(tenant: number, kind: string, name: string): Promise<Entry | undefined>
  /** Those of these names that there are, in no particular order. */
  several(tenant: number, kind: string, names: readonly string[]): Promise<Entry[]>
  /** Those with a name above `after`, in the order of their names' bytes. */
  list(tenant: number, kind: string, after: string, limit: number): Promise<Entry[]>
  /** Those whose due time is `now` or earlier, the earliest first. */
  due(tenant: number, kind: string, now: number, limit: number): Promise<Entry[]>
  /**
   * Writes an entry and resolves with its new version. It is written only if its version is still the expected one: 0
   * means that there is none yet, undefined that any will do. Otherwise nothing happens, and it resolves with undefined.
   */
  put(entry: EntryDraft, expected?: number): Promise<number | undefined>
  /**
   * Writes those that are new, in one transaction, and resolves with their names. All are of one tenant and kind. Nothing
   * happens to an entry that there is.
   */
  insertNew(entries: readonly EntryDraft[]): Promise<ReadonlySet<string>>
  /** Removes those whose due time is the earliest, in one transaction. */
  removeFirstDue(tenant: number, kind: string, limit: number): Promise<void>
  /** How many there are, counted up to `limit`. */
  count(tenant: number, kind: string, limit: number): Promise<number>
  /** Whether it was there. */
  remove(tenant: number, kind: string, name: string): Promise<boolean>
}

export interface EntryDraft {
  readonly tenant: number
  readonly kind: string
  readonly name: string
  readonly value: string
  /** When somebody must look at it; null: never. */
  readonly due_at: number | null
}

export interface Entry extends EntryDraft {
  /** Counts its writes from 1. */
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
