import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { databaseOf, databaseUrl } from '../../config/database.ts'
import { Engine } from '../../engine/engine.ts'
import { auditLedger } from '../../receiptgate/audit.ts'
import { ImportError } from '../../receiptgate/import.ts'
import { NOT_RESTORED, type Rebuilt, rebuildLedger } from '../../receiptgate/rebuild.ts'
import { openStore } from '../../server/open-store.ts'
import { messageOf } from '../../util/error-message.ts'
import { command } from '../command.ts'
import { CliError, EXIT } from '../exit.ts'
import { flag, text } from '../input.ts'

export const rebuild = command({
  name: 'ledger rebuild',
  summary: 'Restore receipts, tasks and obligations from an export in a new database.',
  takes: ['FILE'],
  options: {
    into: text('URL', 'the new database: sqlite:PATH or postgres://...'),
    'dry-run': flag('only report what would be restored, and what would not'),
  },
  notes: () => 'No server may use the database meanwhile. Repeat the command if it was interrupted.',
  async run(input, output) {
    const into = input.text('into')
    const isDry = input.flag('dry-run')
    if (into === undefined && !isDry) throw input.usageError('Name the new database with --into.')
    const url = isDry ? 'sqlite::memory:' : databaseUrl.read(into)
    if (url === undefined) throw input.usageError(`--into is not ${databaseUrl.format}.`)
    const store = await openStore(databaseOf(url)).catch((error: unknown) => {
      throw new CliError(EXIT.failure, messageOf(error))
    })
    try {
      const engine = new Engine({ store })
      const file = createReadStream(input.arg(0))
      const lines = createInterface({ input: file, crlfDelay: Number.POSITIVE_INFINITY })
      const rebuilt = await rebuildLedger(lines, { store, submit: (each) => engine.submit(each) }).catch(
        (error: unknown) => {
          throw new CliError(error instanceof ImportError ? EXIT.usage : EXIT.failure, messageOf(error))
        },
      )
      const { tenant, ...counts } = rebuilt
      const { differences } = await auditLedger({ store, tenant })
      const result = { tenant: tenant.name, ...counts, differences, not_restored: NOT_RESTORED }
      output.result({ dry_run: isDry, ...result }, () => {
        output.print(summary(rebuilt, isDry))
        for (const line of shortcomings(rebuilt)) output.print(line)
        output.print('Not part of an export, and not restored:')
        for (const line of NOT_RESTORED) output.print(`- ${line}`)
        for (const { task_id, difference } of differences) output.print(`${task_id}: ${difference}`)
      })
      return differences.length === 0 ? EXIT.ok : EXIT.failure
    } finally {
      await store.close()
    }
  },
})

function summary({ receipts, tasks }: Rebuilt, isDry: boolean): string {
  const { succeeded, failed, canceled, queued, leased, running, pending_approval, input_required } = tasks
  const [ended, held] = [succeeded + failed + canceled, leased + running]
  const waiting = pending_approval + input_required
  const verb = isDry ? 'Would restore' : 'Restored'
  return `${verb} ${receipts} receipts and ${ended} ended tasks; open: ${queued} queued, ${held} leased, ${waiting} waiting for an answer.`
}

/** What could not be restored of these receipts. */
function shortcomings(rebuilt: Rebuilt): string[] {
  const { canceled, without_input, without_result, without_question } = rebuilt
  const lines: string[] = []
  if (canceled.length > 0) {
    lines.push(`Canceled, because their input is not in the file: ${canceled.join(', ')}`)
  }
  if (without_input > 0) lines.push(`Ended tasks without type and input: ${without_input}`)
  if (without_result > 0) lines.push(`Results that are not in the file: ${without_result}`)
  if (without_question > 0) lines.push(`Questions that are not in the file: ${without_question}`)
  return lines
}
