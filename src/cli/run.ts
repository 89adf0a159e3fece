import { closest } from '../config/closest.ts'
import { ConfigError } from '../config/index.ts'
import { OperatorError } from '../server/operator-error.ts'
import { StoreError } from '../store/store.ts'
import { VERSION } from '../util/version.ts'
import { COMMANDS, findCommand } from './commands.ts'
import { CliError, EXIT, type ExitCode, usageError } from './exit.ts'
import { commandHelp, overview } from './help.ts'

/** Runs what the arguments ask for, and resolves with the exit code. */
export async function run(args: readonly string[]): Promise<ExitCode> {
  try {
    return await dispatch(args)
  } catch (error) {
    return tell(error, args.includes('--json'))
  }
}

async function dispatch(args: readonly string[]): Promise<ExitCode> {
  const [first, ...rest] = args
  if (first === '--version' || first === '-v') return say(VERSION)
  if (first === '--help' || first === '-h' || (first === 'help' && rest.length === 0)) {
    return say(overview(COMMANDS))
  }
  if (first === 'help') return dispatch([...rest, '--help'])
  const isBare = first === undefined || first.startsWith('-')
  const found = findCommand(isBare ? ['dev', ...args] : args)
  if (found === undefined) {
    const group = COMMANDS.filter(({ name }) => name.startsWith(`${first} `))
    if (group.length > 0 && (rest.length === 0 || rest.includes('--help'))) return say(overview(group))
    throw unknown(args, group)
  }
  const command = await found.entry.load()
  const result = await command.run(found.args)
  if (result === 'help') return say(commandHelp(command))
  return result ?? EXIT.ok
}

function unknown(args: readonly string[], group: readonly { name: string }[]): CliError {
  const [first = '', second = ''] = args
  const asked = group.length > 0 ? `${first} ${second}` : first
  const names = (group.length > 0 ? group : COMMANDS).map(({ name }) => name)
  const meant = closest(asked, [...names, ...names.map((name) => name.split(' ')[0] ?? name)])
  const hint = meant === undefined ? 'See "asyncgate --help".' : `Did you mean "asyncgate ${meant}"?`
  return usageError(`There is no command "${asked}".`, hint)
}

function say(text: string): ExitCode {
  process.stdout.write(`${text}\n`)
  return EXIT.ok
}

/** Says on stderr what went wrong; with --json on stdout, in the shape of the server's own errors. */
function tell(error: unknown, json: boolean): ExitCode {
  const { exitCode, message, hint, body } = asCliError(error)
  if (json) {
    const kind = Object.entries(EXIT).find(([, code]) => code === exitCode)?.[0]
    const answer = { error: kind, message, hint, ...body, exit_code: exitCode }
    process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`)
  } else {
    process.stderr.write(`asyncgate: ${message}\n${hint === undefined ? '' : `${hint}\n`}`)
  }
  return exitCode
}

function asCliError(error: unknown): CliError {
  if (error instanceof CliError) return error
  if (error instanceof OperatorError)
    return new CliError(error.kind === 'invalid' ? EXIT.usage : EXIT.failure, error.message, error.hint)
  if (error instanceof ConfigError || error instanceof StoreError)
    return new CliError(EXIT.failure, error.message.replace(/[^.]$/, '$&.'))
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return new CliError(EXIT.failure, text, 'This is a bug of AsyncGate.')
}
