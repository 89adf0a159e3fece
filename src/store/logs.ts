import type { CanonicalJson } from '../core/json/json.ts'
import type { LogLevel } from '../core/log.ts'

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
