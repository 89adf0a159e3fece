import type { TreeHead } from '../../core/merkle/checkpoint.ts'
import type { Store } from '../../store/store.ts'
import type { Archive } from '../retention/archive.ts'
import { repairTree } from './repair-tree.ts'
import { type LedgerReport, verifyLedger } from './verify-ledger.ts'

export interface LedgerVerification {
  /** Reads a checkpoint of a tenant and verifies its signature and its origin. */
  open(note: string, tenant: string): Promise<TreeHead>
  /** Checkpoints of the tenant that were stored elsewhere. */
  readonly kept?: readonly string[]
  /** Compute the stored tree again if the receipts are those that were signed and the tree is not theirs. */
  readonly repair?: boolean
}

export interface LedgerResult extends LedgerReport {
  readonly tenant: string
  /** How many tiles of the stored tree were repaired. */
  readonly repaired_tiles?: number
}

/** Verifies the ledger of one tenant, or of all if none is named. */
export async function* verifyLedgers(
  { store, archive }: { readonly store: Store; readonly archive: Archive },
  only: string | undefined,
  { open, kept, repair = false }: LedgerVerification,
): AsyncGenerator<LedgerResult, void, void> {
  for (const tenant of await store.tenants()) {
    if (only !== undefined && tenant.name !== only) continue
    const deps = { store, archive, open: (note: string) => open(note, tenant.name) }
    const verify = (ignoreTree: boolean) => verifyLedger(deps, tenant, { kept, ignoreTree })
    const report = await verify(false)
    const isRepairable = repair && report.problem !== undefined && !(await verify(true)).problem
    if (!isRepairable) yield { tenant: tenant.name, ...report }
    else {
      const repaired_tiles = await repairTree({ log: store.ledgerLog, archive }, tenant)
      yield { tenant: tenant.name, ...(await verify(false)), repaired_tiles }
    }
  }
}
