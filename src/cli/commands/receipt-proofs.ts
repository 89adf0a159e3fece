import { LedgerGuard } from '../../client/ledger-guard.ts'
import { LedgerProofError } from '../../client/ledger-text.ts'
import { textFile } from '../../util/text-file.ts'
import { serverCommand } from '../client.ts'
import { command } from '../command.ts'
import { CliError, EXIT } from '../exit.ts'
import { text, texts } from '../input.ts'
import { onDatabase, REGISTRY_OPTIONS } from '../key-registry.ts'

const DAY_MS = 24 * 3_600_000
const OVERLAP_DAYS = 90

/** The option of the public keys of a log. */
export const LOG_KEY = texts('KEY', 'a public key of the log, from /.well-known/asyncgate-log-key')

export const proof = serverCommand({
  name: 'receipts proof',
  summary: 'Print the proof of a receipt as JSON, for "asyncgate verify".',
  takes: ['RECEIPT_ID'],
  async run(client, input, output) {
    const found = await client.call('getReceiptProof', { receipt_id: input.arg(0) })
    output.write(JSON.stringify(found, null, 2))
  },
})

export const checkpoint = serverCommand({
  name: 'receipts checkpoint',
  summary: 'Print the latest signed checkpoint of the ledger.',
  options: {
    keep: text('FILE', 'verify that it continues the checkpoint in this file, and replace that'),
    'log-key': LOG_KEY,
  },
  async run(client, input, output) {
    const [path, keys] = [input.text('keep'), input.texts('log-key')]
    if (path === undefined) {
      const latest = await client.call('getCheckpoint', {})
      output.result(latest, () => output.print(latest.checkpoint.trimEnd()))
      return
    }
    if (keys.length === 0) throw input.usageError('--keep needs --log-key.')
    const source = { getCheckpoint: (asked = {}) => client.call('getCheckpoint', asked) }
    const guard = new LedgerGuard(source, { checkpoints: textFile(path), keys })
    const { origin, size } = await guard.check().catch(ledgerFailure)
    output.result({ origin, size }, () => output.print(`${origin} has ${size} receipts, and continues.`))
  },
})

export const rotateKey = command({
  name: 'receipts rotate-key',
  summary: 'Sign checkpoints with a new key. It works on the database, with or without a running server.',
  options: REGISTRY_OPTIONS,
  notes: () =>
    `The old key signs too for ${OVERLAP_DAYS} days. Publish the new one until then; it is at /.well-known/asyncgate-log-key.`,
  async run(input, output) {
    await onDatabase(input, async ({ ledgerLogs }, { tenant }) => {
      if (ledgerLogs.keys.areGiven) {
        const hint = 'Put the new key in front of the old one there, and restart the servers.'
        throw new CliError(EXIT.failure, 'The keys are in ASYNCGATE_LEDGER_SIGNING_KEY.', hint)
      }
      await ledgerLogs.keys.rotate(OVERLAP_DAYS * DAY_MS)
      const [key = ''] = await ledgerLogs.verifierKeys(tenant)
      output.result({ key }, () => output.print(key))
    })
  },
})

/** A refused proof ends the command with its reason. */
export function ledgerFailure(error: unknown): never {
  if (!(error instanceof LedgerProofError)) throw error
  throw new CliError(EXIT.failure, error.message, 'Keep the proof and the checkpoint: they are evidence.')
}
