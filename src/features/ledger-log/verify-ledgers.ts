import type { TreeHead } from '../../core/merkle/checkpoint.ts'
import type { Store } from '../../store/store.ts'
import type { Archive } from '../retention/archive.ts'
import { type LedgerReport, verifyLedger } from './verify-ledger.ts'

export interface LedgerVerification {
  /** Reads a checkpoint of a tenant and verifies its signature and its origin. */
  open(note: string, tenant: string): Promise<TreeHead>
  /** Checkpoints of the tenant that were stored elsewhere. */
  readonly kept?: readonly string[]
}

/** Verifies the ledger of one tenant, or of all if none is named. */
export async function* verifyLedgers(
  { store, archive }: { readonly store: Store; readonly archive: Archive },
  only: string | undefined,
  { open, kept }: LedgerVerification,
): AsyncGenerator<LedgerReport & { readonly tenant: string }, void, void> {
  for (const tenant of await store.tenants()) {
    if (only !== undefined && tenant.name !== only) continue
    const report = await verifyLedger(
      { store, archive, open: (note) => open(note, tenant.name) },
      tenant,
      kept,
    )
    yield { tenant: tenant.name, ...report }
  }
}
