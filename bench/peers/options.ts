import { parseArgs } from 'node:util'
import { countOption, UsageError } from '../arguments.ts'
import { SYSTEMS, type System } from './systems.ts'

export interface Options {
  readonly rounds: number
  /** Tasks of a bulk run; a live run has a quarter of them. */
  readonly tasks: number
  readonly systems: readonly System[]
  readonly write: boolean
}

export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string' },
      tasks: { type: 'string' },
      only: { type: 'string', multiple: true },
      write: { type: 'boolean' },
    },
  })
  const options = {
    rounds: countOption('rounds', values.rounds, 3),
    tasks: countOption('tasks', values.tasks, 20_000),
    systems: values.only === undefined ? SYSTEMS : select(values.only),
    write: values.write ?? false,
  }
  if (options.write && values.only !== undefined) {
    throw new UsageError('--write needs all systems, so it cannot be combined with --only')
  }
  return options
}

/** The systems whose names start with one of the given prefixes. */
function select(prefixes: readonly string[]): readonly System[] {
  for (const prefix of prefixes) {
    if (!SYSTEMS.some(({ id }) => id.startsWith(prefix))) {
      throw new UsageError(
        `--only: unknown system "${prefix}". Systems: ${SYSTEMS.map(({ id }) => id).join(', ')}`,
      )
    }
  }
  return SYSTEMS.filter(({ id }) => prefixes.some((prefix) => id.startsWith(prefix)))
}
