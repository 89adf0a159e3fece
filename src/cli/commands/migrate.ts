import { openStore } from '../../server/open-store.ts'
import { messageOf } from '../../util/error-message.ts'
import { command } from '../command.ts'
import { CliError, EXIT } from '../exit.ts'
import { flag } from '../input.ts'
import { ProgressLine } from '../output.ts'
import { configOf, SETTINGS_OPTIONS, settingsFlags } from '../settings-options.ts'
import { readSchema } from './schema.ts'

const migrate = command({
  name: 'migrate',
  summary: 'Apply the database migrations and exit. A server does the same when it starts.',
  options: {
    'dry-run': flag('print the pending migrations without applying them'),
    ...SETTINGS_OPTIONS,
  },
  async run(input, output) {
    const { database } = configOf(input, settingsFlags(input).flags)
    const before = await readSchema(database).catch((error: unknown) => {
      const reason = messageOf(error)
      throw new CliError(
        EXIT.failure,
        `The database cannot be read: ${reason}`,
        'Check ASYNCGATE_DATABASE_URL; "asyncgate doctor" checks more.',
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
    output.result({ dry_run: dryRun, migrations: pending, schema: dryRun ? before.applied : newest }, () => {
      for (const name of pending) output.print(`${dryRun ? 'pending' : 'applied'}: ${name}`)
      if (pending.length === 0) output.print(`The database is up to date (schema ${newest}).`)
    })
  },
})

export const commands = [migrate]
