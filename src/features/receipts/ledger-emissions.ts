/** A request that sent a receipt to the shared ledger. */
export interface LedgerEmission {
  /** What the shared ledger did with the receipt, such as `accepted` or `failed`. */
  readonly outcome: string
  readonly seconds: number
}

/** Counts the receipts that this process sends to the shared ledger, for metrics. */
export class LedgerEmissions {
  readonly #listeners = new Set<(emission: LedgerEmission) => void>()

  count(emission: LedgerEmission): void {
    for (const listener of this.#listeners) listener(emission)
  }

  /** Returns an unsubscribe function. */
  onEmission(listener: (emission: LedgerEmission) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
