import { LedgerGuard, memoryCheckpoints } from '../../../src/client/ledger-guard.ts'
import { openCheckpoint, verifyReceipt } from '../../../src/client/ledger-proof.ts'
import type { Gate } from '../../../src/features/gate.ts'
import type { LedgerResult, LedgerVerification } from '../../../src/features/ledger-log/verify-ledgers.ts'
import { admin } from '../../support/gates.ts'
import { askMany, finish, hold, only } from '../../support/steps.ts'

/** Writes more receipts than a tile has. */
export async function fill(gate: Gate): Promise<void> {
  await finish(gate, await hold(gate, { payload: { text: 'first' } }), { result: { text: 'done' } })
  await askMany(gate, 70)
  for (let i = 0; i < 2; i++) await finish(gate, await hold(gate), { result: { i } })
}

export async function checkpoint(gate: Gate) {
  return gate.ledgerLogs.extend(await gate.tenant('default'))
}

/** Verifies all receipts of the default tenant. */
export async function verified(gate: Gate, kept: readonly string[] = []): Promise<LedgerResult> {
  return verify(gate, { kept })
}

/** Verifies them, and repairs the stored tree if it can be. */
export async function repaired(gate: Gate): Promise<LedgerResult> {
  return verify(gate, { repair: true })
}

async function verify(gate: Gate, options: Omit<LedgerVerification, 'open'>): Promise<LedgerResult> {
  const open = async (note: string, tenant: string) => {
    const { size, root } = await openCheckpoint(note, await gate.ledgerLogs.verifierKeys(tenant))
    return { size, root: Buffer.from(root) }
  }
  const reports: LedgerResult[] = []
  for await (const report of gate.verifyLedgers('default', { open, ...options })) reports.push(report)
  return only(reports)
}

/** Fetches the proof of a receipt, and verifies it. */
export async function provenBy(gate: Gate, receipt_id: string) {
  const { keys, ...proof } = await gate.getReceiptProof(admin(), { receipt_id })
  return { proof, keys, proven: await verifyReceipt(proof, keys) }
}

export async function guardOf(gate: Gate, checkpoints = memoryCheckpoints()) {
  const keys = await gate.ledgerLogs.verifierKeys('default')
  return new LedgerGuard(
    { getCheckpoint: (input = {}) => gate.getCheckpoint(admin(), input) },
    { checkpoints, keys },
  )
}
