/** Exit codes of the program. */
export const EXIT = { ok: 0, failure: 1, usage: 2, notFound: 3, refused: 4, unreachable: 5 } as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const EXIT_MEANINGS: readonly (readonly [ExitCode, string])[] = [
  [EXIT.ok, 'success'],
  [EXIT.failure, 'the command failed, or the task that it waited for did not succeed'],
  [EXIT.usage, 'a command, option or value that is not valid'],
  [EXIT.notFound, 'the object does not exist'],
  [EXIT.refused, 'not allowed: no key, a wrong key, or a missing role'],
  [EXIT.unreachable, 'the server does not respond'],
]

/** An error with a message and a hint for the user. */
export class CliError extends Error {
  readonly exitCode: ExitCode
  readonly hint: string | undefined
  /** The error body of the server, or other fields, for --json. */
  readonly body: object | undefined

  constructor(exitCode: ExitCode, message: string, hint?: string, body?: object) {
    super(message)
    this.name = 'CliError'
    this.exitCode = exitCode
    this.hint = hint
    this.body = body
  }
}

export function usageError(message: string, hint?: string): CliError {
  return new CliError(EXIT.usage, message, hint)
}
