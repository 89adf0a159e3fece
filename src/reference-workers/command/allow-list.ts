import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { isAbsolute } from 'node:path'

/** A program that the operator lets tasks run. */
export interface AllowedCommand {
  readonly path: string
  /** Come before whatever a task adds. */
  readonly args: readonly string[]
  /** Whether a task may add arguments. */
  readonly takesMore: boolean
}

export type AllowList = ReadonlyMap<string, AllowedCommand>

/** At the end of a command: a task may add arguments. */
const MORE = '...'

/** Thrown for a line of the allow-list that cannot be used; the message says why. */
export class AllowListError extends Error {}

/**
 * Reads a command, as words or as a text that is split at spaces: `/usr/bin/grep -c -- ...`. There is no shell in
 * between, so quotes mean nothing.
 */
export function allowedCommand(name: string, command: string | readonly string[]): AllowedCommand {
  if (!/^[\w.:-]{1,64}$/.test(name)) {
    throw new AllowListError(`"${name}" cannot be the name of a command: use letters, digits and .:_-`)
  }
  const words = typeof command === 'string' ? command.trim().split(/\s+/) : command
  const [path = '', ...rest] = words
  if (!isAbsolute(path)) {
    throw new AllowListError(`The command ${name} needs the whole path of a program, not "${path}".`)
  }
  if (words.some((word) => word.includes('\0')))
    throw new AllowListError(`The command ${name} has NUL in it.`)
  const takesMore = rest.at(-1) === MORE
  return { path, args: takesMore ? rest.slice(0, -1) : rest, takesMore }
}

/** Refuses programs that cannot be run, when the worker starts and not when the first task comes. */
export async function checkPrograms(allowed: AllowList): Promise<void> {
  if (allowed.size > 0 && process.platform === 'win32') {
    throw new AllowListError('Commands cannot be run on Windows: it has no process groups to end them by.')
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
      throw new AllowListError(`The command ${name} cannot be run: ${path} is no program.`)
  }
}
