/** What the exit code of a command says. */
export const EXIT = { ok: 0, failure: 1, usage: 2, notFound: 3, refused: 4, unreachable: 5 } as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const EXIT_MEANINGS: readonly (readonly [ExitCode, string])[] = [
  [EXIT.ok, 'done'],
  [EXIT.failure, 'it failed, or what was waited for did not succeed'],
  [EXIT.usage, 'a command, option or value that is not valid'],
  [EXIT.notFound, 'what was named does not exist'],
  [EXIT.refused, 'not allowed: no key, a wrong key, or not the role for it'],
  [EXIT.unreachable, 'the server does not answer'],
]

/** An end that is told to the person: what happened, and what to do. */
export class CliError extends Error {
  readonly exitCode: ExitCode
  readonly hint: string | undefined
  /** What the server said, for programs. */
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
