import { openCheckpoint, verifyReceipt } from '../../dist/client/ledger-proof.js'
import { receiptId } from '../../dist/core/ids.js'
import { type Gate, openGate } from '../../dist/features/gate.js'
import { Databases, openStore, type StoreName } from '../engine/databases.ts'
import { fill } from '../engine/fill.ts'
import { AGENT } from '../engine/lifecycle.ts'
import { type Report, round } from '../report.ts'
import { median, times } from '../stats.ts'
import { parseOptions } from './options.ts'
import { compareOutage } from './outage.ts'
import { compareThroughput } from './throughput.ts'

const PROOFS = 500

/** What the log of receipts costs the engine, how long it takes to verify one, and whether requests wait for ReceiptGate. */
export async function ledger(report: Report, args: readonly string[]): Promise<void> {
  const options = parseOptions(args)
  const { receipts, parts } = options
  const databases = await Databases.start()
  try {
    for (const store of options.stores) {
      if (parts.includes('throughput')) await compareThroughput(report, databases, store, options.turns)
      if (parts.includes('outage')) await compareOutage(report, databases, store, options.turns)
      if (parts.includes('verification')) await verify(report, databases, store, receipts)
    }
  } finally {
    await databases.remove()
  }
}

async function verify(
  report: Report,
  databases: Databases,
  store: StoreName,
  receipts: number,
): Promise<void> {
  const database = await databases.create(store)
  await fill(database, { type: 'summarise' }, receipts)
  const gate = openGate({ store: await openStore(store, database.address), sweeping: false })
  const tenant = await gate.tenant('default')
  const [built] = await times(1, () => gate.ledgerLogs.extend(tenant))
  const count = receipts.toLocaleString('en')
  report.add({ name: `${store}: log ${count} receipts`, value: (built ?? 0) / 1000, unit: 's' })
  const before = process.cpuUsage()
  const [verified] = await times(1, () => verifyAll(gate))
  const { user, system } = process.cpuUsage(before)
  report.add({
    name: `${store}: verify ${count} receipts`,
    value: (verified ?? 0) / 1000,
    unit: 's',
    note: `(${round((user + system) / 1e6)} s of processor time)`,
    target: { atMost: receipts * 60e-6 },
  })
  const ids = Array.from({ length: PROOFS }, (_, i) =>
    receiptId(tenant.salt, 1 + Math.floor((i * receipts) / PROOFS)),
  )
  const proofs = ids.values()
  const made = await times(PROOFS, () =>
    gate.getReceiptProof(AGENT, { receipt_id: proofs.next().value ?? '' }),
  )
  report.add({ name: `${store}: one proof`, value: median(made), unit: 'ms', target: { atMost: 1 } })
  const { keys, ...proof } = await gate.getReceiptProof(AGENT, { receipt_id: ids.at(-1) })
  const checked = await times(PROOFS, () => verifyReceipt(proof, keys))
  report.add({ name: `${store}: verify one proof`, value: median(checked), unit: 'ms' })
  await gate.close()
  await database.drop()
}

async function verifyAll(gate: Gate): Promise<void> {
  const keys = await gate.ledgerLogs.verifierKeys('default')
  const open = async (note: string) => {
    const { size, root } = await openCheckpoint(note, keys)
    return { size, root: Buffer.from(root) }
  }
  for await (const { problem } of gate.verifyLedgers('default', { open })) {
    if (problem !== undefined) throw new Error(problem.message)
  }
}
