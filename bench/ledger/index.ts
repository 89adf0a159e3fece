import { openCheckpoint, verifyReceipt } from '../../dist/client/ledger-proof.js'
import { receiptId } from '../../dist/core/ids.js'
import { type Gate, openGate } from '../../dist/features/gate.js'
import { LedgerThread } from '../../dist/server/ledger-thread.js'
import { Databases, openStore, type StoreName } from '../engine/databases.ts'
import { fill } from '../engine/fill.ts'
import { AGENT, lifecyclesPerSecond } from '../engine/lifecycle.ts'
import { type Report, round, spread } from '../report.ts'
import { median, times } from '../stats.ts'
import { parseOptions } from './options.ts'

const STORES: readonly StoreName[] = ['sqlite', 'postgres']
const CALLERS = 256
const SECONDS = 4
const ROUNDS = 5
const PROOFS = 500

/** What the log of receipts costs the engine, and how long it takes to verify one. */
export async function ledger(report: Report, args: readonly string[]): Promise<void> {
  const { receipts, parts } = parseOptions(args)
  const databases = await Databases.start()
  try {
    for (const store of STORES) {
      if (parts.includes('throughput')) await compare(report, databases, store)
      if (parts.includes('verification')) await verify(report, databases, store, receipts)
    }
  } finally {
    await databases.remove()
  }
}

async function compare(report: Report, databases: Databases, store: StoreName): Promise<void> {
  const rates: Record<'without' | 'with', number[]> = { without: [], with: [] }
  for (let round = 0; round < ROUNDS; round++) {
    rates.without.push(await measure(databases, store, 0))
    rates.with.push(await measure(databases, store, 1))
  }
  const ratios = rates.with.map((rate, i) => rate / (rates.without[i] ?? Number.NaN))
  report.add({
    name: `${store}: lifecycles, a checkpoint every second against none`,
    value: median(ratios),
    unit: 'x',
    note: spread(ratios),
    target: { atLeast: 0.95 },
  })
}

async function measure(databases: Databases, store: StoreName, checkpointSeconds: number): Promise<number> {
  const database = await databases.create(store)
  const { address } = database
  const thread = new LedgerThread(
    store === 'sqlite' ? { kind: store, path: address } : { kind: store, url: address },
  )
  const gate = openGate({
    store: await openStore(store, address),
    ledgerLog: { checkpointSeconds, thread: (tenant, from) => thread.grow(tenant, from) },
    onError: (error) => console.error(error),
  })
  await lifecyclesPerSecond(gate, CALLERS, 1)
  const rate = await lifecyclesPerSecond(gate, CALLERS, SECONDS)
  await gate.close()
  await thread.stop()
  await database.drop()
  return rate
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
