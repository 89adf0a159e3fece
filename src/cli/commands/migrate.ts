import { openStore } from '../../server/open-store.ts'
import { messageOf } from '../../util/error-message.ts'
import { command } from '../command.ts'
import { CliError, EXIT } from '../exit.ts'
import { ProgressLine } from '../output.ts'
import { configOf, SETTINGS_OPTIONS } from '../settings-options.ts'
import { readSchema } from './schema.ts'

export const migrate = command({
  name: 'migrate',
  summary: 'Bring the database up to date, and nothing else. A server does the same when it starts.',
  options: {
    'dry-run': { type: 'boolean', doc: 'only say what would be done' },
    ...SETTINGS_OPTIONS,
  },
  async run(input, output) {
    const { database } = configOf(input)
    const before = await readSchema(database).catch((error: unknown) => {
      const reason = messageOf(error)
      throw new CliError(
        EXIT.failure,
        `The database cannot be read: ${reason}`,
        'Check ASYNCGATE_DATABASE_URL; "asyncgate doctor" looks further.',
      )
    })
    const dryRun = input.flag('dry-run')
    if (!dryRun) {
      const progress = new ProgressLine()
      progress.show(`applying ${before.pending.length} migrations`)
      const store = await openStore(database)
      await store.close()
      progress.clear()
    }
    const { pending, newest } = before
    output.answer({ dry_run: dryRun, migrations: pending, schema: dryRun ? before.applied : newest }, () => {
      for (const name of pending) output.say(`${dryRun ? 'to be applied' : 'applied'}: ${name}`)
      if (pending.length === 0) output.say(`The database is up to date (schema ${newest}).`)
    })
    return undefined
  },
})
