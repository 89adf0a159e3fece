import type { CommittedReceipt } from '../../core/merkle/leaf.ts'
import type { LedgerLog } from '../../store/ledger-log.ts'
import type { Archive } from '../retention/archive.ts'

/** Reads the receipts of a tenant in the order of their seqs, from the tables and from archives. */
export class ReceiptReader {
  readonly #log: Pick<LedgerLog, 'receipts'>
  readonly #archive: Pick<Archive, 'committedFrom'>
  readonly #tenant: number
  /** Receipts of the tables that follow what was returned last, perhaps after archived ones. */
  #stored: readonly CommittedReceipt[] = []

  constructor(log: Pick<LedgerLog, 'receipts'>, archive: Pick<Archive, 'committedFrom'>, tenant: number) {
    this.#log = log
    this.#archive = archive
    this.#tenant = tenant
  }

  /**
   * The receipts that follow the seq `after`, from at most `rows` rows; empty at the end. The first one has another seq
   * than the next only if that receipt is missing.
   */
  async next(after: number, rows: number): Promise<readonly CommittedReceipt[]> {
    if (this.#stored.length === 0) this.#stored = await this.#log.receipts(this.#tenant, after, rows)
    const [first] = this.#stored
    if (first === undefined || first.receipt.seq > after + 1) {
      const archived = await this.#archive.committedFrom(this.#tenant, after + 1)
      if (archived.length > 0) return archived
    }
    const gap = this.#stored.findIndex(
      ({ receipt }, i) => i > 0 && receipt.seq !== seqAt(this.#stored, i - 1) + 1,
    )
    const end = gap < 0 ? this.#stored.length : gap
    const run = this.#stored.slice(0, end)
    this.#stored = this.#stored.slice(end)
    return run
  }
}

function seqAt(receipts: readonly CommittedReceipt[], i: number): number {
  return receipts[i]?.receipt.seq ?? Number.NaN
}
