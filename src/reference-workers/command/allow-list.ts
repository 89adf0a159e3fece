import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { isAbsolute } from 'node:path'

/** A program that tasks may run. */
export interface AllowedCommand {
  readonly path: string
  /** Fixed arguments, before those of the task. */
  readonly args: readonly string[]
  /** Whether a task may add arguments. */
  readonly takesMore: boolean
}

export type AllowList = ReadonlyMap<string, AllowedCommand>

/** The last word of a command to which tasks may add arguments. */
const MORE = '...'

/** An invalid entry of the allow list. */
export class AllowListError extends Error {}

/** Parses a command: words, or a text that is split at spaces, as in `/usr/bin/grep -c -- ...`. Quotes have no meaning. */
export function allowedCommand(name: string, command: string | readonly string[]): AllowedCommand {
  if (!/^[\w.:-]{1,64}$/.test(name)) {
    throw new AllowListError(`"${name}" cannot be the name of a command: use letters, digits and .:_-`)
  }
  const words = typeof command === 'string' ? command.trim().split(/\s+/) : command
  const [path = '', ...rest] = words
  if (!isAbsolute(path)) {
    throw new AllowListError(`The command ${name} needs the absolute path of a program, not "${path}".`)
  }
  if (words.some((word) => word.includes('\0')))
    throw new AllowListError(`The command ${name} has NUL in it.`)
  const takesMore = rest.at(-1) === MORE
  return { path, args: takesMore ? rest.slice(0, -1) : rest, takesMore }
}

/** Refuses programs that cannot be run, when the worker starts. */
export async function checkPrograms(allowed: AllowList): Promise<void> {
  if (allowed.size > 0 && process.platform === 'win32') {
    throw new AllowListError('Commands cannot be run on Windows: it has no process groups.')
  }
  for (const [name, { path }] of allowed) {
    const isFile = await stat(path).then(
      (found) => found.isFile(),
      () => false,
    )
    const isExecutable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (!isFile || !isExecutable)
      throw new AllowListError(`The command ${name} cannot be run: ${path} is not a program.`)
  }
}
