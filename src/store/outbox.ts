/** A receipt that the shared ledger has not accepted yet. */
export interface OutboxRow {
  readonly seq: number
  readonly task_id: string
  /** The text that is sent, the same in every attempt; null until it is rendered. */
  readonly rendered: string | null
  readonly state: 'pending' | 'set_aside'
  /** Attempts that failed. */
  readonly tries: number
  /** The earliest time of the next attempt. */
  readonly next_try_at: number
  /** Why it was set aside. */
  readonly reason: string | null
}

export type OutboxDelivery = Pick<OutboxRow, 'state' | 'tries' | 'next_try_at' | 'reason'>

export interface OutboxCounts {
  readonly pending: number
  readonly set_aside: number
}

/**
 * The receipts that wait for the shared ledger. The receipts themselves are in the ledger of the tenant, which is written
 * with the change that they record; a cursor tells up to which of them the outbox has been filled.
 */
export interface OutboxRows {
  /** The seq up to which receipts were added; 0 if there is no cursor. */
  cursor(tenant: number): Promise<number>
  /**
   * Adds receipts and moves the cursor from one seq to another, in one transaction. False if the cursor is elsewhere, and
   * then nothing is written.
   */
  advance(
    tenant: number,
    from: number,
    to: number,
    added: readonly Pick<OutboxRow, 'seq' | 'task_id'>[],
  ): Promise<boolean>
  /** Pending receipts that are due and the first of their task in the outbox, oldest first. */
  due(tenant: number, now: number, limit: number): Promise<OutboxRow[]>
  /** Receipts that were set aside, with a seq above `after`, oldest first. */
  setAside(tenant: number, after: number, limit: number): Promise<OutboxRow[]>
  /** The receipts of a task that wait or were set aside, oldest first. */
  ofTask(tenant: number, taskId: string): Promise<OutboxRow[]>
  /** Stores the text of a receipt. False if its text is no longer the expected one, or the receipt was removed. */
  render(tenant: number, seq: number, rendered: string, expected: string | null): Promise<boolean>
  /** Records the outcome of an attempt. */
  update(tenant: number, seq: number, delivery: OutboxDelivery): Promise<void>
  /** The shared ledger has the receipt, or does not take such receipts. */
  remove(tenant: number, seq: number): Promise<void>
  /** Makes receipts that were set aside pending again, and drops their texts on request. Resolves with their number. */
  requeue(tenant: number, dropsTexts: boolean): Promise<number>
  /** Counts up to `limit` of each. */
  counts(tenant: number, limit: number): Promise<OutboxCounts>
}
