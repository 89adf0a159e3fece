import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { openCheckpoint, verifyReceipt } from '../../client/ledger-proof.ts'
import { LedgerProofError } from '../../client/ledger-text.ts'
import { verifyWorkerSignature } from '../../client/worker-signature.ts'
import { messageOf } from '../../util/error-message.ts'
import { command } from '../command.ts'
import { CliError, EXIT } from '../exit.ts'
import { flag, text, texts } from '../input.ts'
import { onDatabase, REGISTRY_OPTIONS } from '../key-registry.ts'
import { warn } from '../output.ts'
import { ledgerFailure } from './receipt-proofs.ts'

const KEY = texts('KEY', 'a public key that the log must have, from /.well-known/asyncgate-log-key')

const proofFile = z.object({
  receipt_id: z.string(),
  leaf: z.string(),
  body: z.string().nullable(),
  salt: z.string().nullable(),
  proof: z.string(),
  keys: z.array(z.string()),
})

const verify = command({
  name: 'verify',
  summary:
    'Verify the proof of a receipt, without a server: a file that "asyncgate receipts proof" has printed.',
  takes: ['FILE'],
  options: {
    key: KEY,
    'worker-key': text('KEY', 'the public key, in base64, of the worker that must have signed the result'),
  },
  async run(input, output) {
    const { keys: contained, ...proof } = await readProof(input.arg(0))
    const keys = input.texts('key')
    if (keys.length === 0) {
      warn(
        'The key is the one in the file, which anyone could have made. Give the key of the log with --key.',
      )
    }
    const proven = await verifyReceipt(proof, keys.length === 0 ? contained : keys).catch(ledgerFailure)
    const { receipt, checkpoint } = proven
    const signature = await verifyWorkerSignature(proven).catch(ledgerFailure)
    const workerKey = input.text('worker-key')
    if (workerKey !== undefined && signature?.public_key !== workerKey) {
      throw new CliError(EXIT.failure, 'The worker with this key has not signed the result.')
    }
    const result = {
      valid: true,
      origin: checkpoint.origin,
      size: checkpoint.size,
      receipt,
      body: proven.body ?? null,
      is_body_proven: proven.body !== undefined,
      worker_key: signature?.public_key ?? null,
    }
    output.result(result, () => {
      output.print(
        `Valid: receipt ${receipt.seq} of ${checkpoint.origin}, which had ${checkpoint.size} receipts.`,
      )
      output.details([
        ['receipt', proof.receipt_id],
        ['type', String(receipt.receipt_type)],
        ['task', receipt.task_id === null ? null : String(receipt.task_id)],
        ['created', String(receipt.created_at)],
        ['signed by', signature?.public_key],
        ['body', proven.body === undefined ? 'erased' : JSON.stringify(proven.body)],
      ])
    })
  },
})

const verifyLedger = command({
  name: 'verify ledger',
  summary: 'Verify all receipts of a database against the signed checkpoints, and name the first bad one.',
  options: {
    ...REGISTRY_OPTIONS,
    tenant: text('NAME', 'only this tenant; default all'),
    key: KEY,
    checkpoint: texts('FILE', 'a checkpoint of the tenant that was kept elsewhere; needs --tenant'),
    'repair-tree': flag('compute a damaged tree again, if the receipts are the ones that were signed'),
  },
  notes: () =>
    'It works on the database, with or without a running server, and changes it only with --repair-tree.',
  async run(input, output) {
    const [tenant, trusted, files] = [input.text('tenant'), input.texts('key'), input.texts('checkpoint')]
    if (files.length > 0 && tenant === undefined) throw input.usageError('--checkpoint needs --tenant.')
    const kept = await Promise.all(files.map((path) => readText(path)))
    const repair = input.flag('repair-tree')
    let isBad = false
    await onDatabase(input, async (gate) => {
      const open = async (note: string, name: string) => {
        const origin = gate.ledgerLogs.origin(name)
        const keys = trusted.length > 0 ? trusted : await gate.ledgerLogs.verifierKeys(name)
        const checkpoint = await openCheckpoint(note, keys)
        if (checkpoint.origin !== origin) throw new LedgerProofError(`It is of ${checkpoint.origin}.`)
        return { size: checkpoint.size, root: Buffer.from(checkpoint.root) }
      }
      const reports = []
      for await (const report of gate.verifyLedgers(tenant, { open, kept, repair })) {
        reports.push(report)
        const { receipts, signed, problem, repaired_tiles } = report
        if (problem !== undefined) isBad = true
        if (repaired_tiles !== undefined) {
          output.print(`${report.tenant}: ${repaired_tiles} tiles of the stored tree were repaired.`)
        }
        output.print(
          problem === undefined
            ? `${report.tenant}: ${receipts} receipts are intact; checkpoints cover ${signed} of them.`
            : `${report.tenant}: first bad receipt ${problem.seq}. ${problem.message}`,
        )
      }
      if (tenant !== undefined && reports.length === 0) {
        throw new CliError(EXIT.notFound, `There is no tenant "${tenant}".`)
      }
      output.result({ ledgers: reports }, () => {})
    })
    return isBad ? EXIT.failure : undefined
  },
})

async function readProof(path: string): Promise<z.output<typeof proofFile>> {
  try {
    return proofFile.parse(JSON.parse(await readText(path)))
  } catch (error) {
    if (error instanceof CliError) throw error
    const hint = 'Make such a file with: asyncgate receipts proof RECEIPT_ID > receipt.json'
    throw new CliError(EXIT.failure, `${path} is not the proof of a receipt.`, hint)
  }
}

async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new CliError(EXIT.failure, `The file cannot be read: ${messageOf(error)}`)
  })
}

export const commands = [verify, verifyLedger]
