import type { LedgerReceipt } from '../features/receipts/ledger-shape.ts'

/** The dialects of ReceiptGate: 1.1 has obligations with a custodian, and refuses what 1.0 requires. */
export type Profile = '1.0' | '1.1'

export type CanonicalReceipt = LedgerReceipt & { readonly obligation_id?: string }
