import type { Receipt } from '../core/receipt.ts'
import type { DoneTask, TaskSpec } from '../core/task.ts'

/**
 * Erases what principals wrote. Ids, types, principals, times and the order of receipts stay, so that the ledger can
 * still be verified. Every call may be repeated: what is erased already does not change any more.
 */
export interface Erasure {
  /**
   * Erases the bodies of the receipts that `isSelected` accepts, among those of the next `limit` rows that begin after
   * seq `after`. A commitment to each body stays.
   */
  receipts(
    tenant: number,
    after: number,
    limit: number,
    isSelected: (receipt: Receipt) => boolean,
    now: number,
  ): Promise<ErasedPage>
  /** Erases input, labels, result, questions and progress of a task that has ended, and removes its log. */
  task(task: DoneTask, spec: TaskSpec, now: number): Promise<void>
  /** Removes what is known of the clients of a principal. */
  relationship(tenant: number, principal: string): Promise<void>
}

export interface ErasedPage {
  /** Continue after this seq; null if there are no more rows. */
  readonly next: number | null
  /** How many bodies were erased. */
  readonly erased: number
  /** By how much the stored receipts became smaller. */
  readonly bytes: number
}
