import { ConfigError } from '../config/index.ts'
import { OperatorError } from '../server/operator-error.ts'
import { StoreError } from '../store/store.ts'
import { closest } from '../util/closest.ts'
import { VERSION } from '../util/version.ts'
import type { Command } from './command.ts'
import { allCommands, commandsOf, findCommand, NOUN_NAMES } from './commands.ts'
import { CliError, EXIT, type ExitCode, usageError } from './exit.ts'
import { commandHelp, overview } from './help.ts'

/** Runs the command of the arguments and returns the exit code. */
export async function run(args: readonly string[]): Promise<ExitCode> {
  try {
    return await dispatch(args)
  } catch (error) {
    return printError(error, args.includes('--json'))
  }
}

async function dispatch(args: readonly string[]): Promise<ExitCode> {
  const [first, ...rest] = args
  if (first === '--version' || first === '-v') return print(VERSION)
  if (first === '--help' || first === '-h' || (first === 'help' && rest.length === 0)) {
    return print(overview(await allCommands()))
  }
  if (first === 'help') return dispatch([...rest, '--help'])
  const isDev = first === undefined || first.startsWith('-')
  const found = await findCommand(isDev ? ['dev', ...args] : args)
  if (found === undefined) {
    const group = await commandsOf(first ?? '')
    if (group.length > 0 && (rest.length === 0 || rest.includes('--help'))) return print(overview(group))
    throw unknownCommand(args, group)
  }
  const result = await found.command.run(found.args)
  if (result === 'help') return print(commandHelp(found.command))
  return result ?? EXIT.ok
}

function unknownCommand([first = '', second = '']: readonly string[], group: readonly Command[]): CliError {
  const isVerb = group.length > 0
  const asked = isVerb ? `${first} ${second}` : first
  const meant = closest(asked, isVerb ? group.map(({ name }) => name) : NOUN_NAMES)
  const hint = meant === undefined ? 'See "asyncgate --help".' : `Did you mean "asyncgate ${meant}"?`
  return usageError(`There is no command "${asked}".`, hint)
}

function print(text: string): ExitCode {
  process.stdout.write(`${text}\n`)
  return EXIT.ok
}

/** Prints an error on stderr; with --json on stdout, in the format of the errors of the server. */
function printError(error: unknown, json: boolean): ExitCode {
  const { exitCode, message, hint, body } = asCliError(error)
  if (json) {
    const kind = Object.entries(EXIT).find(([, code]) => code === exitCode)?.[0]
    print(JSON.stringify({ error: kind, message, hint, ...body, exit_code: exitCode }, null, 2))
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
  return new CliError(EXIT.failure, text, 'This is a bug in AsyncGate.')
}
