/**
 * The proof of a receipt, verified by two programs without a server: `asyncgate verify`, and verify.py, which shares no
 * code with AsyncGate.
 *
 *   npm run examples -- verify-receipt
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { client, LedgerGuard, memoryCheckpoints } from 'asyncgate/client'
import { startGate } from '../gate.ts'

const gate = await startGate()
console.log(`1. A gate runs at ${gate.url}.`)

const agent = client({ url: gate.url, agent: 'alice' })
const { receiptId } = await agent.submit('report', { month: 'May' })
console.log(`2. alice creates a task, and keeps the receipt ${receiptId}.`)

const key = await (await fetch(`${gate.url}/.well-known/asyncgate-log-key`)).text()
const guard = new LedgerGuard(agent, { checkpoints: memoryCheckpoints(), keys: [key.trim()] })
const { origin, size } = await guard.check()
console.log(`3. The log ${origin} has ${size} receipts, and alice keeps its checkpoint.`)

const [proofFile, keyFile] = [join(gate.folder, 'receipt.json'), join(gate.folder, 'log-key.txt')]
writeFileSync(proofFile, JSON.stringify(await agent.getReceiptProof({ receipt_id: receiptId })))
writeFileSync(keyFile, key)

await agent.submit('report', { month: 'June' })
await guard.check()
console.log('4. The log has grown, and continues the checkpoint.')

const script = fileURLToPath(new URL('verify.py', import.meta.url))
run('python3', '-B', script, keyFile, proofFile)
run(process.execPath, gate.main, 'verify', proofFile, '--key', key.trim())
console.log('5. Two programs have verified the proof, from its file and the key alone.')

await gate.stop()
console.log('6. The gate has stopped.')

function run(program: string, ...args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`The proof was refused: ${stdout}${stderr}`)
}
